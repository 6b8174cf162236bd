// One stretch of launches in, what each of them is out: anchors by sequence_alignment, what lies
// between by window_assignment, and how sure that is.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_EXECUTION_SOLVER_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_EXECUTION_SOLVER_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "correlator/thunk_order/launch_kind.h"
#include "correlator/thunk_order/sequence_alignment.h"
#include "correlator/thunk_order/thunk_program.h"
#include "model/words.h"

namespace xlatrace::correlator {

// A kind of activity, as far as order evidence looks at it.
struct LaunchCase {
  LaunchKind kind = LaunchKind::kOther;
  CollectiveKind collective = CollectiveKind::kAny;
  LibraryKind library = LibraryKind::kAny;
  std::vector<Candidate> candidates;     // Tokens that it can be; empty: no anchor.
  uint32_t module = AlignedItem::kNone;  // Told; index among the programs.
  bool certain = false;                  // The source means that very module.
  bool fixed = false;                    // The instruction is known already.
  uint32_t symbol = 0;  // Number of its kernel's name; 0: it only says what a single op does.
  // Launches of that name have more sizes than there are modules with such a kernel: one is not
  // there, and this may be its.
  bool of_missing = false;
};

struct Outcome {
  uint32_t program = AlignedItem::kNone;  // kNone: not known.
  uint32_t token = 0;
  uint32_t last_token = 0;  // Of a graph-level row that covers several.
  model::Confidence confidence = model::Confidence::kNone;
  uint32_t execution = 0;  // Counts from 1 in the stretch; 0: of none.
  uint32_t contested = 0;  // Number of the window that several library calls shared; 0: none did.

  bool operator==(const Outcome&) const = default;
};

class ExecutionSolver {
 public:
  // Both must outlive the solver.
  ExecutionSolver(std::span<const ThunkProgram* const> programs,
                  const std::vector<LaunchCase>& cases)
      : programs_(programs), cases_(cases) {}

  // `launches`: indices of cases, in launch order; all of one execution where `one_group`, else
  // that is not told.
  std::vector<Outcome> Solve(std::span<const uint32_t> launches, bool one_group, SequenceEnds ends);

 private:
  struct Anchor {
    uint32_t launch;  // Place in the stretch.
    AlignedItem item;
  };
  struct ExecutionFacts {
    std::vector<uint32_t> tokens;        // Kernels seen.
    std::set<uint32_t> symbols;          // Their names...
    std::set<uint32_t> of_missing;       // ... and those that may be of a module that is not there.
    uint32_t first_launch = UINT32_MAX;  // Of its anchors.
    uint32_t last_launch = 0;
    int64_t anchors = 0;
    bool certain = false;
    bool identified = false;
    bool graphs = false;  // Some are rows of graphs.
    bool rival = false;   // With nothing that speaks against it.
  };

  void FindAnchors(std::span<const uint32_t> launches, bool one_group, SequenceEnds ends);
  // What a graph-level row holds is missing without being lost: where it is not known which thunks
  // that are, a kernel that may be several is none of them for sure.
  void DoubtAmongGraphs(std::span<const uint32_t> launches);
  // Equal kernels of several loops in a row, or of one loop and what follows it, are told apart by
  // how often XLA knows that the loops run: for sure where just as many are there, else where a few
  // are lost.
  void CountTrips(std::span<const uint32_t> launches);
  bool MayBeOfNeighbour(std::span<const uint32_t> launches, size_t first, size_t past) const;
  bool CountTripsBetween(std::span<const uint32_t> launches, size_t first, size_t past);
  // Where some of the loops may run any number of times: by the kernels that are in none of these.
  void CountMarkersBetween(std::span<const uint32_t> launches, size_t first, size_t past);
  void AroundAnchors(std::span<const uint32_t> launches, std::vector<Outcome>* outcomes);
  void JudgeExecutions(std::span<const uint32_t> launches);
  bool Recognises(std::span<const uint32_t> launches, uint32_t program,
                  const ExecutionFacts& execution) const;
  void FillWindow(std::span<const uint32_t> launches, const Anchor* before, const Anchor* after,
                  std::vector<Outcome>* outcomes);
  void WithoutAnchors(std::span<const uint32_t> launches, std::vector<Outcome>* outcomes);
  // A token that only an anchor can be of.
  bool IsAnchorOnly(uint32_t program, uint32_t token) const;
  void TakeOnlyPossible(const LaunchCase& launch, Outcome* outcome);
  // The token that is the only instruction's of a module to launch such an activity; kNone.
  uint32_t OnlyPossible(uint32_t program, LaunchKind kind, CollectiveKind collective) const;

  std::span<const ThunkProgram* const> programs_;
  const std::vector<LaunchCase>& cases_;
  std::map<std::tuple<uint32_t, LaunchKind, CollectiveKind>, uint32_t> only_possible_;
  // Of the stretch being solved.
  uint32_t windows_ = 0;
  bool blind_ = false;  // Some graph-level rows have no place.
  std::vector<Anchor> anchors_;
  std::vector<ExecutionFacts> executions_;  // By number; [0] unused.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_EXECUTION_SOLVER_H_
