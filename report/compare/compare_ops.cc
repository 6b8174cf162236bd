// SPDX-License-Identifier: Apache-2.0
#include "report/compare/compare_ops.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/apportion.h"
#include "report/op_columns.h"
#include "report/shown_words.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using compare::KernelUse;
using compare::Op;
using compare::OpShare;
using store::Statement;
using store::Table;

// A rate needs at least this number of recurrences.
constexpr int64_t kMinRecurrenceCount = 8;

// How often an op runs per call of its module. A recording may begin or end within a call.
double CallsOf(int64_t occurrences, int64_t executions) {
  if (executions <= 0) return 0;
  const double calls = static_cast<double>(occurrences) / static_cast<double>(executions);
  const double whole = std::round(calls);
  return std::abs(calls - whole) * static_cast<double>(executions) <= 2 ? whole : calls;
}

}  // namespace

size_t CompareOps::OpOf(int64_t module_id, const std::string& instruction) {
  const size_t module = module_of_.at(module_id);
  const auto [at, is_new] =
      by_name_.try_emplace(fmt::format("{}\n{}", module, instruction), run_.ops.size());
  if (is_new) {
    Op& op = run_.ops.emplace_back();
    op.module = module;
    op.instruction = instruction;
  }
  return at->second;
}

Status CompareOps::Load() {
  XLATRACE_ASSIGN(const Table rows,
                  db_.Select(fmt::format(
                      "SELECT {}, flops, bytes FROM op_time WHERE op IS NOT NULL", kOpColumns)));
  std::unordered_map<std::string, int64_t> ran;
  // Sums of the whole run. op_time has no figure for a loop or branch, because the ops inside have
  // the time.
  std::unordered_map<std::string, int64_t> flops, bytes;
  const std::string_view time = run_.steady ? "steady_ns" : "self_ns";
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const std::string key =
        fmt::format("{}\n{}", module_of_.at(rows.Int(i, "module_id")), rows.Text(i, "instruction"));
    occurrences_[key] += rows.Int(i, "occurrences");
    if (rows.Int(i, "self_ns") > 0) ran[key] += rows.Int(i, "occurrences");
    if (!rows.IsNull(i, "flops")) flops[key] += rows.Int(i, "flops");
    if (!rows.IsNull(i, "bytes")) bytes[key] += rows.Int(i, "bytes");
    const int64_t ns = rows.Int(i, time);
    if (ns == 0) continue;
    Op& op = run_.ops[OpOf(rows.Int(i, "module_id"), rows.Text(i, "instruction"))];
    op.ns += ns;
    if (!op.handle.empty()) continue;  // Another process ran the same instruction.
    ReadOpColumns(rows, i, op);
  }
  const auto each = [&](const std::unordered_map<std::string, int64_t>& of,
                        const std::string& key) -> std::optional<int64_t> {
    const auto found = of.find(key);
    const int64_t times = occurrences_[key];
    if (found == of.end() || times <= 0) return std::nullopt;
    return (found->second + times / 2) / times;
  };
  XLATRACE_TRY(db_.ForEach(
      "SELECT module_id, instruction, opcode, shape FROM instruction", [&](const Statement& row) {
        const auto module = module_of_.find(row.Int64(0));
        if (module == module_of_.end()) return true;
        const std::string key = fmt::format("{}\n{}", module->second, row.Text(1));
        if (const auto found = ran.find(key); found != ran.end()) {
          OpCount& count = counts_.of_module[module->second];
          ++count.all;
          count.fusions += row.Text(2) == "fusion";
          const double calls = CallsOf(found->second, run_.modules[module->second].executions);
          count.launches += calls;
          count.bytes += calls * static_cast<double>(each(bytes, key).value_or(0));
          count.flops += calls * static_cast<double>(each(flops, key).value_or(0));
          ran.erase(found);
        }
        const auto at = by_name_.find(key);
        if (at == by_name_.end()) return true;
        Op& op = run_.ops[at->second];
        if (!op.opcode.empty()) return true;
        op.opcode = row.Text(2);
        op.shape = row.Text(3);
        op.flops = each(flops, key);
        op.bytes = each(bytes, key);
        return true;
      }));
  return LoadKernels();
}

Op* CompareOps::Find(int64_t module_id, const std::string& instruction) {
  const auto module = module_of_.find(module_id);
  if (module == module_of_.end()) return nullptr;
  const auto at = by_name_.find(fmt::format("{}\n{}", module->second, instruction));
  return at == by_name_.end() ? nullptr : &run_.ops[at->second];
}

