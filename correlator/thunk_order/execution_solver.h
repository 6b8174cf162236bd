// SPDX-License-Identifier: Apache-2.0

// Solves one stretch of launches: finds the anchors with sequence_alignment, the activities between
// them with window_assignment, and the certainty of both.
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

  // `launches`: indices of cases, in launch order. `one_group`: all belong to one execution;
  // otherwise this is not known.
  std::vector<Outcome> Solve(std::span<const uint32_t> launches, bool one_group, SequenceEnds ends);

 private:
  // Consecutive thunks, of one execution or of two consecutive executions.
  struct Window {
    struct Place {
      uint32_t program = 0;
      uint32_t token = 0;
      uint32_t execution = 0;
    };
    std::vector<Place> places;
    std::vector<WindowToken> tokens;  // One token per place.
    int calls = 0;                    // Number of library calls among the tokens.
  };

  void FindAnchors(std::span<const uint32_t> launches, bool one_group, SequenceEnds ends);
  // The launches in a graph-level row have no records, but are not lost. If the thunks of the row
  // are not known, a kernel that may be one of several is in doubt.
  void DoubtAmongGraphs(std::span<const uint32_t> launches);
  void AroundAnchors(std::span<const uint32_t> launches, std::vector<Outcome>* outcomes);
  // Sets the outcomes of the anchors.
  void TakeAnchors(std::vector<Outcome>* outcomes);
  // Assigns the activities between two consecutive anchors; nullptr: an end of the stretch.
  void FillWindow(std::span<const uint32_t> launches, const Anchor* before, const Anchor* after,
                  std::vector<Outcome>* outcomes);
  void WithoutAnchors(std::span<const uint32_t> launches, std::vector<Outcome>* outcomes);
  // The thunks that may have launched the activities between the two anchors.
  Window WindowBetween(const Anchor* before, const Anchor* after) const;
  // kUnsureAnchor if the ends of the window leave the execution open.
  Doubt DoubtOfEnds(const Anchor* before, const Anchor* after) const;
  // Outcome of a choice, from both ways to fill a window.
  Outcome OutcomeOf(const Window& window, const WindowChoice& choice,
                    const WindowActivity& activity) const;
  // True for a token that only an anchor can have.
  bool IsAnchorOnly(uint32_t program, uint32_t token) const;
  // For a launch without an explanation from its neighbours, by its place in the stretch.
  void TakeOnlyPossible(uint32_t place, const LaunchCase& launch, Outcome* outcome);
  // True if an execution of the program can reach the instruction between the anchors of that
  // program on both sides of the place.
  bool IsInOrder(uint32_t place, uint32_t program, uint32_t instruction);
  // True if the program runs the instruction between the two tokens (as in ThunkProgram::Between).
  bool ComesBy(uint32_t program, uint32_t from, uint32_t to, uint32_t instruction);
  // The token of the only instruction of a module that can launch such an activity; kNone if
  // several can.
  uint32_t OnlyPossible(uint32_t program, LaunchKind kind, CollectiveKind collective) const;

  // Launches without an anchor that need a thunk, with their places in the stretch.
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
  // State of the current stretch.
  uint32_t windows_ = 0;
  bool blind_ = false;  // Some graph-level rows have no position.
  std::vector<Anchor> anchors_;
  std::map<uint32_t, std::vector<const Anchor*>> anchors_of_;  // By program; computed on demand.
  std::vector<ExecutionFacts> executions_;                     // By number; [0] unused.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_EXECUTION_SOLVER_H_
