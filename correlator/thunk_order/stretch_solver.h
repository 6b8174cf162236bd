// SPDX-License-Identifier: Apache-2.0

// Divides the launches of a device into stretches that are solved one by one: executions that the
// source groups, and otherwise pieces of limited size.
//
// A repeated sequence of launches gets the result of its first occurrence (known_stretches), so the
// cost is linear.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_STRETCH_SOLVER_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_STRETCH_SOLVER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "correlator/loss_parts.h"
#include "correlator/thunk_order/align/known_stretches.h"
#include "correlator/thunk_order/execution_solver.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// Position of a stretch.
struct StretchInstance {
  uint32_t device = 0;  // Index in the device's sequence.
  size_t begin = 0;     // In the device's sequence.
  uint32_t stretch = 0;
};

class StretchSolver {
 public:
  // All must outlive the object. `case_of`: per activity, index in `cases`.
  StretchSolver(const model::RunTables& run, std::span<const ThunkProgram* const> programs,
                const std::vector<LaunchCase>& cases, std::span<const uint32_t> case_of)
      : run_(run), cases_(cases), case_of_(case_of), parts_(run), solver_(programs, cases) {}

  // `sequence`: the activities of device number `device`, in launch order. Moves those of one
  // execution next to each other.
  void SolveDevice(uint32_t device, std::vector<uint32_t>* sequence);

  KnownStretches& stretches() { return known_; }
  // Ordered by device and place.
  std::vector<StretchInstance> SortedInstances() const;

 private:
  // Launches of one execution, according to the source.
  struct Group {
    size_t begin = 0;  // Position in the sequence, and length.
    size_t size = 0;
    size_t first = 0;  // Position before grouping.
    size_t last = 0;
    bool may_lack_start = false;
    bool may_lack_end = false;
    bool lacks = false;  // Some records of the stretch are lost.
  };
  // Borders of a piece: records may be missing at `from` and `to` if these are cuts.
  struct Edges {
    size_t from = 0;
    size_t to = 0;
    bool lacks = false;  // Records inside are missing.
  };
  // A piece that is solved as part of a longer stretch.
  struct Piece {
    size_t from = 0;
    size_t to = 0;
    bool executes = false;  // The launches are exactly one complete execution.
  };

  std::vector<Group> GatherGroups(std::vector<uint32_t>* sequence) const;
  void SolveGroup(uint32_t device, std::span<const uint32_t> cases, const Group& group);
  // Solves from `begin` on, and returns the position to continue.
  size_t SolveUngrouped(uint32_t device, std::span<const uint32_t> cases, size_t begin, size_t end,
                        const Edges& edges);
  // Stores each execution as a separate stretch. The last one may continue after the end (`last`:
  // no launches follow). Returns the position to continue at.
  size_t KeepExecutions(uint32_t device, size_t begin, std::span<const uint32_t> part,
                        const std::vector<Outcome>& outcomes, uint32_t executions, bool last);
  void KeepPiece(uint32_t device, size_t begin, std::span<const uint32_t> part,
                 const std::vector<Outcome>& outcomes, const Piece& piece);
  bool AllKnown(std::span<const uint32_t> cases) const;

  const model::RunTables& run_;
  const std::vector<LaunchCase>& cases_;
  std::span<const uint32_t> case_of_;
  const LossParts parts_;
  ExecutionSolver solver_;
  KnownStretches known_;
  std::vector<StretchInstance> instances_;
  // End of the device's last pattern, and the length of known patterns that follow.
  size_t known_to_ = SIZE_MAX;
  size_t followed_ = 0;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_STRETCH_SOLVER_H_