void CompareOps::AddUse(KernelUse use, int64_t calls, Op& op) {
  op.calls += calls;
  const auto same = std::find_if(op.kernels.begin(), op.kernels.end(), [&](const auto& other) {
    return other.name == use.name && other.grid == use.grid && other.block == use.block;
  });
  if (same == op.kernels.end()) {
    op.kernels.push_back(std::move(use));
    return;
  }
  same->ns += use.ns;
  same->calls += use.calls;
}

void CompareOps::AddRecurrence(uint64_t key, int64_t ns, const Op& op) {
  const auto found = sums_.recurrences.find(key);
  if (found == sums_.recurrences.end()) return;
  HeaviestUse& use = heaviest_[static_cast<size_t>(&op - run_.ops.data())];
  if (ns <= use.ns) return;
  use = {ns, &found->second};
}

// Recurrences are counted per launch configuration. An op may have two per repetition (attention on
// itself and on another text), and the mean of both fits neither.
void CompareOps::FindRecurrences() {
  for (const auto& [at, use] : heaviest_) {
    int64_t ns = 0, times = 0;
    for (const auto& [device, of] : *use.recurrences) {
      ns += of.last_ns - of.first_ns;
      times += of.count - 1;
    }
    if (times >= kMinRecurrenceCount) run_.ops[at].recurs_ns = ns / times;
  }
}

// An op of several kernels that becomes one kernel runs as often as before, and moves as many
// bytes.
void CompareOps::CountRuns(const Table& labels) {
  std::unordered_map<const Op*, int64_t> launches;  // In the whole run.
  for (size_t i = 0; i < labels.rows.size(); ++i) {
    const auto count = sums_.calls_of_run.find(labels.Int(i, "label_id"));
    if (count == sums_.calls_of_run.end() || labels.IsNull(i, "instruction")) continue;
    const auto owners = label_shares_.OwnersOf(count->first);
    if (owners.empty()) {
      const Op* op = Find(labels.Int(i, "module_id"), labels.Text(i, "instruction"));
      if (op != nullptr) launches[op] += count->second;
    }
    for (const LabelShares::Owner& owner : owners) {
      const Op* op = Find(owner.module_id, owner.instruction);
      if (op != nullptr) launches[op] += count->second;
    }
  }
  for (const auto& [key, at] : by_name_) {
    Op& op = run_.ops[at];
    op.calls = CallsOfLaunches(op.calls, launches[&op], occurrences_[key]);
  }
}

