// SPDX-License-Identifier: Apache-2.0

// The pipeline of a compilation, from the names of its pass dumps.
//
// XLA writes a dump when a pipeline starts and after each pass (since about 2020 only after passes
// with an effect). Pipelines nest: one is part of another if the other continues after it.
// Pipelines that run until nothing changes occur repeatedly. Such rounds are folded, also in old
// dumps, which do not mark the start of a pipeline.
//
// Thread-safety: pure.

#ifndef XLATRACE_DUMPS_PASS_TIMELINE_H_
#define XLATRACE_DUMPS_PASS_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dumps/dump_dir.h"

namespace xlatrace::dumps {

// One dump, in the order of the compilation.
struct PassStep {
  int32_t number = -1;    // NNNN of the file's name; -1: before_ or after_optimizations.
  std::string pipeline;   // Empty for these two.
  std::string pass;       // "algsimp"; "pipeline-start".
  std::string next_pass;  // Empty: not given.
  std::string file;

  bool is_start() const { return pass == "pipeline-start"; }
  // "before_optimizations", "algsimp", "start of simplification".
  std::string Label() const;
};

// The available dumps among before_optimizations, the numbered pass dumps, and after_optimizations.
// If a step has text and proto, the text is used, because it is readable.
std::vector<PassStep> StepsOf(const DumpModule& module);

// A pass, a pipeline, or a group of passes that repeats within one.
struct PassNode {
  std::string name;
  bool is_group = false;      // Pipeline or repeated group: has children.
  int32_t rounds = 1;         // Number of rounds of a folded group.
  std::vector<size_t> steps;  // Indices of steps: every dump of a pass, every start of a pipeline.
  std::vector<PassNode> children;
};

// before_ and after_optimizations are separate nodes at the top.
std::vector<PassNode> FoldPasses(const std::vector<PassStep>& steps);

// Index of the step with the name `wanted`: the number of a dump, "before", "after", or a pass. A
// pass is its first dump, or with `last` its last dump. Returns steps.size() if there is none.
size_t FindStep(const std::vector<PassStep>& steps, std::string_view wanted, bool last);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_PASS_TIMELINE_H_
