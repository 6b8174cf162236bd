// SPDX-License-Identifier: Apache-2.0

// One stretch of launches in, what each of them is out: anchors by sequence_alignment, what lies
// between by window_assignment, and how sure that is.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_EXECUTION_SOLVER_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_EXECUTION_SOLVER_H_

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "correlator/thunk_order/align/launch_outcome.h"
#include "correlator/thunk_order/fill/window_assignment.h"
#include "correlator/thunk_order/judge/module_recognition.h"
#include "correlator/thunk_order/program/thunk_program.h"

namespace xlatrace::correlator {

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
  // Thunks in a row, of one execution or of two that follow each other.
  struct Window {
    struct Place {
      uint32_t program = 0;
      uint32_t token = 0;
      uint32_t execution = 0;
    };
    std::vector<Place> places;
    std::vector<WindowToken> tokens;  // As many.
    int calls = 0;                    // Of libraries, among the tokens.
  };

  void FindAnchors(std::span<const uint32_t> launches, bool one_group, SequenceEnds ends);
  // What a graph-level row holds is missing without being lost: where it is not known which thunks
  // that are, a kernel that may be several is in doubt.
  void DoubtAmongGraphs(std::span<const uint32_t> launches);
  void AroundAnchors(std::span<const uint32_t> launches, std::vector<Outcome>* outcomes);
  // What the anchors themselves are.
  void TakeAnchors(std::vector<Outcome>* outcomes);
  // What lies between two anchors that follow each other; nullptr: an end of the stretch.
  void FillWindow(std::span<const uint32_t> launches, const Anchor* before, const Anchor* after,
                  std::vector<Outcome>* outcomes);
  void WithoutAnchors(std::span<const uint32_t> launches, std::vector<Outcome>* outcomes);
  // The thunks that may have launched what lies between the two.
  Window WindowBetween(const Anchor* before, const Anchor* after) const;
  // kUnsureAnchor where the window's ends leave open whose execution it is.
  Doubt DoubtOfEnds(const Anchor* before, const Anchor* after) const;
  // What both ways to fill a window make of a choice.
  Outcome OutcomeOf(const Window& window, const WindowChoice& choice,
                    const WindowActivity& activity) const;
  // A token that only an anchor can be of.
  bool IsAnchorOnly(uint32_t program, uint32_t token) const;
  // For a launch of the stretch, by its place, that nothing around it explains.
  void TakeOnlyPossible(uint32_t place, const LaunchCase& launch, Outcome* outcome);
  // Whether an execution of the program can come to the instruction between the anchors of that
  // program on both sides of the place.
  bool IsInOrder(uint32_t place, uint32_t program, uint32_t instruction);
  // The program runs the instruction between the two tokens (as in ThunkProgram::Between).
  bool ComesBy(uint32_t program, uint32_t from, uint32_t to, uint32_t instruction);
  // The token that is the only instruction's of a module to launch such an activity; kNone.
  uint32_t OnlyPossible(uint32_t program, LaunchKind kind, CollectiveKind collective) const;

  // Launches that have no anchor and want a thunk, with their places in the stretch.
  struct Unnamed {
    std::vector<WindowActivity> activities;
    std::vector<uint32_t> places;
  };
  Unnamed UnnamedIn(std::span<const uint32_t> launches, uint32_t begin, uint32_t end) const;

  std::span<const ThunkProgram* const> programs_;
  const std::vector<LaunchCase>& cases_;
  std::map<std::tuple<uint32_t, LaunchKind, CollectiveKind>, uint32_t> only_possible_;
  // By program, from, to, instruction.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, bool> comes_by_;
  // Of the stretch being solved.
  uint32_t windows_ = 0;
  bool blind_ = false;  // Some graph-level rows have no place.
  std::vector<Anchor> anchors_;
  std::map<uint32_t, std::vector<const Anchor*>> anchors_of_;  // By program; made when asked.
  std::vector<ExecutionFacts> executions_;                     // By number; [0] unused.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_EXECUTION_SOLVER_H_
