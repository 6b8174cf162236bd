// SPDX-License-Identifier: Apache-2.0

// Which files a call of `import` means: the ones named, those inside the folders named, none twice.
//
// A folder stands for the recordings inside it, told by content; of a log folder of JAX's or
// TensorFlow's profiler (plugins/profile/SESSION), for those of its newest session. Folders that
// are one input (a capture of nsys-jax, a run.rec) stay what they are. Left out, because a run
// would hold their rows twice: the same file under two names, a copy of it, XProf's trace.json.gz
// where a readable .xplane.pb of the same session is among the inputs, and the
// perfetto_trace.json.gz that jax.profiler makes of either. Left out too, and never silently:
// subfolders that cannot be read, what is beyond the limits of a folder, and what is called like a
// recording (.xplane.pb, .trace.json, .nsys-rep, .sqlite) and is none that can be read.
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
  std::vector<std::string> files;  // In the order named; in a folder, by name.
  std::vector<LeftOut> left_out;
};

InputList ListInputs(const std::vector<std::string>& named);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_INPUT_LIST_H_
