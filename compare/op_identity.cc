// SPDX-License-Identifier: Apache-2.0
#include "compare/op_identity.h"

#include <unordered_map>

#include <fmt/format.h>

#include "analysis/op_name.h"
#include "base/hash.h"
#include "base/text.h"
#include "hlo/op_category.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::compare {
namespace {

using model::HloModule;
using model::Instruction;

struct NameHashes {
  uint64_t scope = 0, name = 0, leaf = 0, layer = 0;
};

std::string ScopePath(const analysis::OpName& name) {
  std::string path;
  for (const std::string& scope : name.scopes) {
    path += scope;
    path += '/';
  }
  return path + name.leaf;
}

NameHashes HashesOf(std::string_view op_name) {
  if (op_name.empty()) return {};
  const analysis::OpName name = analysis::ParseOpName(op_name);
  if (name.kind == analysis::OpName::Kind::kEmpty) return {};
  NameHashes hashes;
  hashes.leaf = Hash(name.leaf, 1);
  if (!name.scopes.empty()) hashes.layer = Hash(fmt::format("{}", fmt::join(name.scopes, "/")), 9);
  hashes.scope = Hash(ScopePath(name), 2);
  const uint64_t marks = (name.transpose || name.gradient ? 1u : 0u) | (name.rematted ? 2u : 0u);
  hashes.name = Mix(hashes.scope, marks);
  return hashes;
}

}  // namespace

namespace {

void AddLeaf(const hlo::ArrayShape& leaf, OpIdentity& identity) {
  identity.shape = Mix(identity.shape, Hash(leaf.type, 5));
  identity.dims = Mix(identity.dims, 1);
  for (const int64_t size : leaf.dims) {
    if (size == 1) continue;
    identity.shape = Mix(identity.shape, static_cast<uint64_t>(size));
    identity.dims = Mix(identity.dims, static_cast<uint64_t>(size));
  }
}

}  // namespace

void SetShape(const hlo::ArrayShape& shape, OpIdentity& identity) {
  identity.shape = identity.dims = 3;
  AddLeaf(shape, identity);
}

void SetShape(std::string_view shape, OpIdentity& identity) {
  identity.shape = identity.dims = 3;
  for (const hlo::ArrayShape& leaf : hlo::Leaves(shape)) AddLeaf(leaf, identity);
}

std::string_view WorkOf(const HloModule& module, const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "custom-call") {
    switch (hlo::KindOf(module, instruction)) {
      case model::OpKind::kGemm:
        return "dot";
      case model::OpKind::kConvolution:
        return "convolution";
      default:
        return instruction.custom_call_target.empty() ? opcode : instruction.custom_call_target;
    }
  }
  return hlo::BaseOpcode(opcode);
}

std::vector<OpIdentity> IdentitiesOf(const HloModule& module) {
  std::unordered_map<std::string_view, NameHashes> names;
  std::unordered_map<std::string_view, std::pair<uint64_t, uint64_t>> shapes;
  std::vector<OpIdentity> identities(module.instructions.size());
  for (size_t i = 0; i < identities.size(); ++i) {
    const Instruction& instruction = module.instructions[i];
    OpIdentity& identity = identities[i];
    identity.work = Hash(WorkOf(module, instruction), 4);
    const auto [shape, new_shape] = shapes.try_emplace(instruction.shape);
    if (new_shape) {
      SetShape(instruction.shape, identity);
      shape->second = {identity.shape, identity.dims};
    }
    identity.shape = shape->second.first;
    identity.dims = shape->second.second;
    const auto [name, new_name] = names.try_emplace(instruction.metadata.op_name);
    if (new_name) name->second = HashesOf(instruction.metadata.op_name);
    identity.scope = name->second.scope;
    identity.name = name->second.name;
    identity.leaf = name->second.leaf;
    identity.layer = name->second.layer;
    if (!instruction.metadata.source_file.empty() && instruction.metadata.source_line > 0) {
      identity.source = Mix(Hash(LastPart(instruction.metadata.source_file), 6),
                            static_cast<uint64_t>(instruction.metadata.source_line));
    }
    if (instruction.opcode == "constant") {
      identity.literal = Hash(module.LiteralOf(instruction), 7);
    } else if (instruction.opcode == "parameter") {
      identity.literal = static_cast<uint64_t>(instruction.parameter_number) + 1;
    } else if (instruction.opcode == "get-tuple-element") {
      identity.literal = static_cast<uint64_t>(instruction.tuple_index) + 1;
    }
  }
  return identities;
}

std::string_view LeafOf(std::string_view op_name) {
  const size_t parameters = op_name.find('[');
  if (parameters != op_name.npos && op_name.find('=', parameters) != op_name.npos) {
    op_name = op_name.substr(0, parameters);
  }
  const size_t slash = op_name.rfind('/');
  return slash == op_name.npos ? op_name : op_name.substr(slash + 1);
}

std::string CanonicalOpName(std::string_view op_name) {
  if (op_name.empty()) return {};
  const analysis::OpName name = analysis::ParseOpName(op_name);
  std::string text;
  if (name.rematted) text += "recomputed ";
  if (name.transpose || name.gradient) text += "gradient of ";
  return text + ScopePath(name);
}

}  // namespace xlatrace::compare
