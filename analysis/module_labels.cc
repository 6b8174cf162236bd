// SPDX-License-Identifier: Apache-2.0
#include "analysis/module_labels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/layer.h"
#include "analysis/module_graph.h"
#include "analysis/op_name.h"
#include "analysis/optimizer_layer.h"
#include "analysis/phase.h"
#include "analysis/phase_dataflow.h"
#include "analysis/phases/draft.h"
#include "analysis/recompute_layer.h"
#include "hlo/cost/fusion_work.h"

namespace xlatrace::analysis {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;
using model::Phase;

// The op_names of a module, complete and parsed once each.
struct Names {
  std::deque<std::string> completed;  // Owns names that were put together here.
  std::vector<OpName> parsed;
  std::vector<std::string_view> op_types;  // One example per name.
  std::vector<uint32_t> of;                // Per instruction: index into `parsed`.
};

bool IsRooted(std::string_view op_name) {
  return op_name.starts_with("jit(") || op_name.starts_with("pjit(") ||
         op_name.starts_with("pmap(") || op_name.starts_with("xla_pmap(");
}

// Prefix of names in each computation: JAX 0.7 and later names the ops of a called function
// relative to the call, which XLA completes only when it inlines.
std::vector<std::string> CallPrefixes(const HloModule& module) {
  std::vector<std::string> prefixes(module.computations.size());
  if (module.entry == kNoIndex || module.entry >= module.computations.size()) return prefixes;
  std::vector<bool> seen(module.computations.size(), false);
  std::vector<uint32_t> order = {module.entry};
  seen[module.entry] = true;
  for (size_t i = 0; i < order.size(); ++i) {
    const model::Computation& computation = module.computations[order[i]];
    for (const Instruction& instruction : module.InstructionsOf(computation)) {
      for (const uint32_t called : module.CalledComputations(instruction)) {
        if (called >= seen.size() || seen[called]) continue;
        seen[called] = true;
        order.push_back(called);
        prefixes[called] = prefixes[order[i]];
        if (instruction.opcode != "call") continue;
        const std::string_view name = instruction.metadata.op_name;
        if (IsRooted(name)) {
          prefixes[called] = std::string(name) + "/";
        } else if (!prefixes[called].empty() && !name.empty() && prefixes[called].size() < 4096) {
          prefixes[called] += std::string(name) + "/";
        }
      }
    }
  }
  return prefixes;
}

Names ReadNames(const HloModule& module) {
  Names names;
  const std::vector<std::string> prefixes = CallPrefixes(module);
  std::unordered_map<std::string_view, uint32_t> numbers;
  names.of.reserve(module.instructions.size());
  for (const Instruction& instruction : module.instructions) {
    std::string_view op_name = instruction.metadata.op_name;
    const bool in_call =
        instruction.computation < prefixes.size() && !prefixes[instruction.computation].empty();
    if (in_call && !op_name.empty() && !IsRooted(op_name) && instruction.opcode != "parameter") {
      names.completed.push_back(prefixes[instruction.computation] + std::string(op_name));
      op_name = names.completed.back();
    }
    const auto [at, is_new] =
        numbers.try_emplace(op_name, static_cast<uint32_t>(names.parsed.size()));
    if (is_new) {
      names.parsed.push_back(ParseOpName(op_name));
      names.op_types.push_back(instruction.metadata.op_type);
    }
    names.of.push_back(at->second);
  }
  return names;
}

std::vector<NodeFacts> GatherFacts(const HloModule& module, const Names& names,
                                   const ModuleStyle& style) {
  std::vector<NodeFacts> facts;
  facts.reserve(module.instructions.size());
  std::vector<SourceHint> by_frame(module.stack_frames.size() + 1);
  for (uint32_t frame = 1; frame <= module.stack_frames.size(); ++frame) {
    model::OpMetadata metadata;
    metadata.stack_frame = frame;
    by_frame[frame] = HintFromSource(module, metadata);
  }
  for (size_t i = 0; i < module.instructions.size(); ++i) {
    const model::OpMetadata& metadata = module.instructions[i].metadata;
    NodeFacts fact;
    fact.name = &names.parsed[names.of[i]];
    fact.source = metadata.stack_frame > 0 && metadata.stack_frame < by_frame.size()
                      ? by_frame[metadata.stack_frame]
                      : HintFromSource(module, metadata);
    fact.verdict = PhaseByName(*fact.name, metadata.op_type, style, fact.source);
    facts.push_back(fact);
  }
  return facts;
}

class Layers {
 public:
  Layers() { Number(""); }

