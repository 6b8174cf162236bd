// SPDX-License-Identifier: Apache-2.0

// The workload's language: instructions of words, some with a block. README.md lists them.
#ifndef FAKE_GPU_WORKLOAD_SCRIPT_H_
#define FAKE_GPU_WORKLOAD_SCRIPT_H_

#include <string>
#include <vector>

namespace fakegpu {

struct Step {
  int line = 0;
  std::vector<std::string> words;
  std::vector<Step> body;
};

// Instructions end at a line's end or at ";". A block is "{" at the end of an instruction up to
// "}".
// "..." keeps blanks, \" in it is a quote, # begins a comment. On error prints it and ends the
// process (exit 2).
std::vector<Step> ParseScript(const std::string& text);

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_SCRIPT_H_
