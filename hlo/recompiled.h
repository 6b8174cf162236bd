// SPDX-License-Identifier: Apache-2.0

// Functions that were compiled more than once, and the difference of their programs: an argument's
// shape, a baked-in constant, or nothing.
//
// Input: summaries of modules, by function. The result allows three actions: pad or bucket the
// varying shape, pass the constant as an argument, or keep the compiled function.
//
// Thread-safety: pure.

#ifndef XLATRACE_HLO_RECOMPILED_H_
#define XLATRACE_HLO_RECOMPILED_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hlo/module_summary.h"

namespace xlatrace::hlo {

// Hash of a program with its constants of up to ten elements. The content hash excludes these,
// because text elides larger ones.
uint64_t ProgramHash(const ModuleSummary& summary);

struct CompiledModule {
  // Functions count as one within this group, for example a process.
  std::string group;
  std::string function;
  const ModuleSummary* summary = nullptr;  // Null: not counted.
};

struct Recompiled {
  // A parameter or constant that differs between programs of the function.
  struct Varying {
    std::string what;                 // "parameter 0 (x)", "constant.3"
    std::vector<std::string> values;  // Distinct values, in the order of the modules.
  };
  std::string function;
  std::vector<size_t> modules;  // Indices into the input, ascending.
  size_t programs = 0;          // Programs of different content.
  size_t shapes = 0;            // Different shapes of all parameters together.
  std::vector<Varying> varying;

  // "jit_f was compiled 38 times, for 12 shapes"
  std::string Sentence() const;
  // "parameter 0 (x) is f32[8,128], f32[16,128] and 10 more"; empty if no difference is known.
  std::string Difference(size_t most_values) const;
};

// Functions with at least two modules, the most often compiled first.
std::vector<Recompiled> FindRecompiled(std::span<const CompiledModule> modules);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_RECOMPILED_H_
