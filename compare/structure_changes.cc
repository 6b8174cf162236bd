// SPDX-License-Identifier: Apache-2.0
#include "compare/structure_changes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/natural_order.h"
#include "base/number_format.h"
#include "hlo/backend_config.h"

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

// Loops with a known number of iterations.
struct Loops {
  int64_t count = 0, iterations = 0;
  size_t instructions = 0;  // All of the program.
};

Loops LoopsOf(const model::HloModule& module) {
  Loops loops;
  loops.instructions = module.instructions.size();
  for (const model::Instruction& instruction : module.instructions) {
    if (instruction.opcode != "while") continue;
    if (const auto trips = hlo::TripCount(module, instruction)) {
      ++loops.count;
      loops.iterations += *trips;
    }
  }
  return loops;
}

std::string LoopText(const Loops& loops) {
  return loops.count == 0 ? std::string("none")
                          : fmt::format("{} with {} iterations", loops.count, loops.iterations);
}

// Equal FLOPs per call: the loops are another form of the same work.
bool SameWork(const Run& base, const Run& now) {
  constexpr double kMaxOtherWork = 0.1;
  return base.call_flops && now.call_flops &&
         std::abs(*base.call_flops - *now.call_flops) <=
             kMaxOtherWork * std::max(*base.call_flops, *now.call_flops);
}

// Adds changes of the matched main programs other than instructions: donated arguments and loops.
void AddPrograms(const Run& base, const Run& now, const Comparison& comparison,
                 Structure& structure) {
  Loops before, after;
  for (const auto& [ours, theirs] : comparison.modules) {
    const Module& old_module = base.modules[ours];
    const Module& new_module = now.modules[theirs];
    if (new_module.role != "main" || !old_module.hlo || !new_module.hlo) continue;
    const size_t donated = old_module.hlo->aliased_parameters.size();
    const size_t donates = new_module.hlo->aliased_parameters.size();
    if (old_module.function == new_module.function && donated != donates &&
        (donated == 0 || donates == 0)) {
      Change change;
      change.id = "donation";
      change.text = fmt::format("donation is {}: {} of {} {} share memory with a result",
                                donates == 0 ? "removed" : "added",
                                Plural(std::max(donated, donates), "argument"),
                                new_module.function.empty() ? new_module.name : new_module.function,
                                donates == 0 ? "no longer" : "now");
      if (base.peak_memory_bytes && now.peak_memory_bytes) {
        change.text += fmt::format(", peak memory {} -> {}",
                                   Bytes(static_cast<double>(*base.peak_memory_bytes)),
                                   Bytes(static_cast<double>(*now.peak_memory_bytes)));
      }
      structure.changes.push_back(std::move(change));
    }
    const Loops of_old = LoopsOf(*old_module.hlo);
    const Loops of_new = LoopsOf(*new_module.hlo);
    before.count += of_old.count;
    before.iterations += of_old.iterations;
    after.count += of_new.count;
    after.iterations += of_new.iterations;
    before.instructions += of_old.instructions;
    after.instructions += of_new.instructions;
  }
  if (before.iterations == after.iterations || !SameWork(base, now)) return;
  const bool fewer = after.iterations < before.iterations;
  const Loops& more_loops = fewer ? before : after;
  const Loops& less_loops = fewer ? after : before;
  // Copies of the body are more instructions. Without them, the loop does less.
  constexpr double kMinCopies = 1.02;
  if (static_cast<double>(less_loops.instructions) <
      kMinCopies * static_cast<double>(more_loops.instructions)) {
    return;
  }
  Change change;
  change.id = "unroll";
  structure.unrolled = true;
  change.text = fmt::format(
      "loops are {}{}: {} before, {} now, for the same work", fewer ? "unrolled" : "rolled",
      less_loops.iterations > 0
          ? fmt::format(" by {}", more_loops.iterations / less_loops.iterations)
          : std::string(),
      LoopText(before), LoopText(after));
  structure.changes.push_back(std::move(change));
}

// Functions that run as programs of their own and whose names only one side has: work moved out of
// a program, or into it. One name for another is a renamed function.
void AddFunctions(const Run& base, const Run& now, Structure& structure) {
  constexpr double kMinFunctionShare = 0.01;
  const auto functions = [](const Run& run) {
    std::map<std::string, int64_t> ns;
    for (const Module& module : run.modules) {
      if (module.role != "init" && !module.function.empty()) ns[module.function] += module.ns;
    }
    std::erase_if(ns, [&](const auto& one) {
      return static_cast<double>(one.second) <
             kMinFunctionShare * static_cast<double>(run.device_ns * run.step_devices);
    });
    return ns;
  };
  const std::map<std::string, int64_t> ours = functions(base);
  const std::map<std::string, int64_t> theirs = functions(now);
  const auto only = [](const auto& from, const auto& other) {
    std::vector<std::string> names;
    for (const auto& [name, ns] : from) {
      if (!other.contains(name)) names.push_back(name);
    }
    return names;
  };
  const std::vector<std::string> lost = only(ours, theirs);
  const std::vector<std::string> added = only(theirs, ours);
  if (lost.empty() || added.empty() || lost.size() == added.size()) return;
  Change change;
  change.id = "programs";
  change.text = fmt::format("{} ({}) became {} ({})", Plural(lost.size(), "program"),
                            fmt::join(lost, ", "), added.size(), fmt::join(added, ", "));
  structure.changes.push_back(std::move(change));
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
  AddPrograms(base, now, comparison, structure);
  AddFunctions(base, now, structure);
  // Copies of one loop body are more operations, and the same work.
  if (!structure.unrolled) AddRecompute(base, now, structure);
  return structure;
}

}  // namespace xlatrace::compare
