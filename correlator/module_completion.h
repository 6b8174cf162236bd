// SPDX-License-Identifier: Apache-2.0

// Which module of the run a source means where it names one, as far as that takes more than names
// and numbers: HLO that lies beside a run may be that of another process, run or program.
//
//   the source's own module, or a dump's of the same name and number that agrees
//                                       -> as ModuleJoin has it: exact
//   a dump's of the same name that agrees, of another process with the same number -> exact
//   the same with another number        -> "same program, another run": inferred
//   none                                -> a module of source annotation: exact, without HLO
//
// A dump's module that has the name and does not agree (module_agreement.h) is refused, and a run
// stat says what differs.
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
  // What a module that was named is, where names and numbers do not settle it: HLO read once more
  // under a number of its own, HLO that was given, or rows made from what was said.
  struct Plan {
    uint32_t said = 0;            // Index into the annotated modules.
    model::Id hlo_module_id = 0;  // 0: no HLO.
    // False for one reason only, so that a boolean is enough: the HLO is of another run of the
    // program, which its labels are told by (Doubt::kHloOfAnotherRun).
    bool certain = true;
    bool takes_over = false;  // The HLO's own entry becomes this module.
  };

  // Decides, without changing anything. `modules` holds the run's modules.
  ModuleCompletion(const model::RunTables& run, const ModuleTable& modules,
                   const AnnotatedModules& said);

  const std::vector<Plan>& plans() const { return plans_; }
  // Pairs of annotated module and a dump's module that is not it, though it has its name.
  const std::set<std::pair<uint32_t, model::Id>>& refused() const { return refused_; }
  const std::vector<model::RunStat>& stats() const { return stats_; }

 private:
  struct Candidates {
    std::vector<model::Id> own;     // Name and number fit.
    std::vector<model::Id> others;  // The name fits.
    bool embedded = false;          // The source brought one of the former itself.
    bool joined = false;            // One of the former agrees.
  };

  void Find(uint32_t said, Candidates* candidates) const;
  void JudgeOwn(uint32_t said, Candidates* candidates);
  bool HoldTogether(const AnnotatedModule& module, const std::vector<model::Id>& candidates) const;
  bool HasTwoPrograms(const AnnotatedModule& module) const;
  bool IsContradicted(uint32_t said) const;
  bool IsAnotherRun(model::Id process_id) const;
  model::Id Choose(uint32_t said, const std::vector<model::Id>& candidates);
  void Refuse(uint32_t said, model::Id module_id, const std::string& why);
  void TellWhatIsMissing();

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
