// SPDX-License-Identifier: Apache-2.0

// The purpose of each value of a program: parameter, optimizer state, gradient, activation, ...
//
// The purpose follows from dataflow. An input of the program is a parameter if forward work reads
// it and optimizer work updates it. In a program without gradients, an input is a parameter if a
// product combines it with a value that does not depend on it. An input is optimizer state if only
// optimizer work reads it. If dataflow leaves an input undecided, its siblings in the argument tree
// decide ("params['w']" and "params['b']"). A value that depends on parameters only is a copy of
// parameters.
//
// Thread-safety: immutable after construction.

#ifndef XLATRACE_ANALYSIS_MEMORY_BUFFER_OWNER_H_
#define XLATRACE_ANALYSIS_MEMORY_BUFFER_OWNER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/module_graph.h"
#include "analysis/module_labels.h"
#include "model/hlo_module.h"
#include "model/memory_rows.h"

namespace xlatrace::analysis {

class BufferOwners {
 public:
  BufferOwners(const ModuleGraph& graph, const ModuleLabels& labels);

  // An input of the program: an instruction `parameter` of the entry computation.
  model::BufferOwner OfInput(uint32_t parameter) const { return inputs_[parameter]; }

  // The result of an instruction. `shape` is the shape of the leaf.
  model::BufferOwner OfValue(uint32_t instruction, std::string_view shape) const;

  // The instruction whose layer, phase and line describe a value. For a copy, this is the
  // instruction of the copied value. For an input, it is its first reader, or without a line, the
  // nearest user or operand.
  uint32_t DescribedBy(uint32_t instruction) const;

 private:
  void FindUpdates();
  void DecideInputs();
  void DecideBySiblings();
  bool IsWeight(uint32_t input) const;
  uint32_t SourceOf(uint32_t instruction, int depth = 0) const;
  bool HasLine(uint32_t instruction) const;
  uint32_t ReaderOf(uint32_t input) const;
  uint32_t NearestWithLine(uint32_t instruction) const;

  const ModuleGraph& graph_;
  const model::HloModule& module_;
  const ModuleLabels& labels_;
  bool has_gradient_ = false;
  std::vector<uint32_t> entry_inputs_;
  std::vector<model::BufferOwner> inputs_;  // By instruction.
  std::vector<bool> decided_;
  std::vector<bool> updated_;  // Per input: an output of the same type replaces it.
  std::vector<bool> updated_by_optimizer_;
  // Per input: the output that replaces it depends on gradients.
  std::vector<bool> updated_by_gradient_;
  std::vector<bool> from_inputs_;  // Depends on any input.
  std::vector<bool> from_data_;    // Depends on inputs that are no parameters.
  std::vector<bool> from_parameters_;
  std::vector<bool> into_optimizer_;  // Optimizer work reads the value, perhaps moved first.
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MEMORY_BUFFER_OWNER_H_
