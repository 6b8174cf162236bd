// SPDX-License-Identifier: Apache-2.0

// Finds the module of the run that a source names.
//
// Module names are not unique, nor are program ids across processes. Several processes run copies
// of one program. Modules are joined by process and program id first, then by process and name.

#ifndef XLATRACE_CORRELATOR_MODULE_JOIN_H_
#define XLATRACE_CORRELATOR_MODULE_JOIN_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "correlator/module_table.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

struct ModuleMatch {
  std::vector<model::Id> modules;  // Candidates; empty: the run holds no such module.
  // Exact if the source's own id identifies the module, or if the name is unique. A boolean is
  // sufficient, because only these two results exist; other candidates are in `modules`.
  bool certain = false;
};

class ModuleJoin {
 public:
  // `modules` must outlive the join.
  ModuleJoin(const model::RunTables& run, const ModuleTable& modules);

  ModuleMatch Find(model::Id process_id, const model::Hint& hint) const;

  // Modules of a process, including those without a process.
  std::vector<model::Id> ModulesOf(model::Id process_id) const;

  // Several entries of one program (an xplane and a dump of the same process) count as one. The
  // entry with a thunk list is kept, or else the first one.
  void DropCopies(std::vector<model::Id>* modules) const;

  // True if the source uses program ids and they are those of the run's modules.
  bool ids_related() const { return ids_related_; }

 private:
  ModuleMatch ReadableCopy(model::Id process_id, model::Id module_id) const;
  bool NameFits(model::Id module_id, std::string_view name) const;
  bool SameProgram(model::Id a, model::Id b) const;

  const ModuleTable& modules_;
  std::map<std::pair<model::Id, int64_t>, std::vector<model::Id>> by_program_id_;
  std::map<std::pair<model::Id, std::string_view>, std::vector<model::Id>> by_name_;
  // False: none of the program ids in the source is an id of a module with that name. The modules
  // are then from another run of the program, and only names can join them.
  bool ids_related_ = false;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_JOIN_H_
