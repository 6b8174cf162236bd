// SPDX-License-Identifier: Apache-2.0
#include "correlator/module_table.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "correlator/annotated_rows.h"
#include "correlator/computation_roles.h"
#include "correlator/fusion_shares.h"
#include "correlator/kernel_symbols.h"
#include "correlator/module_completion.h"
#include "correlator/module_names.h"
#include "correlator/op_name_resolution.h"
#include "correlator/op_names.h"
#include "correlator/thunk_order/fill/thunk_list_join.h"
#include "correlator/thunk_order/program/launch_kind.h"
#include "hlo/op_category.h"
#include "hlo/resharding.h"

namespace xlatrace::correlator {
namespace {

using model::HloModule;
using model::Id;
using model::Instruction;
using model::InstructionRow;
using model::kNoIndex;
using model::OpNameMethod;

std::string OperandNames(const HloModule& module, const Instruction& instruction) {
  std::string names;
  for (const uint32_t operand : module.Operands(instruction)) {
    if (operand >= module.instructions.size()) continue;
    if (!names.empty()) names += ", ";
    names += module.instructions[operand].name;
  }
  return names;
}

// Sets the source columns of an op from the metadata of `from`.
template <typename Row>
void SetSource(const HloModule& module, uint32_t from, SourceStacks& stacks, Row* row) {
  if (from == kNoIndex) return;
  const model::OpMetadata& metadata = module.instructions[from].metadata;
  row->op_type = metadata.op_type;
  stacks.Set(stacks.OfMetadata(metadata), row);
}

void AddShare(const HloModule& module, const Share& share, uint32_t row_index, SourceStacks& stacks,
              model::AttributionTables* out) {
  model::ShareRow row;
  row.instruction_id = static_cast<Id>(row_index) + 1;
  row.share_ppm = share.share_ppm;
  row.op_name = share.op_name;
  row.opcode = module.instructions[share.from].opcode;
  row.stack_frame = module.instructions[share.from].metadata.stack_frame;
  SetSource(module, share.from, stacks, &row);
  out->shares.push_back(std::move(row));
}

// True for parts of a loop, a branch or a command buffer, by their ranges or op_name.
bool RunsInside(const model::RunTables& run, const AnnotatedInstruction& instruction) {
  if (instruction.nested || instruction.launches == 0) return true;
  return std::any_of(instruction.hints.begin(), instruction.hints.end(), [&](const auto& hint) {
    const std::string& name = run.hints[hint.first - 1].op_name;
    return name.find("/while/") != std::string::npos || name.find("/cond/") != std::string::npos;
  });
}

}  // namespace

ModuleTable::ModuleTable(const model::RunTables& run, const ModuleLoader& load,
                         SourceStacks* stacks, model::AttributionTables* out)
    : stacks_(stacks),
      entries_(run.modules.size()),
      names_(run.modules.size()),
      thunks_(run.modules.size()),
      rows_(&out->instructions),
      shares_(&out->shares) {
  out->modules.resize(run.modules.size());
  for (const model::Device& device : run.devices)
    any_gpu_ |= device.kind == model::DeviceKind::kGpu;
  any_graph_row_ = std::any_of(run.configs.begin(), run.configs.end(), [](const auto& config) {
    return config.kind == model::ActivityKind::kGraph;
  });
  const bool all_cpu = std::all_of(run.devices.begin(), run.devices.end(), [](const auto& device) {
    return device.kind == model::DeviceKind::kCpu;
  });
  if (all_cpu && !run.devices.empty()) device_ = model::DeviceKind::kCpu;
  int64_t unreadable = 0;
  std::string first_error;
  for (size_t i = 0; i < run.modules.size(); ++i) {
    const model::ModuleInfo& info = run.modules[i];
    ModuleEntry& entry = entries_[i];
    entry.process_id = info.process_id;
    entry.name = WithoutProgramId(info.name);
    entry.program_id = info.program_id;
    entry.rebuilt = info.source == model::ModuleSource::kNvtx;
    entry.first_row = entry.entry_first_row = static_cast<uint32_t>(out->instructions.size());
    out->modules[i].framework_function = FrameworkFunction(info.name);

    const Id module_id = static_cast<Id>(i) + 1;
    const Result<LentModule> module = load(module_id);
    if (!module) {
      ++unreadable;
      if (first_error.empty()) first_error = module.error().message;
      continue;
    }
    Read(module_id, **module, out);
  }
  LendThunkLists(load);
  if (unreadable > 0) {
    out->stats.push_back(
        {.name = "unreadable_modules",
         .severity = model::Severity::kNotice,  // No record is lost.
         .source = "correlator",
         .value = unreadable,
         .advice = "their activities have no instruction; the first: " + first_error});
  }
  Complete(run, load, out);
  thunks_.clear();
  IndexNames();
  if (any_gpu_) LendSchedules();
}

void ModuleTable::IndexNames() {
  names_.clear();
  names_.resize(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    const ModuleEntry& entry = entries_[i];
    names_[i].reserve(entry.row_count);
    for (const bool launched : {true, false}) {
      for (uint32_t row = entry.first_row; row < entry.first_row + entry.row_count; ++row) {
        if (launched_[row] == launched) names_[i].try_emplace((*rows_)[row].name, row);
      }
    }
  }
}

ModuleEntry& ModuleTable::AddEntry(const AnnotatedModule& said, Id hlo_module_id,
                                   model::AttributionTables* out) {
  out->added_modules.push_back({.process_id = said.process_id,
                                .name = std::string(said.name),
                                .program_id = said.program_id,
                                .hlo_module_id = hlo_module_id});
  out->modules.emplace_back().framework_function = FrameworkFunction(said.name);
  thunks_.emplace_back();
  ModuleEntry& entry = entries_.emplace_back();
  entry.process_id = said.process_id;
  entry.name = said.name;
  entry.program_id = said.program_id;
  entry.first_row = entry.entry_first_row = static_cast<uint32_t>(out->instructions.size());
  return entry;
}

void ModuleTable::AddAnnotated(const model::RunTables& run, const AnnotatedModule& said,
                               model::AttributionTables* out) {
  ModuleEntry& entry = AddEntry(said, 0, out);
  const auto module_id = static_cast<Id>(entries_.size());
  entry.readable = entry.annotated = true;
  entry.whole_schedule = false;
  entry.hlo_name = entry.name;
  // Instructions that run once per execution, as far as known, come first and represent the entry
  // computation.
  std::vector<const AnnotatedInstruction*> order;
  for (const bool inner : {false, true}) {
    for (const AnnotatedInstruction& instruction : said.instructions) {
      // A command buffer is not an instruction: launches under its name alone belong to an unknown
      // one.
      if (IsThunkOnly(instruction.name)) continue;
      if (RunsInside(run, instruction) == inner) order.push_back(&instruction);
    }
    if (!inner) entry.entry_row_count = static_cast<uint32_t>(order.size());
  }
  std::map<std::string_view, std::vector<uint32_t>> launchers;  // By symbol.
  for (const AnnotatedInstruction* instruction : order) {
    const auto index = static_cast<uint32_t>(out->instructions.size()) - entry.first_row;
    model::InstructionRow row = RowOf(run, *instruction);
    row.module_id = module_id;
    out->instructions.push_back(std::move(row));
    launched_.push_back(true);
    for (const uint32_t number : instruction->configs) {
      const model::LaunchConfig& config = run.configs[number - 1];
      if (LaunchKindOf(config) != LaunchKind::kXlaKernel) continue;
      std::vector<uint32_t>& users = launchers[PlainSymbol(config.symbol)];
      if (users.empty() || users.back() != index) users.push_back(index);
    }
  }
  entry.row_count = static_cast<uint32_t>(order.size());
  entry.symbols = SymbolIndex(launchers);
  out->modules.back().instruction_count = static_cast<int64_t>(order.size());
}

void ModuleTable::Complete(const model::RunTables& run, const ModuleLoader& load,
                           model::AttributionTables* out) {
  said_ = std::make_unique<AnnotatedModules>(run, [&](Id id) { return entry(id).readable; });
  const ModuleCompletion completion(run, *this, *said_);
  links_.resize(said_->all().size());
  refused_ = completion.refused();
  for (const ModuleCompletion::Plan& plan : completion.plans()) {
    const AnnotatedModule& said = said_->all()[plan.said];
    any_linked_id_ |= said.program_id.has_value();
    Link& link = links_[plan.said];
    link = {plan.hlo_module_id, plan.certain};
    if (plan.takes_over) {
      ModuleEntry& entry = entries_[static_cast<size_t>(plan.hlo_module_id) - 1];
      entry.another_run = !plan.certain;
      entry.program_id = said.program_id;
      out->modules[static_cast<size_t>(plan.hlo_module_id) - 1].program_id = said.program_id;
      continue;
    }
    link.module_id = static_cast<Id>(entries_.size()) + 1;
    const Result<LentModule> module =
        plan.hlo_module_id == 0 ? MakeError("no HLO") : load(plan.hlo_module_id);
    if (!module) {
      link.certain = true;
      AddAnnotated(run, said, out);
      continue;
    }
    AddEntry(said, plan.hlo_module_id, out).another_run = !plan.certain;
    Read(link.module_id, **module, out);
  }
  for (const model::RunStat& stat : completion.stats()) out->stats.push_back(stat);
}

ModuleTable::Link ModuleTable::LinkOf(Id process_id, const model::Hint& hint) const {
  const uint32_t said = said_->Of(process_id, hint);
  return said == AnnotatedModules::kNoIndex ? Link() : links_[said];
}

bool ModuleTable::IsRefused(Id process_id, const model::Hint& hint, Id module_id) const {
  if (refused_.empty()) return false;
  const uint32_t said = said_->Of(process_id, hint);
  return said != AnnotatedModules::kNoIndex && refused_.contains({said, module_id});
}

std::vector<std::string_view> ModuleTable::OwnOpNames(Id instruction_id) const {
  std::vector<std::string_view> names;
  const InstructionRow& instruction = row(instruction_id);
  const bool own = instruction.op_name_method == OpNameMethod::kOwn ||
                   instruction.op_name_method == OpNameMethod::kBody;
  if (own && !instruction.op_name.empty()) names.push_back(instruction.op_name);
  auto share =
      std::lower_bound(shares_->begin(), shares_->end(), instruction_id,
                       [](const model::ShareRow& a, Id id) { return a.instruction_id < id; });
  for (; share != shares_->end() && share->instruction_id == instruction_id; ++share) {
    if (own && !share->op_name.empty()) names.push_back(share->op_name);
  }
  return names;
}

void ModuleTable::Read(Id module_id, const LoadedModule& module, model::AttributionTables* out) {
  const HloModule& hlo = module.hlo;
  ModuleEntry& entry = entries_[static_cast<size_t>(module_id - 1)];
  model::ModuleFacts& facts = out->modules[static_cast<size_t>(module_id - 1)];
  entry.readable = true;
  entry.hlo_name = hlo.name;
  entry.content_hash = hlo.content_hash;
  if (!entry.program_id && hlo.program_id > 0) entry.program_id = hlo.program_id;
  entry.row_count = static_cast<uint32_t>(hlo.instructions.size());
  if (hlo.entry < hlo.computations.size()) {
    entry.entry_first_row = entry.first_row + hlo.computations[hlo.entry].first_instruction;
    entry.entry_row_count = hlo.computations[hlo.entry].instruction_count;
  }
  facts.fingerprint = HashText(hlo.content_hash);
  facts.instruction_count = static_cast<int64_t>(hlo.instructions.size());
  if (facts.framework_function.empty()) facts.framework_function = FrameworkFunction(hlo.name);
  if (hlo.peak_memory_bytes >= 0) facts.peak_memory_bytes = hlo.peak_memory_bytes;

  stacks_->BeginModule(hlo);
  const std::vector<ComputationUse> computations = ClassifyComputations(hlo);
  ReadThunks(module_id, hlo, computations, module.thunks);

  ShareSplitter splitter(&hlo, device_);
  std::vector<ResolvedName> body_names(hlo.instructions.size());
  std::unordered_map<uint32_t, std::vector<Share>> shares;
  for (uint32_t i = 0; i < hlo.instructions.size(); ++i) {
    std::vector<Share> split = splitter.Split(i);
    if (split.empty()) continue;
    const bool own = split.front().op_name == FirstOpName(hlo.instructions[i].metadata.op_name) ||
                     split.front().from == i;
    body_names[i] = {split.front().op_name, own ? OpNameMethod::kOwn : OpNameMethod::kBody,
                     split.front().from};
    if (split.size() > 1) shares.emplace(i, std::move(split));
  }
  OpNames names = ResolveOpNames(hlo, computations, body_names);
  shares.merge(names.operand_shares);

  hlo::OpKinds kinds(hlo);
  const hlo::Resharding resharding(hlo);
  for (uint32_t i = 0; i < hlo.instructions.size(); ++i) {
    const Instruction& instruction = hlo.instructions[i];
    const ResolvedName& name = names.names[i];
    InstructionRow row;
    row.module_id = module_id;
    row.name = instruction.name;
    bool launched = false;
    if (instruction.computation < hlo.computations.size()) {
      row.computation = hlo.computations[instruction.computation].name;
      launched = computations[instruction.computation].role == ComputationRole::kLaunched;
    }
    row.opcode = instruction.opcode;
    row.category = kinds.CategoryOf(instruction);
    row.op_kind = kinds.KindOf(instruction);
    row.shape = instruction.shape;
    row.operands = OperandNames(hlo, instruction);
    row.op_name = name.op_name;
    row.op_name_method = name.method;
    row.fusion_kind = instruction.fusion_kind;
    // Without any op_name, the source line may still be known.
    SetSource(hlo, name.from == kNoIndex ? i : name.from, *stacks_, &row);
    if (const uint32_t frame = resharding.ConstraintOf(i); frame != 0) {
      stacks_->Set(stacks_->OfFrame(frame), &row);
    }
    if (const auto split = shares.find(i); split != shares.end()) {
      row.mixed = true;
      for (const Share& share : split->second)
        AddShare(hlo, share, entry.first_row + i, *stacks_, out);
    }
    out->instructions.push_back(std::move(row));
    launched_.push_back(launched);
  }
}

void ModuleTable::ReadThunks(Id module_id, const HloModule& hlo,
                             std::span<const ComputationUse> computations,
                             std::vector<model::Thunk> thunks) {
  ModuleEntry& entry = entries_[static_cast<size_t>(module_id - 1)];
  if (LacksNestedThunks(thunks)) thunks.clear();
  JoinThunkList(hlo, &thunks);
  entry.symbols = SymbolIndex(hlo, computations, thunks);
  entry.has_thunks = !thunks.empty();
  if (any_gpu_) entry.program = ThunkProgram(hlo, thunks, any_graph_row_);
  thunks_[static_cast<size_t>(module_id - 1)] = std::move(thunks);
}

void ModuleTable::LendThunkLists(const ModuleLoader& load) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    ModuleEntry& entry = entries_[i];
    if (!entry.readable || entry.has_thunks || !entry.program_id) continue;
    for (size_t k = 0; k < entries_.size(); ++k) {
      const ModuleEntry& other = entries_[k];
      const bool copy = other.has_thunks && other.program_id == entry.program_id &&
                        other.hlo_name == entry.hlo_name && other.row_count == entry.row_count &&
                        (other.process_id == entry.process_id || other.process_id == 0);
      if (!copy) continue;
      const Result<LentModule> module = load(static_cast<Id>(i) + 1);
      if (!module) break;
      const HloModule& hlo = (*module)->hlo;
      ReadThunks(static_cast<Id>(i) + 1, hlo, ClassifyComputations(hlo), thunks_[k]);
      entry.has_thunks = false;  // It has no thunk list of its own.
      break;
    }
  }
}

