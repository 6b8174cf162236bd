// SPDX-License-Identifier: Apache-2.0

// Input of thunk order: the thunk program of every module, and the candidate tokens of each kind of
// activity.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_CASES_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_CASES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "correlator/module_join.h"
#include "correlator/module_table.h"
#include "correlator/thunk_order/align/launch_outcome.h"
#include "correlator/thunk_order/program/thunk_program.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// A kind of activity, with the result of the first pass.
struct ClassifiedCase {
  model::Id process_id = 0;
  uint32_t config = 0;
  uint32_t graph = 0;  // For a graph-level row: number of the graph, if the source has it.
  uint32_t label = 0;
  model::Id module_id = 0;  // Named by the source, or by other activities of the group; 0: not
                            // known.
  // The source identifies exactly this module (ModuleMatch in module_join.h). With the other
  // information it becomes `LaunchCase::said`, which has more levels.
  bool certain = false;
  // The source names a module, and only these modules are possible (empty: the run does not contain
  // the named module).
  bool names_module = false;
  std::vector<model::Id> among = {};
};

class LaunchCases {
 public:
  // All must outlive the object, and its labels must not change during construction. `case_of`: per
  // activity, index in `judged`.
  LaunchCases(const model::RunTables& run, const ModuleTable& modules, const ModuleJoin& join,
              std::span<const ClassifiedCase> judged, std::span<const uint32_t> case_of,
              std::span<const model::Label> labels);

  std::span<const ThunkProgram* const> programs() const { return programs_; }  // By module.
  const std::vector<LaunchCase>& cases() const { return cases_; }  // In the order of `judged`.

  // Modules by symbol (index among the programs); copies of one program count once.
  using Owners = std::unordered_map<std::string_view, std::vector<uint32_t>>;
  const Owners& OwnersOf(model::Id process_id) { return owners_[process_id]; }

 private:
  const model::Label& LabelOf(const ClassifiedCase& judged) const {
    return labels_[judged.label - 1];
  }
  int Rank(model::Id module_id) const;
  void ReadPrograms();
  void ReadCases();
  void SettlePrograms();
  // If several modules have a kernel of one name (one program compiled for several shapes), the
  // smaller module has the smaller grid. If programs and launches have equally many sizes,
  // candidates of another rank are doubtful.
  void CompareSizes();
  // Finds names that a process launches with more sizes than it has modules with such a kernel.
  void FindMissing();
  // Marks candidate graphs of rows as doubtful if their number and time are evidence against them.
  void CompareGraphs();
  // A thunk list with exactly this grid has priority over a list with only the name.
  void PreferKnownGrids();
  std::vector<Candidate> CandidatesOf(const ClassifiedCase& judged, const LaunchCase& launch);

  const model::RunTables& run_;
  const ModuleTable& modules_;
  const ModuleJoin& join_;
  std::span<const ClassifiedCase> judged_;
  std::span<const uint32_t> case_of_;  // By activity.
  std::span<const model::Label> labels_;

  std::vector<const ThunkProgram*> programs_;
  std::vector<std::unique_ptr<ThunkProgram>> settled_;
  std::vector<LaunchCase> cases_;
  std::map<model::Id, Owners> owners_;                      // By process.
  size_t graph_candidates_ = 0;                             // Sum over all graph-level rows so far.
  std::map<model::Id, std::vector<model::Id>> modules_of_;  // Each program once.
  // Pairs (module, symbol) that the run contains with certainty, and (kNoProgramIndex, symbol) for
  // launches without a known module.
  std::set<std::pair<uint32_t, std::string_view>> observed_;
  // By process and module.
  std::map<std::pair<model::Id, uint32_t>, ThunkProgram::Unobserved> unobserved_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_CASES_H_
