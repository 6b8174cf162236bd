// SPDX-License-Identifier: Apache-2.0

// Interprets a sampled stack: the user's function with its line, and the kind of work of the
// library frames inside it.
//
// Thread-safety: const after construction.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_HOST_STACKS_H_
#define XLATRACE_ANALYSIS_TIME_TREE_HOST_STACKS_H_

#include <string>
#include <string_view>
#include <vector>

#include "model/host_sample.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::time_tree {

struct StackMeaning {
  model::TreeKind kind = model::TreeKind::kHost;
  std::string_view user;  // "train.py(12): tokenize"; the line is the function's most frequent one.
  std::string_view inner;  // The library function that the user's line calls; empty: none.
};

class HostStacks {
 public:
  explicit HostStacks(const model::HostSampleTables& tables);

  // `stack_id` is not 0.
  StackMeaning Of(model::Id stack_id, model::ThreadState state) const;

 private:
  void NameFunctions();
  void ClassifyStack(model::Id stack_id);

  struct Known {
    std::string_view user;
    std::string_view inner;
    model::TreeKind by_library = model::TreeKind::kHost;  // kHost: the state decides.
  };

  const model::HostSampleTables& tables_;
  std::vector<std::string> frame_names_;  // By frame.
  std::vector<Known> stacks_;             // By stack.
};

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_HOST_STACKS_H_