  uint32_t Number(const std::string& layer) {
    const auto [at, is_new] = numbers_.try_emplace(layer, static_cast<uint32_t>(layers_.size()));
    if (is_new) layers_.push_back(layer);
    return at->second;
  }

  const std::string& At(uint32_t number) const { return layers_[number]; }
  std::vector<std::string> Take() { return std::move(layers_); }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> layers_;
};

// Layer of every instruction from the name that decided its phase.
std::vector<uint32_t> NameLayers(const HloModule& module, const Names& names,
                                 const ModuleStyle& style, const std::vector<NodePhase>& phases,
                                 Layers& layers) {
  const LayerFinder finder(style, names.parsed);
  std::map<std::pair<uint32_t, Phase>, uint32_t> known;
  std::vector<uint32_t> numbers(module.instructions.size(), 0);
  for (size_t i = 0; i < module.instructions.size(); ++i) {
    const uint32_t own = names.of[i];
    const bool has_own = !names.parsed[own].scopes.empty();
    const uint32_t origin = phases[i].origin;
    if (!has_own && origin == kNoIndex) continue;
    const uint32_t from = has_own ? static_cast<uint32_t>(i) : origin;
    const auto [at, is_new] = known.try_emplace({names.of[from], phases[i].phase}, 0);
    if (is_new) {
      at->second = layers.Number(finder.LayerOf(names.parsed[names.of[from]],
                                                module.instructions[from].metadata.op_type,
                                                phases[i].phase));
    }
    numbers[i] = at->second;
  }
  return numbers;
}

// Bodies of scans and of calls that XLA cloned keep names relative to a caller that no longer
// exists ("layers/mlp"). If exactly one layer of the module has this ending, it is that layer.
std::vector<uint32_t> CompleteLayers(const HloModule& module, std::vector<uint32_t> numbers,
                                     Layers& layers) {
  std::set<std::string> whole;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!IsRooted(module.instructions[i].metadata.op_name)) continue;
    std::string layer = layers.At(numbers[i]);
    while (!layer.empty() && whole.insert(layer).second) {
      const size_t slash = layer.find_last_of('/');
      layer.resize(slash == std::string::npos ? 0 : slash);
    }
  }
  // Read backwards, layers with the same ending are neighbours.
  std::set<std::string> backwards;
  for (const std::string& layer : whole) backwards.emplace(layer.rbegin(), layer.rend());
  std::map<uint32_t, uint32_t> meant;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    const auto [at, is_new] = meant.try_emplace(numbers[i], numbers[i]);
    // A path of several components is also completed where a name that lost its head is rooted.
    const std::string& own = layers.At(numbers[i]);
    if (is_new && (!whole.contains(own) || own.find('/') != std::string::npos)) {
      const std::string ending = std::string(own.rbegin(), own.rend()) + "/";
      const auto found = backwards.lower_bound(ending);
      const auto ends = [&](auto layer) {
        return layer != backwards.end() && layer->starts_with(ending);
      };
      if (ends(found) && !ends(std::next(found))) {
        at->second = layers.Number(std::string(found->rbegin(), found->rend()));
      }
    }
    numbers[i] = at->second;
  }
  return numbers;
}

