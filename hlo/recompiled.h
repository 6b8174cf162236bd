// SPDX-License-Identifier: Apache-2.0

// Functions that were compiled more than once, and in what their programs differ: an argument's
// shape, a constant that was baked in, or nothing at all.
//
// Gets summaries of modules, by function; says what people can act on: pad or bucket what varies,
// pass as an argument what is a constant, keep the compiled function instead of making it again.
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

// Of a program with its constants of up to ten elements, which the content hash leaves out (text
// elides larger ones).
uint64_t ProgramHash(const ModuleSummary& summary);

struct CompiledModule {
  // What counts as one function: of one process, say.
  std::string group;
  std::string function;
  const ModuleSummary* summary = nullptr;  // Null: not counted.
};

struct Recompiled {
  // Something that is not the same in all programs of the function.
  struct Varying {
    std::string what;                 // "parameter 0 (x)", "constant.3"
    std::vector<std::string> values;  // Distinct ones, in the order of the modules.
  };
  std::string function;
  std::vector<size_t> modules;  // Into what was given, ascending.
  size_t programs = 0;          // Of different content.
  size_t shapes = 0;            // Different shapes of all parameters together.
  std::vector<Varying> varying;

  // "jit_f was compiled 38 times, for 12 shapes"
  std::string Sentence() const;
  // "parameter 0 (x) is f32[8,128], f32[16,128] and 10 more"; empty when nothing that is known.
  std::string Difference(size_t most_values) const;
};

// Functions with at least two modules, the most often compiled first.
std::vector<Recompiled> FindRecompiled(std::span<const CompiledModule> modules);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_RECOMPILED_H_