void ModuleTable::LendSchedules() {
  const auto rebuilt = [&](size_t module) { return entries_[module].rebuilt; };
  for (size_t i = 0; i < entries_.size(); ++i) {
    ModuleEntry& entry = entries_[i];
    if (!rebuilt(i)) continue;
    entry.whole_schedule = false;
    for (size_t k = 0; k < entries_.size() && entry.program_id && !entry.whole_schedule; ++k) {
      const ModuleEntry& other = entries_[k];
      const bool copy = !rebuilt(k) && other.program.size() > 0 &&
                        other.program_id == entry.program_id && other.hlo_name == entry.hlo_name &&
                        (other.process_id == entry.process_id || other.process_id == 0);
      if (!copy) continue;
      ThunkProgram program = other.program;
      entry.whole_schedule = program.Renumber([&](uint32_t instruction) {
        const std::string& name = (*rows_)[other.first_row + instruction].name;
        const Id found = FindInstruction(static_cast<Id>(i) + 1, name);
        return found == 0 ? kNoIndex : static_cast<uint32_t>(found - 1) - entry.first_row;
      });
      if (entry.whole_schedule) entry.program = std::move(program);
    }
  }
}

Id ModuleTable::FindInstruction(Id module_id, std::string_view name) const {
  const auto& names = names_[static_cast<size_t>(module_id - 1)];
  const auto it = names.find(name);
  return it == names.end() ? 0 : static_cast<Id>(it->second) + 1;
}

}  // namespace xlatrace::correlator
