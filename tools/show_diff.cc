// SPDX-License-Identifier: Apache-2.0
#include "tools/show_diff.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "compare/breakdown.h"
#include "hlo/text/text_printer.h"
#include "report/text_table.h"
#include "tools/run_set.h"

namespace xlatrace::tools {
namespace {

using compare::Op;
using compare::Row;
using compare::Run;

constexpr size_t kMaxDifferenceLines = 400;

// The instruction and what it computes inside, without metadata.
std::vector<std::string> TextOf(const Run& run, const std::vector<size_t>& ops) {
  std::vector<std::string> lines;
  for (const size_t i : ops) {
    const Op& op = run.ops[i];
    if (op.module >= run.modules.size() || run.modules[op.module].hlo == nullptr) continue;
    const model::HloModule& module = *run.modules[op.module].hlo;
    const auto found = std::find_if(
        module.instructions.begin(), module.instructions.end(),
        [&](const model::Instruction& instruction) { return instruction.name == op.instruction; });
    if (found == module.instructions.end()) continue;
    const auto add = [&](const model::Instruction& instruction, std::string_view indent) {
      std::string text = hlo::PrintInstruction(module, instruction);
      const size_t metadata = text.find(", metadata={");
      if (metadata != std::string::npos) text.resize(metadata);
      if (lines.size() < kMaxDifferenceLines) lines.push_back(std::string(indent) + text);
    };
    add(*found, "");
    for (const uint32_t called : module.CalledComputations(*found)) {
      for (const auto& inside : module.InstructionsOf(module.computations[called])) {
        add(inside, "  ");
      }
    }
  }
  return lines;
}

// Names and numbers mean nothing: lines are the same when all else is.
std::string Nameless(const std::string& line) {
  std::string text;
  for (size_t at = 0; at < line.size();) {
    if (line[at] != '%') {
      text += line[at++];
      continue;
    }
    text += '%';
    ++at;
    while (at < line.size() && (std::isalnum(static_cast<unsigned char>(line[at])) ||
                                line[at] == '.' || line[at] == '_' || line[at] == '-')) {
      ++at;
    }
  }
  return text;
}

// Longest common subsequence of lines, the pairs in order; none: the line is alone.
std::vector<std::pair<int, int>> Align(const std::vector<std::string>& a,
                                       const std::vector<std::string>& b) {
  std::vector<std::string> x, y;
  for (const std::string& line : a) x.push_back(Nameless(line));
  for (const std::string& line : b) y.push_back(Nameless(line));
  std::vector<std::vector<int>> best(x.size() + 1, std::vector<int>(y.size() + 1, 0));
  for (size_t i = x.size(); i-- > 0;) {
    for (size_t j = y.size(); j-- > 0;) {
      best[i][j] = x[i] == y[j] ? best[i + 1][j + 1] + 1 : std::max(best[i + 1][j], best[i][j + 1]);
    }
  }
  std::vector<std::pair<int, int>> pairs;
  size_t i = 0;
  size_t j = 0;
  while (i < x.size() || j < y.size()) {
    if (i < x.size() && j < y.size() && x[i] == y[j]) {
      pairs.emplace_back(static_cast<int>(i++), static_cast<int>(j++));
    } else if (j == y.size() || (i < x.size() && best[i + 1][j] >= best[i][j + 1])) {
      pairs.emplace_back(static_cast<int>(i++), -1);
    } else {
      pairs.emplace_back(-1, static_cast<int>(j++));
    }
  }
  return pairs;
}

}  // namespace

Result<std::string> ShowDiff(const std::string& base, const std::string& now,
                             const std::string& what, const ShowDiffOptions& options) {
  XLATRACE_ASSIGN(const ComparedRuns compared, CompareRunSets({base}, {now}));
  const Run& ours = compared.base();
  const Run& theirs = compared.now();
  const Row* found = nullptr;
  for (const Row& row : compared.comparison.rows) {
    for (const size_t i : row.now) {
      if (theirs.ops[i].handle == what || theirs.ops[i].instruction == what) found = &row;
    }
  }
  if (found == nullptr) {
    return MakeError(fmt::format("no op '{}' with time in '{}'", what, now),
                     fmt::format("xlatrace diff {} {}", ShellWord(base), ShellWord(now)));
  }
  std::string text =
      fmt::format("{}\n", report::Safe(compare::RowName(ours, theirs, *found), options.ascii));
  text += fmt::format("{} -> {}, matched by {}\n", Duration(static_cast<double>(found->base_ns)),
                      Duration(static_cast<double>(found->now_ns)), Text(found->level));
  for (const compare::Cause& cause : found->causes) {
    text += fmt::format("  {}{}\n", report::Safe(cause.text, options.ascii),
                        cause.certain ? "" : " (measured time)");
  }
  const auto list = [&](std::string_view side, const Run& run, const std::vector<size_t>& ops) {
    for (const size_t i : ops) {
      const Op& op = run.ops[i];
      text += fmt::format("{} {} {}  {}\n", side, op.handle,
                          report::Safe(op.instruction, options.ascii),
                          Duration(static_cast<double>(op.ns)));
      for (size_t k = 0; k < std::min<size_t>(op.kernels.size(), 3); ++k) {
        if (op.kernels[k].name != op.instruction) {
          text += fmt::format("     kernel {}\n", report::Safe(op.kernels[k].name, options.ascii));
        }
      }
    }
  };
  list("base", ours, found->base);
  list("new ", theirs, found->now);
  if (found->level == compare::Level::kFingerprint) {
    return text + "\nThe module is the same on both sides, and so is the HLO.\n";
  }
  const std::vector<std::string> a = TextOf(ours, found->base);
  const std::vector<std::string> b = TextOf(theirs, found->now);
  if (a.empty() && b.empty()) return text;
  text += "\n";
  const int half = (options.width - 3) / 2;
  for (const auto& [i, j] : Align(a, b)) {
    const std::string left = i < 0 ? "" : report::Safe(a[static_cast<size_t>(i)], options.ascii);
    const std::string right = j < 0 ? "" : report::Safe(b[static_cast<size_t>(j)], options.ascii);
    const char mark = i < 0 ? '>' : j < 0 ? '<' : ' ';
    std::string line = fmt::format("{} {} {}", FitLeft(left, half), mark, FitLeft(right, half));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

}  // namespace xlatrace::tools
