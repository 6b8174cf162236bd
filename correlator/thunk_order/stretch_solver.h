// SPDX-License-Identifier: Apache-2.0

// The launches of a device, cut into stretches that are solved one by one: executions that the
// source groups, and for the rest as much at a time as one can look at.
//
// A sequence of launches that comes again has the answer of the first time (known_stretches), so
// that the cost is linear.
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

// Where a stretch came.
struct StretchInstance {
  uint32_t device = 0;  // Index among the sequences.
  size_t begin = 0;     // In the device's sequence.
  uint32_t stretch = 0;
};

class StretchSolver {
 public:
  // All must outlive the object. `case_of`: per activity, into `cases`.
  StretchSolver(const model::RunTables& run, std::span<const ThunkProgram* const> programs,
                const std::vector<LaunchCase>& cases, std::span<const uint32_t> case_of)
      : run_(run), cases_(cases), case_of_(case_of), parts_(run), solver_(programs, cases) {}

  // `sequence`: the activities of device number `device`, in launch order. Puts those of one
  // execution side by side in it.
  void SolveDevice(uint32_t device, std::vector<uint32_t>* sequence);

  KnownStretches& stretches() { return known_; }
  // By device and place.
  std::vector<StretchInstance> SortedInstances() const;

 private:
  // Launches that the source says are one execution.
  struct Group {
    size_t begin = 0;  // In the sequence, and how many from there.
    size_t size = 0;
    size_t first = 0;  // Before it was gathered.
    size_t last = 0;
    bool may_lack_start = false;
    bool may_lack_end = false;
    bool lacks = false;  // Records of it are lost.
  };
  // What is around a piece: something may be missing at `from` and `to` where these are cuts.
  struct Edges {
    size_t from = 0;
    size_t to = 0;
    bool lacks = false;  // Something is missing inside.
  };
  // One that is solved, as part of a longer one.
  struct Piece {
    size_t from = 0;
    size_t to = 0;
    bool executes = false;  // One execution, all of it.
  };

  std::vector<Group> GatherGroups(std::vector<uint32_t>* sequence) const;
  void SolveGroup(uint32_t device, std::span<const uint32_t> cases, const Group& group);
  // Solves from `begin` on, and returns where to go on.
  size_t SolveUngrouped(uint32_t device, std::span<const uint32_t> cases, size_t begin, size_t end,
                        const Edges& edges);
  // Each execution is a stretch of its own; the last one may go on behind the end (`last`: there is
  // nothing behind it). Where to go on.
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
  // Where the last pattern of the device ended, and how far patterns are known to go on from there.
  size_t known_to_ = SIZE_MAX;
  size_t followed_ = 0;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_STRETCH_SOLVER_H_
