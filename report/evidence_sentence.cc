// SPDX-License-Identifier: Apache-2.0
#include "report/evidence_sentence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/evidence_roles.h"
#include "base/number_format.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

using nlohmann::json;

// If nine of ten instructions have the same kind, the text uses the word of this kind.
constexpr double kOneKindMinShare = 0.9;

std::string TextOf(const json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool IsTime(const json& entry) {
  return entry.is_object() && entry.contains("value") && entry["value"].is_number() &&
         TextOf(entry, "unit") == "ns";
}

const OpFigure* OpOf(const RunView& view, std::string_view handle) {
  const auto found = std::find_if(view.ops.begin(), view.ops.end(),
                                  [&](const OpFigure& op) { return op.handle == handle; });
  return handle.empty() || found == view.ops.end() ? nullptr : &*found;
}

std::string Plural(std::string_view word) {
  if (word.ends_with("y")) return fmt::format("{}ies", word.substr(0, word.size() - 1));
  return fmt::format("{}s", word);
}

// "scatter-adds" if all instructions are of one kind, because XLA's helpers of a scatter-add share
// its op_name; else "instructions". A copy or a collective gets its own word. Its op_name is that
// of its consumer, and "4 adds" would be four ops that did not take the time.
std::string Called(const RunView& view, const std::vector<std::string>& handles) {
  std::map<std::string, size_t, std::less<>> count, kinds;
  std::map<std::string_view, const OpFigure*> ops;
  for (const OpFigure& op : view.ops) ops.emplace(op.handle, &op);
  for (const std::string& handle : handles) {
    const auto op = ops.find(handle);
    if (op == ops.end()) continue;
    ++kinds[op->second->op_kind];
    std::string_view tail = OpNameTail(op->second->op_name);
    tail = tail.substr(0, tail.find('['));
    ++count[std::string(tail)];
  }
  for (const std::string_view kind : {"copy", "collective"}) {
    const auto found = kinds.find(kind);
    if (found != kinds.end() && found->second == handles.size()) return Plural(kind);
  }
  const bool one_kind = std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
    return static_cast<double>(kind.second) >=
           kOneKindMinShare * static_cast<double>(handles.size());
  });
  for (const auto& [word, n] : count) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || c == '-';
    });
    if (plain && static_cast<double>(n) >= kOneKindMinShare * static_cast<double>(handles.size())) {
      return one_kind ? Plural(word) : "instructions";
    }
  }
  return "instructions";
}

// "runs at 0.06% of the memory bandwidth"; empty if the rate is not known.
std::string Reached(const OpFigure& op) {
  if (!op.peak_pct) return {};
  const std::string_view of = op.bound_by == "memory"    ? "the memory bandwidth"
                              : op.bound_by == "compute" ? "the device's compute rate"
                                                         : "";
  if (op.bound_by == "latency") {
    return fmt::format("runs at {}% of its roof, bound by latency", PeakPercent(*op.peak_pct));
  }
  if (of.empty()) return {};
  return fmt::format("runs at {}% of {}", PeakPercent(*op.peak_pct), of);
}

// Times are means over devices, but a step ends with the slowest device. The replayed step may
// therefore get shorter by more than these times.
std::string More(const RunView& view, const json& evidence, double all,
                 std::optional<int64_t> saves) {
  const bool more = saves && view.basis.steady && view.device_count > 1 &&
                    static_cast<double>(*saves) > 1.02 * all;
  if (!more) return {};
  for (const json& item : evidence) {
    const std::string device = TextOf(item, "device");
    if (device.empty() || !IsTime(item)) continue;
    return fmt::format(", {} on {}: a step ends with the slowest device",
                       Duration(item["value"].get<double>()), device);
  }
  return fmt::format(", the mean of {} devices: a step ends with the slowest of them",
                     view.device_count);
}

// " in 8 calls" for an op that runs several times per step, because its time is the sum.
std::string InCalls(const RunView& view, const OpFigure& op, double ns) {
  double all = 0, calls = 0;
  // An instruction that several processes run has one op per process.
  for (const OpFigure& other : view.ops) {
    const bool same = &other == &op ||
                      (!op.fingerprint.empty() && op.module_id != other.module_id &&
                       op.instruction == other.instruction && op.fingerprint == other.fingerprint);
    all += same ? view.PerStep(other.ns) : 0;
    calls += same ? view.PerStep(other.calls) : 0;
  }
  const bool known =
      calls > 1.5 && std::abs(all - ns) < 0.02 * ns && std::abs(calls - std::round(calls)) < 0.05;
  if (!known) return {};
  return fmt::format(" in {} calls", Thousands(std::llround(calls)));
}

}  // namespace

std::string EvidenceSentence(const RunView& view, const json& evidence,
                             std::optional<int64_t> saves) {
  if (!evidence.is_array() || evidence.empty() || !IsTime(evidence[0])) return {};
  const json& first = evidence[0];
  if (TextOf(first, "role") != analysis::findings::kRoleOpsTime) return {};
  const double all = first["value"].get<double>();
  // Streams or threads side by side add up to more than a step has.
  const bool beside = 50 * view.coverage.device_ns > 51 * view.steps.busy_ns;
  const std::string_view whole = !view.basis.steady ? "the run"
                                 : beside           ? "device time in every step"
                                                    : "every step";
  std::vector<std::string> handles;
  if (first.contains("handles") && first["handles"].is_array()) {
    for (const json& handle : first["handles"]) {
      if (handle.is_string()) handles.push_back(handle.get<std::string>());
    }
  }
  // If several processes run the same instructions, each process has a handle for them.
  const auto given = first.find("instructions");
  const size_t count =
      given != first.end() && given->is_number_unsigned() ? given->get<size_t>() : handles.size();
  if (count < 2) {
    const OpFigure* op = OpOf(view, handles.empty() ? TextOf(first, "handle") : handles.front());
    if (op == nullptr) return {};
    std::string text = fmt::format("`{}` takes {} of {}", op->instruction, Duration(all), whole);
    const std::string reached = Reached(*op);
    return (reached.empty() ? text : text + " and " + reached) + More(view, evidence, all, saves);
  }
  std::string text =
      fmt::format("{} {} take {} of {}{}", Thousands(static_cast<int64_t>(count)),
                  Called(view, handles), Duration(all), whole, More(view, evidence, all, saves));
  if (evidence.size() < 2 || !IsTime(evidence[1]) ||
      TextOf(evidence[1], "role") != analysis::findings::kRoleLargestOp) {
    return text;
  }
  const OpFigure* op = OpOf(view, TextOf(evidence[1], "handle"));
  if (op == nullptr) return text;
  const std::string reached = Reached(*op);
  const auto largest = evidence[1]["value"].get<double>();
  return text + fmt::format("; the largest, `{}`, takes {}{}{}{}", op->instruction,
                            Duration(largest), InCalls(view, *op, largest),
                            reached.empty() ? "" : " and ", reached);
}

}  // namespace xlatrace::report
