// SPDX-License-Identifier: Apache-2.0
#include "report/op_fold.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::report {
namespace {

// Every run of digits becomes one '#'.
std::string WithoutNumbers(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

std::string KeyOf(const OpFigure& op) {
  const std::string program =
      op.fingerprint.empty() ? fmt::format("m{}", op.module_id) : op.fingerprint;
  // '
  // ' cannot occur in names of HLO text.
  if (op.op_name.empty()) return fmt::format("{}\n{}", program, op.instruction);
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", program, InstructionStem(op.instruction),
                     op.op_kind, op.to_host, static_cast<int>(op.phase), op.layer_group,
                     WithoutNumbers(op.op_name), op.source_file, op.source_line.value_or(0));
}

// An instruction below this share of the largest copy's time is not folded with it. The mean of
// such a row would be the time of no copy.
constexpr double kMinShareOfLargest = 0.1;

void AddPath(const OpFigure& op, FoldedOp& fold) {
  if (!op.critical_pct) return;
  fold.critical_ns += *op.critical_pct / 100 * static_cast<double>(op.ns);
  fold.replayed_ns += op.ns;
}

}  // namespace

std::string_view InstructionStem(std::string_view instruction) {
  while (true) {
    const size_t last = instruction.find_last_not_of("0123456789");
    if (last == std::string_view::npos || last + 1 == instruction.size() ||
        instruction[last] != '.' || last == 0) {
      return instruction;
    }
    instruction = instruction.substr(0, last);
  }
}

std::vector<size_t> FoldRows(const RunView& view) {
  // The rows of one key, the largest first, because ops are ordered by time.
  struct Row {
    size_t number;
    int64_t largest_ns;
    std::set<std::string_view> instructions;
  };
  std::vector<size_t> rows;
  std::unordered_map<std::string, std::vector<Row>> rows_of;
  size_t next = 0;
  for (const OpFigure& op : view.ops) {
    std::vector<Row>& alike = rows_of[KeyOf(op)];
    auto row = std::find_if(alike.begin(), alike.end(), [&](const Row& of) {
      return of.instructions.count(op.instruction) != 0;
    });
    if (row == alike.end() && !alike.empty() &&
        static_cast<double>(op.ns) >=
            kMinShareOfLargest * static_cast<double>(alike.back().largest_ns)) {
      row = alike.end() - 1;
    }
    if (row == alike.end()) row = alike.insert(row, {next++, op.ns, {}});
    row->instructions.insert(op.instruction);
    rows.push_back(row->number);
  }
  return rows;
}

std::vector<FoldedOp> FoldOps(const RunView& view) {
  std::vector<FoldedOp> folded;
  const std::vector<size_t> rows = FoldRows(view);
  std::set<std::pair<size_t, std::string_view>> instructions;  // For each row.
  for (size_t i = 0; i < rows.size(); ++i) {
    const OpFigure& op = view.ops[i];
    const size_t row = rows[i];
    const bool exact = op.confidence == "exact";
    const bool fresh = instructions.emplace(row, op.instruction).second;
    if (row == folded.size()) {
      folded.push_back({&op, 1, 1, op.ns, op.calls, op.ns, op.ns, exact, op.bound_by});
      if (op.peak_pct) {
        folded.back().peak_ns = *op.peak_pct * static_cast<double>(op.ns);
        folded.back().rated_ns = op.ns;
      }
      AddPath(op, folded.back());
      continue;
    }
    FoldedOp& fold = folded[row];  // Ops are ordered by time, so the first op is the largest.
    if (fresh) ++fold.copies;
    ++fold.ops;
    fold.ns += op.ns;
    fold.calls = fold.calls == 0 || op.calls == 0 ? 0 : fold.calls + op.calls;
    fold.least_ns = std::min(fold.least_ns, op.ns);
    fold.most_ns = std::max(fold.most_ns, op.ns);
    fold.exact = fold.exact && exact;
    if (op.peak_pct) {
      fold.peak_ns += *op.peak_pct * static_cast<double>(op.ns);
      fold.rated_ns += op.ns;
    }
    AddPath(op, fold);
    if (fold.bound_by != op.bound_by) fold.bound_by.clear();
  }
  std::stable_sort(folded.begin(), folded.end(),
                   [](const FoldedOp& a, const FoldedOp& b) { return a.ns > b.ns; });
  return folded;
}

}  // namespace xlatrace::report
