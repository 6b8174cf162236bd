// SPDX-License-Identifier: Apache-2.0

// What thunk order works on: the thunk program of every module, and for each kind of activity the
// tokens of those programs that it can be.
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

// A kind of activity, as the first pass judged it.
struct JudgedCase {
  model::Id process_id = 0;
  uint32_t config = 0;
  uint32_t graph = 0;  // Of a graph-level row: the graph's number, where the source tells it.
  uint32_t label = 0;
  model::Id module_id = 0;  // Told by the source, or by others of the group; 0: not told.
  // The source means that very module, as of ModuleMatch (module_join.h); with the rest of what is
  // said it becomes LaunchCase::said, which has a word for each degree.
  bool certain = false;
  // The source names a module; it can only be one of these (none: the run does not hold it).
  bool names_module = false;
  std::vector<model::Id> among = {};
};

class LaunchCases {
 public:
  // All must outlive the object, and its labels must not change while it is made. `case_of`: per
  // activity, into `judged`.
  LaunchCases(const model::RunTables& run, const ModuleTable& modules, const ModuleJoin& join,
              std::span<const JudgedCase> judged, std::span<const uint32_t> case_of,
              std::span<const model::Label> labels);

  std::span<const ThunkProgram* const> programs() const { return programs_; }  // By module.
  const std::vector<LaunchCase>& cases() const { return cases_; }              // As judged.

  // Symbol -> modules (index among the programs), copies of one program once.
  using Owners = std::unordered_map<std::string_view, std::vector<uint32_t>>;
  const Owners& OwnersOf(model::Id process_id) { return owners_[process_id]; }

 private:
  const model::Label& LabelOf(const JudgedCase& judged) const { return labels_[judged.label - 1]; }
  int Rank(model::Id module_id) const;
  void ReadPrograms();
  void ReadCases();
  void SettlePrograms();
  // Of several modules with a kernel of one name, as of one program compiled for several shapes,
  // the smaller one has the smaller grid: where there are as many sizes of programs as of launches,
  // candidates of another rank are doubtful.
  void CompareSizes();
  // Finds names that a process launches in more sizes than it has modules with such a kernel.
  void FindMissing();
  // Of the graphs that rows may be of, those are doubtful that their number and time speak against.
  void CompareGraphs();
  // A thunk list that tells the very grid goes before one that only has the name.
  void PreferKnownGrids();
  std::vector<Candidate> CandidatesOf(const JudgedCase& judged, const LaunchCase& launch);

  const model::RunTables& run_;
  const ModuleTable& modules_;
  const ModuleJoin& join_;
  std::span<const JudgedCase> judged_;
  std::span<const uint32_t> case_of_;  // By activity.
  std::span<const model::Label> labels_;

  std::vector<const ThunkProgram*> programs_;
  std::vector<std::unique_ptr<ThunkProgram>> settled_;
  std::vector<LaunchCase> cases_;
  std::map<model::Id, Owners> owners_;                      // By process.
  size_t graph_candidates_ = 0;                             // So far, of all graph-level rows.
  std::map<model::Id, std::vector<model::Id>> modules_of_;  // Each program once.
  // (module, symbol) that the run holds for sure, and (kNoProgram, symbol) of launches of no told
  // module.
  std::set<std::pair<uint32_t, std::string_view>> observed_;
  // By process and module.
  std::map<std::pair<model::Id, uint32_t>, ThunkProgram::Unobserved> unobserved_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_CASES_H_
