// SPDX-License-Identifier: Apache-2.0

// Which instruction of a module depends on which, through fusions, calls, loops and tuples.
//
// A node is an instruction index of the module. Edges go through called computations. A fusion
// depends on the root of its body, and a parameter of the body on the operand of the caller. An
// element of a tuple depends only on the instruction that computed it, also through loops and
// combined collectives. Edges between iterations of a loop are left out, so "depends on" means "in
// one pass of the program". With such edges, all work in a training loop inside a while would
// depend on all other work. Instructions of applied computations (the `add` of a reduce) have no
// edges.
//
// Thread-safety: immutable after construction. Linear in instructions and operands.

#ifndef XLATRACE_ANALYSIS_MODULE_GRAPH_H_
#define XLATRACE_ANALYSIS_MODULE_GRAPH_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::analysis {

class ModuleGraph {
 public:
  explicit ModuleGraph(const model::HloModule& module);

  size_t size() const { return module_.instructions.size(); }
  const model::HloModule& module() const { return module_; }

  std::span<const uint32_t> Operands(uint32_t node) const { return Row(operands_, node); }
  std::span<const uint32_t> Users(uint32_t node) const { return Row(users_, node); }

  // Instructions that call a computation, ascending.
  std::span<const uint32_t> Callers(uint32_t computation) const {
    return Row(callers_, computation);
  }
  // A computation that is applied per element or per pair (reduce, sort, scatter, all-reduce...).
  bool IsApplied(uint32_t computation) const { return applied_[computation]; }

  // Everything that depends on a seed / that a seed depends on. A seed itself is included only if
  // another seed leads to it. Does not go through arrays that XLA packed together.
  std::vector<bool> Dependents(const std::vector<bool>& seeds) const;
  std::vector<bool> Dependencies(const std::vector<bool>& seeds) const;

 private:
  struct Rows {
    std::vector<uint32_t> begin;  // Per node, and one past the last.
    std::vector<uint32_t> items;
  };

  static std::span<const uint32_t> Row(const Rows& rows, uint32_t node) {
    return std::span(rows.items).subspan(rows.begin[node], rows.begin[node + 1] - rows.begin[node]);
  }
  static Rows Pack(size_t size, const std::vector<std::pair<uint32_t, uint32_t>>& edges);

  void FindCallers();
  void AddOperands(uint32_t node, std::vector<uint32_t>& into) const;
  void AddFields(uint32_t node, int64_t index, int depth, std::vector<uint32_t>& into) const;
  void AddArguments(uint32_t parameter, std::vector<uint32_t>& into) const;
  uint32_t RootOf(uint32_t computation) const;
  bool IsLoopCondition(uint32_t computation) const;
  std::vector<bool> Reach(const std::vector<bool>& seeds, const Rows& rows) const;

  const model::HloModule& module_;
  Rows callers_;
  std::vector<bool> applied_;
  Rows operands_;
  Rows users_;
};

// Opcodes that enter their computations once per execution (or iteration), not per element.
bool EntersComputation(std::string_view opcode);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MODULE_GRAPH_H_
