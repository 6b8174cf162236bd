// SPDX-License-Identifier: Apache-2.0

// Lists the input files of `import`: the named ones and those inside named folders, without
// duplicates.
//
// A folder stands for the recordings inside it, which are detected by content. A log folder of
// JAX's or TensorFlow's profiler (plugins/profile/SESSION) stands for its newest session. A folder
// that is one input (a capture of nsys-jax, a run.rec) stays one input.
//
// Duplicates are left out: a file under two names, and a copy of a file. XProf's trace.json.gz is a
// duplicate of a readable .xplane.pb of the same session. The perfetto_trace.json.gz of
// jax.profiler is a duplicate of either.
//
// Unreadable subfolders and files beyond the limits of a folder are left out with a reason. So are
// unreadable files that are named like a recording (.xplane.pb, .trace.json, .nsys-rep, .sqlite).
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_INPUT_LIST_H_
#define XLATRACE_TOOLS_INPUT_LIST_H_

#include <string>
#include <vector>

namespace xlatrace::tools {

struct InputList {
  struct LeftOut {
    std::string path;
    std::string why;  // "is a copy of 'a.json'".
  };
  std::vector<std::string> files;  // In the order of the arguments; within a folder, by name.
  std::vector<LeftOut> left_out;
};

InputList ListInputs(const std::vector<std::string>& named);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_INPUT_LIST_H_
