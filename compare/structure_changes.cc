// SPDX-License-Identifier: Apache-2.0
#include "compare/structure_changes.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/natural_order.h"

namespace xlatrace::compare {
namespace {

using model::Phase;

// Among programs of one function (for other shapes), the largest number.
size_t CountOf(const Run& run, Phase phase) {
  std::map<size_t, size_t> of_module;
  for (const Op& op : run.ops) {
    of_module[op.module] +=
        op.phase == phase || std::any_of(op.shares.begin(), op.shares.end(),
                                         [&](const auto& share) { return share.phase == phase; });
  }
  std::map<std::string, size_t> of_function;
  size_t count = 0;
  for (const auto& [module, n] : of_module) {
    if (module >= run.modules.size() || run.modules[module].function.empty()) {
      count += n;
    } else {
      size_t& most = of_function[run.modules[module].function];
      most = std::max(most, n);
    }
  }
  for (const auto& [function, n] : of_function) count += n;
  return count;
}

int64_t PhaseNs(const Run& run, Phase phase) {
  int64_t sum = 0;
  for (const Op& op : run.ops) {
    if (op.shares.empty()) {
      if (op.phase == phase) sum += op.ns;
      continue;
    }
    for (const OpShare& share : op.shares) {
      if (share.phase == phase) sum += share.ns;
    }
  }
  return sum;
}

std::string Plural(size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

// "layer_7" -> "layer_*": common part of numbered siblings.
std::string Pattern(std::string_view component) {
  std::string text;
  for (const char c : component) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) {
      text += c;
    } else if (text.empty() || text.back() != '*') {
      text += '*';
    }
  }
  return text;
}

std::vector<std::string> Prefixes(std::string_view path) {
  std::vector<std::string> prefixes;
  for (size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    prefixes.emplace_back(path.substr(0, at));
  }
  prefixes.emplace_back(path);
  return prefixes;
}

// Another batch changes all rows and is one change.
void AddInputs(const Comparison& comparison, Structure& structure) {
  if (comparison.identity.other_inputs.empty()) return;
  Change change;
  change.id = "inputs";
  change.delta_ns = comparison.delta();
  change.text =
      fmt::format("the program takes other arguments ({})", comparison.identity.other_inputs);
  structure.changes.push_back(std::move(change));
}

// Layers that only one side has, with siblings on the other side.
void AddLayers(const Run& base, const Run& now, Structure& structure) {
  for (const bool more : {true, false}) {
    const Run& with = more ? now : base;
    const Run& without = more ? base : now;
    std::set<std::string> known, patterns;
    const auto each = [](const Run& run, const auto& use) {
      for (const Op& op : run.ops) {
        if (op.shares.empty() && !op.layer.empty()) use(op.layer, op.ns);
        for (const OpShare& share : op.shares) {
          if (!share.layer.empty()) use(share.layer, share.ns);
        }
      }
    };
    each(without, [&](const std::string& layer, int64_t) {
      for (const std::string& prefix : Prefixes(layer)) {
        known.insert(prefix);
        patterns.insert(Pattern(prefix));
      }
    });
    std::map<std::string, int64_t> added;
    each(with, [&](const std::string& layer, int64_t ns) {
      for (const std::string& prefix : Prefixes(layer)) {
        if (known.contains(prefix)) continue;
        const std::string pattern = Pattern(prefix);
        if (pattern.find('*') != std::string::npos && patterns.contains(pattern)) {
          added[prefix] += ns;
        }
        return;
      }
    });
    if (added.empty()) continue;
    Change change;
    change.id = "layers";
    int64_t ns = 0;
    for (const auto& [layer, time] : added) ns += time;
    change.delta_ns = more ? ns : -ns;
    const auto [first, last] = std::minmax_element(
        added.begin(), added.end(),
        [](const auto& a, const auto& b) { return NaturalLess(a.first, b.first); });
    std::string names = first->first;
    if (added.size() > 1) names += fmt::format(" to {}", last->first);
    change.text =
        fmt::format("{} {}: {}", Plural(added.size(), "layer"), more ? "more" : "fewer", names);
    for (const auto& [layer, time] : added) structure.layers.insert(layer);
    structure.changes.push_back(std::move(change));
  }
}

void AddRecompute(const Run& base, const Run& now, Structure& structure) {
  const size_t ours = CountOf(base, Phase::kRecompute);
  const size_t theirs = CountOf(now, Phase::kRecompute);
  // Small differences come from other fusions of the same work.
  const size_t more = std::max(ours, theirs);
  if (more == 0 || 4 * (more - std::min(ours, theirs)) < more) return;
  structure.recompute = true;
  Change change;
  change.id = "recompute";
  change.delta_ns = PhaseNs(now, Phase::kRecompute) - PhaseNs(base, Phase::kRecompute);
  if (ours == 0) {
    change.text = fmt::format(
        "recomputation (remat) appeared: {} of the forward pass run again in the backward pass",
        Plural(theirs, "operation"));
  } else if (theirs == 0) {
    change.text = fmt::format("recomputation (remat) is gone: {} no longer run twice",
                              Plural(ours, "operation"));
  } else {
    change.text = fmt::format(
        "recomputation (remat): {} of the forward pass run again in the backward pass instead of "
        "{}",
        Plural(theirs, "operation"), ours);
  }
  structure.changes.push_back(std::move(change));
}

}  // namespace

bool Structure::InAddedLayer(const Op& op) const {
  const std::vector<std::string> prefixes = Prefixes(op.layer);
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return layers.contains(prefix); });
}

Structure StructureChanges(const Run& base, const Run& now, const Comparison& comparison) {
  Structure structure;
  AddInputs(comparison, structure);
  AddLayers(base, now, structure);
  AddRecompute(base, now, structure);
  return structure;
}

}  // namespace xlatrace::compare
