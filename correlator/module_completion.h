// SPDX-License-Identifier: Apache-2.0

// Finds the module of the run for a module that the source names, if names and numbers are not
// sufficient. HLO beside a run may belong to another process, run or program.
//
//   the source's own module, or a dump's with equal name and number that agrees
//                                       -> result of ModuleJoin: exact
//   a dump's with equal name that agrees, of another process with equal number -> exact
//   the same with another number        -> "same program, another run": inferred
//   none                                -> a module of source annotation: exact, without HLO
//
// If a dump's module has the name and does not agree (module_agreement.h), it is rejected, and a
// run stat reports the difference.
//
// Thread-safety: immutable after construction.

#ifndef XLATRACE_CORRELATOR_MODULE_COMPLETION_H_
#define XLATRACE_CORRELATOR_MODULE_COMPLETION_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "correlator/annotated_modules.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

class ModuleTable;

class ModuleCompletion {
 public:
  // Resolution of a named module that names and numbers do not identify: HLO that is read again
  // under another number, given HLO, or rows made from annotations.
  struct Plan {
    uint32_t said = 0;            // Index in the annotated modules.
    model::Id hlo_module_id = 0;  // 0: no HLO.
    // False for one reason only: the HLO is of another run of the program (Doubt::kHloOfAnotherRun
    // for its labels).
    bool certain = true;
    bool takes_over = false;  // The HLO's own entry becomes this module.
  };

  // Computes the decisions without applying them. `modules` has the run's modules.
  ModuleCompletion(const model::RunTables& run, const ModuleTable& modules,
                   const AnnotatedModules& said);

  const std::vector<Plan>& plans() const { return plans_; }
  // Pairs of an annotated module and a dump's module that has its name but does not agree.
  const std::set<std::pair<uint32_t, model::Id>>& refused() const { return refused_; }
  const std::vector<model::RunStat>& stats() const { return stats_; }

 private:
  struct Candidates {
    std::vector<model::Id> own;     // Modules with the same name and number.
    std::vector<model::Id> others;  // Modules with the same name only.
    bool embedded = false;          // The source embeds one of `own`.
    bool joined = false;            // One of `own` agrees.
  };

  void Find(uint32_t said, Candidates* candidates) const;
  void CheckOwnModules(uint32_t said, Candidates* candidates);
  bool HoldTogether(const AnnotatedModule& module, const std::vector<model::Id>& candidates) const;
  bool HasTwoPrograms(const AnnotatedModule& module) const;
  bool IsContradicted(uint32_t said) const;
  bool IsAnotherRun(model::Id process_id) const;
  model::Id Choose(uint32_t said, const std::vector<model::Id>& candidates);
  void Refuse(uint32_t said, model::Id module_id, const std::string& why);
  void ReportMissingModules();

  const model::RunTables& run_;
  const ModuleTable& modules_;
  const AnnotatedModules& said_;
  std::vector<Candidates> candidates_;
  std::vector<Plan> plans_;
  std::set<std::pair<uint32_t, model::Id>> refused_;
  std::vector<model::RunStat> stats_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_COMPLETION_H_