Status CompareOps::LoadKernels() {
  XLATRACE_ASSIGN(const store::PackedTable configs, store::ScanConfigs(db_));
  std::unordered_map<int64_t, size_t> config_row;
  for (size_t i = 0; i < configs.row_count(); ++i) {
    config_row.emplace(configs.Int(i, "config_id"), i);
  }
  XLATRACE_ASSIGN(const Table labels, store::ScanLabels(db_));
  std::unordered_map<int64_t, size_t> label_row;
  for (size_t i = 0; i < labels.rows.size(); ++i) {
    label_row.emplace(labels.Int(i, "label_id"), i);
  }
  std::map<std::pair<std::string, std::string>, size_t> unlabelled;
  for (const auto& [key, sum] : sums_.by_label_and_config) {
    const auto config = config_row.find(static_cast<int64_t>(key & UINT32_MAX));
    KernelUse use;
    use.ns = sum.ns;
    use.calls = sum.calls;
    if (config != config_row.end()) {
      const size_t row = config->second;
      use.name = configs.Text(row, "kernel_symbol");
      // A mangled symbol has no more information than the name and is hard to read.
      if (use.name.empty() || use.name.starts_with("_Z")) use.name = configs.Text(row, "name");
      use.grid = {configs.Int(row, "grid_x"), configs.Int(row, "grid_y"),
                  configs.Int(row, "grid_z")};
      use.block = {configs.Int(row, "block_x"), configs.Int(row, "block_y"),
                   configs.Int(row, "block_z")};
      use.registers = configs.Int(row, "registers_per_thread");
      use.shared_memory_bytes = configs.Int(row, "shared_memory_static_bytes") +
                                configs.Int(row, "shared_memory_dynamic_bytes");
      if (!configs.IsNull(row, "theoretical_occupancy_pct")) {
        use.occupancy_pct = configs.Real(row, "theoretical_occupancy_pct");
      }
      const std::string_view kind = configs.Text(row, "kind");
      if (kind == "kernel") counts_.has_kernels = true;
      use.graph = kind == "graph";
    }
    counts_.launches += sum.calls;
    const auto label = label_row.find(static_cast<int64_t>(key >> 32));
    if (label != label_row.end() && !labels.IsNull(label->second, "instruction")) {
      const size_t row = label->second;
      const int64_t module_id = labels.Int(row, "module_id");
      const std::string instruction = labels.Text(row, "instruction");
      const auto owners = label_shares_.OwnersOf(label->first);
      if (owners.empty()) {
        if (Op* op = Find(module_id, instruction)) {
          AddUse(std::move(use), sum.calls, *op);
          AddRecurrence(key, sum.ns, *op);
        }
        continue;
      }
      const std::vector<int64_t>& parts = sums_.shares_ns.at(key);
      for (size_t k = 0; k < owners.size(); ++k) {
        Op* op = Find(owners[k].module_id, owners[k].instruction);
        if (op == nullptr) continue;
        KernelUse part = use;
        part.ns = parts[k];
        // A launch for all of them counts for the instruction that the row names.
        const bool named = owners[k].module_id == module_id && owners[k].instruction == instruction;
        part.calls = named ? use.calls : 0;
        AddUse(std::move(part), sum.calls, *op);
      }
      continue;
    }
    // Work outside XLA that is attributed to a framework's op has evidence and no instruction.
    const bool labelled = label != label_row.end() && !labels.IsNull(label->second, "evidence");
    const std::string reason = label == label_row.end()
                                   ? std::string("unknown")
                                   : labels.Text(label->second, "unattributed_reason");
    if (reason == model::Text(model::Reason::kAutotuning)) {
      counts_.autotuning_ns += sum.ns;
    } else if (!labelled) {
      counts_.unlabelled_ns += sum.ns;
    }
    const auto [at, is_new] = unlabelled.try_emplace({reason, use.name}, run_.ops.size());
    if (is_new) {
      Op& op = run_.ops.emplace_back();
      op.reason = reason;
      op.op_kind = "other";
      op.phase = reason == model::Text(model::Reason::kAutotuning) ? model::Phase::kOther
                                                                   : model::Phase::kUnknown;
    }
    Op& op = run_.ops[at->second];
    op.ns += use.ns;
    op.calls += use.calls;
    op.kernels.push_back(std::move(use));
    AddRecurrence(key, sum.ns, op);
  }
  FindRecurrences();
  CountRuns(labels);
  for (Op& op : run_.ops) {
    std::stable_sort(op.kernels.begin(), op.kernels.end(), [](const auto& a, const auto& b) {
      return a.ns != b.ns ? a.ns > b.ns : a.name < b.name;
    });
  }
  return {};
}

Status CompareOps::LoadShares() {
  by_name_.clear();
  for (size_t i = 0; i < run_.ops.size(); ++i) {
    if (run_.ops[i].instruction.empty()) continue;
    by_name_.emplace(fmt::format("{}\n{}", run_.ops[i].module, run_.ops[i].instruction), i);
  }
  struct Shares {
    int64_t module_id = 0;
    std::vector<int64_t> ppm;
  };
  std::vector<Shares> shares(run_.ops.size());
  XLATRACE_TRY(db_.ForEach(
      "SELECT module_id, instruction, op_name, phase, layer, layer_group, source_file,"
      " source_line, share_ppm FROM instruction_share WHERE share_ppm < 1000000",
      [&](const Statement& row) {
        const auto module = module_of_.find(row.Int64(0));
        if (module == module_of_.end()) return true;
        const auto at = by_name_.find(fmt::format("{}\n{}", module->second, row.Text(1)));
        if (at == by_name_.end()) return true;
        Shares& of = shares[at->second];
        if (of.module_id != 0 && of.module_id != row.Int64(0)) return true;
        of.module_id = row.Int64(0);
        of.ppm.push_back(row.Int64(8));
        OpShare& share = run_.ops[at->second].shares.emplace_back();
        share.op_name = row.Text(2);
        share.phase = PhaseOrUnknown(row.Text(3));
        share.layer = row.Text(4);
        share.layer_group = row.Text(5);
        share.source_file = row.Text(6);
        share.source_line = row.OptionalInt64(7);
        return true;
      }));
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].ppm.empty()) continue;
    std::vector<int64_t> parts(shares[i].ppm.size());
    analysis::Apportion(run_.ops[i].ns, shares[i].ppm, parts);
    for (size_t k = 0; k < parts.size(); ++k) run_.ops[i].shares[k].ns = parts[k];
  }
  return {};
}

}  // namespace xlatrace::report
