// SPDX-License-Identifier: Apache-2.0

// The pipeline of a compilation, from the names of its pass dumps.
//
// A dump is written when a pipeline starts and after each pass (XLA since about 2020: after each
// pass that changed something). Pipelines nest: one is part of another when the other goes on after
// it. Pipelines that run until nothing changes appear again and again; such rounds are folded, also
// in old dumps, which do not mark where a pipeline starts.
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
  std::string next_pass;  // Empty: not said.
  std::string file;

  bool is_start() const { return pass == "pipeline-start"; }
  // "before_optimizations", "algsimp", "start of simplification".
  std::string Label() const;
};

// before_optimizations, the numbered pass dumps, after_optimizations: what there is of them. Of
// text and proto of one step, the text (it reads as well and can be looked at).
std::vector<PassStep> StepsOf(const DumpModule& module);

// A pass, a pipeline, or a group of passes that repeats within one.
struct PassNode {
  std::string name;
  bool is_group = false;      // Pipeline or repeated group: has children.
  int32_t rounds = 1;         // How often a folded group ran.
  std::vector<size_t> steps;  // Indices of steps: of a pass every dump, of a pipeline its starts.
  std::vector<PassNode> children;
};

// before_ and after_optimizations are nodes of their own at the top.
std::vector<PassNode> FoldPasses(const std::vector<PassStep>& steps);

// Index of the step that `wanted` names: a dump's number, "before", "after", or a pass (its first
// dump; with `last` its last one). steps.size() when there is none.
size_t FindStep(const std::vector<PassStep>& steps, std::string_view wanted, bool last);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_PASS_TIMELINE_H_
