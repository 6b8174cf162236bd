// SPDX-License-Identifier: Apache-2.0
#include "hlo/cost/fusion_work.h"

#include <algorithm>
#include <utility>

#include "hlo/cost/weights.h"
#include "hlo/duplicated_work.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"
#include "model/joined_names.h"

namespace xlatrace::hlo {
namespace {

using model::Computation;
using model::HloModule;
using model::Instruction;
using model::kNoIndex;

// Bodies nest two or three deep in real modules; a hand-made one may call itself.
constexpr int kMaxFusedBodyDepth = 16;
constexpr int kMaxFusedComputations = 10'000;

}  // namespace

// Through a body and the bodies inside it.
class FusionWork::Walk {
 public:
  struct Part {
    uint32_t instruction;
    double cost;
  };

  Walk(const HloModule& module, model::DeviceKind device) : module_(module), device_(device) {}

  void Open(uint32_t computation, bool leaves, int depth) {
    if (computation >= module_.computations.size() || depth > kMaxFusedBodyDepth) return;
    if (computations_left_-- <= 0) return;
    const Computation& body = module_.computations[computation];
    const std::vector<bool> leaving = FindLeaving(body, leaves);
    for (uint32_t i = 0; i < body.instruction_count; ++i) {
      const uint32_t index = body.first_instruction + i;
      const Instruction& instruction = module_.instructions[index];
      const OpWork work = InfoOf(instruction.opcode).work;
      if (work == OpWork::kCall && instruction.opcode != "custom-call") {
        for (const uint32_t callee : module_.CalledComputations(instruction)) {
          Open(callee, leaving[i], depth + 1);
        }
      } else if (IsView(instruction.opcode)) {
        if (leaving[i] && !IsTuple(instruction.shape)) {
          results_.push_back({index, static_cast<double>(ByteSize(instruction.shape))});
        }
      } else if (work != OpWork::kNone && (leaving[i] || !Rearranges(instruction))) {
        work_.push_back({index, WeightInFusion(module_, instruction, device_)});
      }
    }
  }

  // Instructions that take time, in the order of the module.
  const std::vector<Part>& parts() const { return work_.empty() ? results_ : work_; }

 private:
  static bool Rearranges(const Instruction& instruction) {
    return instruction.opcode == "transpose" || instruction.opcode == "copy";
  }

  // Results of the body, and nodes that reach them through views only.
  std::vector<bool> FindLeaving(const Computation& body, bool leaves) const {
    std::vector<bool> leaving(body.instruction_count, false);
    const auto mark = [&](uint32_t instruction) {
      const uint32_t at = instruction - body.first_instruction;  // Too large below the first.
      if (at < leaving.size()) leaving[at] = true;
    };
    if (leaves) mark(body.root);
    for (uint32_t i = body.instruction_count; i-- > 0;) {
      const Instruction& instruction = module_.instructions[body.first_instruction + i];
      if (!leaving[i] || !IsView(instruction.opcode)) continue;
      for (const uint32_t operand : module_.Operands(instruction)) mark(operand);
    }
    return leaving;
  }

