// SPDX-License-Identifier: Apache-2.0

// The run's modules after reading: their instruction rows, and look-ups of instructions.
//
// Row ids: instructions of a module are consecutive in AttributionTables::instructions, in module
// order, so `first_row + index in the module` is a row and `row + 1` its id.
//
// Ownership: the table refers to the rows of the AttributionTables into which it was read. They
// must outlive it; rows may be added after its own. Thread-safety: immutable after construction.

#ifndef XLATRACE_CORRELATOR_MODULE_TABLE_H_
#define XLATRACE_CORRELATOR_MODULE_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "correlator/annotated_modules.h"
#include "correlator/correlator.h"
#include "correlator/source_stacks.h"
#include "correlator/symbol_index.h"
#include "correlator/thunk_order/program/thunk_program.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

struct ModuleEntry {
  model::Id process_id = 0;  // 0: not known; matches every process.
  bool readable = false;     // The module has rows, from its HLO or from annotations.
  bool annotated = false;    // From annotations.
  bool rebuilt = false;      // Joined from the strings that a process registers.
  bool another_run = false;  // Its HLO is from another run of the program.
  uint64_t content_hash = 0;
  std::string name;                   // Name in the source, without a program id.
  std::string hlo_name;               // Name in the HLO; empty if it was not read.
  std::optional<int64_t> program_id;  // From the source, or else from the HLO.
  uint32_t first_row = 0;
  uint32_t row_count = 0;
  uint32_t entry_first_row = 0;  // Instructions of the entry computation.
  uint32_t entry_row_count = 0;
  bool has_thunks = false;
  // The program is XLA's; strings that a process registers are not all.
  bool whole_schedule = true;
  ThunkProgram program;  // Empty in runs without a GPU. Instruction indices count from first_row.
  SymbolIndex symbols;   // Its instruction indices count from first_row.

  bool IsEntry(model::Id instruction_id) const {
    const auto row = static_cast<uint64_t>(instruction_id - 1);
    return row >= entry_first_row && row < uint64_t{entry_first_row} + entry_row_count;
  }
};

class ModuleTable {
 public:
  // Reads every module of the run and fills `out`: modules, instructions, shares, and a run stat
  // for modules that could not be read.
  ModuleTable(const model::RunTables& run, const ModuleLoader& load, SourceStacks* stacks,
              model::AttributionTables* out);

  size_t size() const { return entries_.size(); }
  const ModuleEntry& entry(model::Id module_id) const {
    return entries_[static_cast<size_t>(module_id - 1)];
  }

  // The module for a module that the source names, if name and number do not identify it
  // (module_completion.h). 0: they identify it.
  struct Link {
    model::Id module_id = 0;
    bool certain = false;  // See ModuleMatch (module_join.h), which is made from it.
  };
  Link LinkOf(model::Id process_id, const model::Hint& hint) const;
  // True if the module has the name and number in the source but is another module.
  bool IsRefused(model::Id process_id, const model::Hint& hint, model::Id module_id) const;
  // True if a process uses numbers of modules that are known by annotations.
  bool any_linked_id() const { return any_linked_id_; }

  // op_names of an instruction and of its fused instructions, without op_names inherited from
  // others.
  std::vector<std::string_view> OwnOpNames(model::Id instruction_id) const;
  // Names are views into the rows of AttributionTables::instructions. Call it again after rows were
  // added there (framework_ops.h), because they may have moved.
  void IndexNames();

  // Id of the instruction with that name, or 0. If a printed module repeats a name, the instruction
  // that runs as a separate unit is returned.
  model::Id FindInstruction(model::Id module_id, std::string_view name) const;

  const model::InstructionRow& row(model::Id instruction_id) const {
    return (*rows_)[static_cast<size_t>(instruction_id - 1)];
  }

 private:
  void Read(model::Id module_id, const LoadedModule& module, model::AttributionTables* out);
  void ReadThunks(model::Id module_id, const model::HloModule& hlo,
                  std::span<const ComputationUse> computations, std::vector<model::Thunk> thunks);
  // Used if the source embeds a module without a thunk list and a dump of the same program has one.
  void LendThunkLists(const ModuleLoader& load);
  // Strings that a process registers do not contain the whole schedule, but a dump does.
  void LendSchedules();
  // Adds modules that the source names and that have no HLO, or only HLO of another run.
  void Complete(const model::RunTables& run, const ModuleLoader& load,
                model::AttributionTables* out);
  void AddAnnotated(const model::RunTables& run, const AnnotatedModule& said,
                    model::AttributionTables* out);
  ModuleEntry& AddEntry(const AnnotatedModule& said, model::Id hlo_module_id,
                        model::AttributionTables* out);

  SourceStacks* stacks_;
  bool any_gpu_ = false;
  bool any_graph_row_ = false;                          // There are rows of CUDA graphs without
                                                        // known nodes.
  model::DeviceKind device_ = model::DeviceKind::kGpu;  // Device whose costs divide fusions.
  std::vector<ModuleEntry> entries_;
  std::vector<std::unordered_map<std::string_view, uint32_t>> names_;  // Name -> row.
  std::vector<std::vector<model::Thunk>> thunks_;  // By module, used while reading.
  std::vector<bool> launched_;                     // Per row.
  const std::vector<model::InstructionRow>* rows_;
  const std::vector<model::ShareRow>* shares_;
  std::unique_ptr<AnnotatedModules> said_;
  std::vector<Link> links_;                           // By annotated module.
  std::set<std::pair<uint32_t, model::Id>> refused_;  // (annotated module, module)
  bool any_linked_id_ = false;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_TABLE_H_
