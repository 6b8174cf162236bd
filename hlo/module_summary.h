// SPDX-License-Identifier: Apache-2.0

// Summary of an HLO module, small enough to keep for every module of a folder.
//
// Thread-safety: pure functions; a summary owns its strings and outlives the module.

#ifndef XLATRACE_HLO_MODULE_SUMMARY_H_
#define XLATRACE_HLO_MODULE_SUMMARY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// One parameter, constant or result array of a module.
struct ModuleValue {
  std::string name;   // Name of the instruction; for a result "result 3".
  std::string label;  // op_name: JAX's path of the argument, params['layer_0']['w'].
  std::string shape;  // Without layout.
  int64_t bytes = 0;
  bool aliased = false;  // A parameter that shares memory with a result (donated, and reused).
};

// A constant with one element, as far as it distinguishes programs.
struct ModuleScalar {
  std::string name;
  std::string literal;
};

// The source location of the program, as far as metadata has one.
struct ModuleSource {
  std::string file;        // Empty: unknown.
  std::string function;    // Function of the stack frame; empty without frames.
  int32_t first_line = 0;  // Lines of the operations in this file and function.
  int32_t last_line = 0;
};

struct ModuleSummary {
  std::string name;
  int64_t program_id = -1;
  uint64_t content_hash = 0;
  bool is_scheduled = false;
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  int64_t computations = 0;
  int64_t instructions = 0;
  int64_t entry_instructions = 0;
  int64_t operations = 0;  // Outside of fusions, with work to do: about the number of launches.
  int64_t fusions = 0;
  int64_t peak_memory_bytes = -1;  // -1: unknown.
  std::vector<ModuleValue> parameters;
  std::vector<ModuleValue> results;
  std::vector<ModuleValue> constants;  // Arrays; scalars only count in `constant_bytes`.
  // Scalars and arrays of at most ten elements, in fusions too; the first 256.
  std::vector<ModuleScalar> scalars;
  int64_t parameter_bytes = 0;
  int64_t result_bytes = 0;
  int64_t constant_bytes = 0;
  // Instructions by opcode, without parameters and the like: outside of fusions, and inside.
  std::map<std::string, int64_t, std::less<>> opcodes;
  std::map<std::string, int64_t, std::less<>> fused_opcodes;
  // XLA's HloCostAnalysis, library calls as its GPU model counts them; loop bodies once.
  std::optional<int64_t> flops;
  std::optional<int64_t> bytes_accessed;
  uint32_t unknown_costs = 0;  // Operations that are not included in the two.
  bool has_gradient = false;   // Some op_name is marked as differentiated backward.
  ModuleSource source;
  // The smallest hashes of the distinct op_names. The overlap of two sketches estimates the overlap
  // of the op_names of two modules.
  std::vector<uint64_t> op_name_sketch;
};

ModuleSummary Summarize(const model::HloModule& module);

// "12 fusion, 3 copy, 1 while": by count, the most frequent first, at most `most` of them, and then
// "and 4 more".
std::string OpcodeText(const std::map<std::string, int64_t, std::less<>>& opcodes, size_t most);

// "f32[8,16]" for "f32[8,16]{1,0}", tuples too.
std::string WithoutLayout(std::string_view shape);

// Per computation: true if its operations are not launched by themselves. It is computed in place
// of its caller (fusions), or its caller applies it to elements (reducers, comparators).
std::vector<bool> InlinedComputations(const model::HloModule& module);

// True if the opcode does work of its own outside of a fusion.
bool IsOperation(std::string_view opcode);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_MODULE_SUMMARY_H_