// A fusion has the label of one op inside it. An op that fusion copied into it has its phase.
class FusionLabels {
 public:
  FusionLabels(const HloModule& module, std::vector<ModuleLabels::Label>& labels)
      : module_(module), labels_(labels), work_(module) {}

  void Apply() {
    for (uint32_t i = 0; i < module_.instructions.size(); ++i) {
      if (module_.instructions[i].opcode == "fusion") Label(i);
    }
    // Callers come last in a module, so that a fusion is seen before those inside it.
    again_.assign(module_.computations.size(), false);
    for (uint32_t i = static_cast<uint32_t>(module_.instructions.size()); i-- > 0;) {
      if (module_.instructions[i].opcode == "fusion") PassOnPhase(i);
    }
  }

 private:
  void Label(uint32_t fusion) {
    const std::vector<hlo::FusedOp> ops = work_.OpsOf(fusion);
    if (ops.empty()) return;
    const auto place = [&](const hlo::FusedOp& op) {
      return std::pair(labels_[op.instruction].phase, labels_[op.instruction].layer);
    };
    const bool mixed = std::any_of(ops.begin(), ops.end(), [&](const hlo::FusedOp& op) {
      return op.cost > 0 && place(op) != place(ops.front());
    });
    const std::vector<hlo::FusedOp> own = work_.OwnOpsOf(fusion);
    const hlo::FusedOp& decides = own.empty() ? ops.front() : own.front();
    labels_[fusion] = {place(decides).first, place(ops.front()).second, mixed};
  }

  void PassOnPhase(uint32_t fusion) {
    const Instruction& whole = module_.instructions[fusion];
    const bool again = phases::IsRematerialized(whole.name) || again_[whole.computation];
    if (again) labels_[fusion].phase = Phase::kRecompute;
    for (const uint32_t called : module_.CalledComputations(whole)) {
      if (called >= module_.computations.size()) continue;
      if (again) again_[called] = true;
      const model::Computation& body = module_.computations[called];
      for (uint32_t i = 0; i < body.instruction_count; ++i) {
        const uint32_t node = body.first_instruction + i;
        if (again || work_.duplicated()[node]) labels_[node].phase = labels_[fusion].phase;
      }
    }
  }

  const HloModule& module_;
  std::vector<ModuleLabels::Label>& labels_;
  hlo::FusionWork work_;
  std::vector<bool> again_;  // By computation: inside a fusion that XLA's pass copied.
};

}  // namespace

ModuleLabels LabelModule(const HloModule& module, model::ModuleRole role) {
  const Names names = ReadNames(module);
  const ModuleStyle style = StyleOf(module.name, names.parsed, names.op_types);
  const std::vector<NodeFacts> facts = GatherFacts(module, names, style);
  const ModuleGraph graph(module);
  const std::vector<NodePhase> phases = DecidePhases(graph, facts, style, role);

  Layers layers;
  std::vector<uint32_t> by_name = NameLayers(module, names, style, phases, layers);
  if (style.framework == Framework::kJax) {
    by_name = CompleteLayers(module, std::move(by_name), layers);
  }
  if (style.framework == Framework::kTensorFlow) {
    by_name = MapRecomputedLayers(graph, phases, std::move(by_name));
  }
  const std::vector<uint32_t> layer_of = FillOptimizerLayers(graph, phases, std::move(by_name));

  ModuleLabels result;
  result.instructions.resize(module.instructions.size());
  for (size_t i = 0; i < module.instructions.size(); ++i) {
    result.instructions[i] = {phases[i].phase, layer_of[i], false};
    result.has_gradient |= phases[i].phase == Phase::kBackward;
  }
  FusionLabels(module, result.instructions).Apply();
  result.layers = layers.Take();
  LayerFolder folder;
  for (const std::string& layer : result.layers) folder.Add(layer);
  folder.Finish();
  for (const std::string& layer : result.layers) result.layer_groups.push_back(folder.Fold(layer));
  return result;
}

}  // namespace xlatrace::analysis