  const HloModule& module_;
  model::DeviceKind device_;
  std::vector<Part> work_;
  std::vector<Part> results_;                      // Views that write results.
  int computations_left_ = kMaxFusedComputations;  // A module may call itself in many ways.
};

FusionWork::FusionWork(const HloModule& module, model::DeviceKind device)
    : module_(module),
      device_(device),
      callers_(module.computations.size(), 0),
      duplicated_(FindDuplicatedWork(module)) {
  for (const uint32_t callee : module.called_pool) {
    if (callee < callers_.size()) ++callers_[callee];
  }
}

FusionWork::Key FusionWork::KeyOf(uint32_t instruction) const {
  const model::OpMetadata& m = module_.instructions[instruction].metadata;
  return {model::FirstOfJoined(m.op_name), m.op_type, m.source_file, m.source_line, m.stack_frame};
}

FusionWork::Body FusionWork::ReadBody(uint32_t fusion) const {
  const Instruction& whole = module_.instructions[fusion];
  Walk walk(module_, device_);
  for (const uint32_t callee : module_.CalledComputations(whole)) walk.Open(callee, true, 0);

  Body body;
  std::vector<Op> all;
  std::unordered_map<uint32_t, uint32_t>
      read;  // Reads through views, of nodes that take time themselves.
  for (const Walk::Part& part : walk.parts()) {
    read.emplace(part.instruction, part.instruction);
    const double duplicated = duplicated_[part.instruction] ? part.cost : 0;
    if (module_.instructions[part.instruction].metadata.op_name.empty()) {
      body.has_unnamed = true;
      body.unnamed.cost += part.cost;
      body.unnamed.duplicated_cost += duplicated;
    } else {
      const FusedOp fused = {part.instruction, part.cost, duplicated};
      all.push_back({KeyOf(part.instruction), fused, part.cost});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Op& a, const Op& b) { return a.key < b.key; });
  for (Op& op : all) {
    if (body.ops.empty() || body.ops.back().key != op.key) {
      body.ops.push_back(op);
      continue;
    }
    Op& same = body.ops.back();
    same.fused.cost += op.fused.cost;
    same.fused.duplicated_cost += op.fused.duplicated_cost;
    if (op.largest <= same.largest) continue;
    same.largest = op.largest;
    same.fused.instruction = op.fused.instruction;
  }
  for (const uint32_t callee : module_.CalledComputations(whole)) {
    if (callee >= module_.computations.size()) continue;
    const Computation& computation = module_.computations[callee];
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const uint32_t index = computation.first_instruction + i;
      const Instruction& view = module_.instructions[index];
      const auto operands = module_.Operands(view);
      if (read.contains(index) || operands.empty()) continue;
      const auto source = read.find(operands.front());
      if (source == read.end()) continue;
      read.emplace(index, source->second);
      body.read[model::FirstOfJoined(view.metadata.op_name)] = source->second;
    }
  }
  return body;
}

const FusionWork::Body& FusionWork::BodyOf(uint32_t fusion) {
  const auto called = module_.CalledComputations(module_.instructions[fusion]);
  if (called.size() == 1 && called[0] < callers_.size() && callers_[called[0]] > 1) {
    const auto known = bodies_.find(called[0]);
    if (known != bodies_.end()) return known->second;
    return bodies_.emplace(called[0], ReadBody(fusion)).first->second;
  }
  return last_ = ReadBody(fusion);
}

// Same name and line, else the costliest with the name.
std::vector<FusionWork::Op>::iterator FusionWork::FindNamed(std::vector<Op>& ops, const Key& own) {
  auto named = ops.end();
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    if (op->key == own) return op;
    if (std::get<0>(op->key) != std::get<0>(own)) continue;
    if (named == ops.end() || op->fused.cost > named->fused.cost) named = op;
  }
  return named;
}

std::vector<FusedOp> FusionWork::OpsOf(uint32_t fusion) { return LabelFirst(fusion, false); }

std::vector<FusedOp> FusionWork::OwnOpsOf(uint32_t fusion) { return LabelFirst(fusion, true); }

std::vector<FusedOp> FusionWork::LabelFirst(uint32_t fusion, bool only_own) {
  const Body& body = BodyOf(fusion);
  std::vector<Op> ops = body.ops;
  const Key own = KeyOf(fusion);
  const bool has_own = !std::get<0>(own).empty();
  if (body.has_unnamed && has_own) {
    const auto same =
        std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.key == own; });
    if (same != ops.end()) {
      same->fused.cost += body.unnamed.cost;
      same->fused.duplicated_cost += body.unnamed.duplicated_cost;
    } else {
      FusedOp unnamed = body.unnamed;
      unnamed.instruction = fusion;
      ops.push_back({own, unnamed, unnamed.cost});
    }
  }
  if (only_own) {
    std::erase_if(ops, [](const Op& op) {
      return op.fused.cost > 0 && op.fused.duplicated_cost >= op.fused.cost;
    });
  }
  if (ops.empty()) return {};
  std::sort(ops.begin(), ops.end(), [](const Op& a, const Op& b) {
    return std::tie(b.fused.cost, a.fused.instruction) <
           std::tie(a.fused.cost, b.fused.instruction);
  });
  auto label = has_own ? FindNamed(ops, own) : ops.begin();
  if (label == ops.end()) {
    const auto read = body.read.find(std::get<0>(own));
    label = read == body.read.end() ? ops.begin() : FindNamed(ops, KeyOf(read->second));
  }
  const double most = ops.front().fused.cost;
  const bool dominated =
      label == ops.end() || (most > 0 && most >= kDominantCost * label->fused.cost);
  if (!dominated) std::rotate(ops.begin(), label, label + 1);
  std::vector<FusedOp> result;
  result.reserve(ops.size());
  for (const Op& op : ops) result.push_back(op.fused);
  return result;
}

}  // namespace xlatrace::hlo
