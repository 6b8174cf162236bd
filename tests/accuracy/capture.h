// SPDX-License-Identifier: Apache-2.0

// A capture with ground truth, in memory: a run, its modules, and the source's label of each
// activity (profiler annotation, NVTX range, graph node). These labels are the truth. They are
// computed without the correlator.

#ifndef XLATRACE_TESTS_ACCURACY_CAPTURE_H_
#define XLATRACE_TESTS_ACCURACY_CAPTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/run_tables.h"
#include "store/run_builder.h"

namespace xlatrace::accuracy {

// A module as it lies in the capture.
struct StoredModule {
  store::RunDb::ModuleBytes bytes;
  std::vector<std::string> instructions;  // Names, sorted.
};

// The truth of one activity, as numbers of Capture::truths; 0: the source has no label.
struct Truth {
  std::vector<model::Id> modules;  // Modules of the capture: copies of one program count as one.
  std::string instruction;
};

struct Capture {
  std::string name;
  model::RunTables run;
  std::vector<StoredModule> modules;  // Same order as run.modules.
  std::vector<Truth> truths;          // [0] is empty.
  std::vector<uint32_t> truth_of;     // Per activity.
};

// Reads Nsight Systems' projected ranges (nvtx_gpu_proj_trace, as CSV). They have the times of
// thunks in order of launch, with the number of GPU operations of each, and no kernels. One device
// per launching thread; Activity bytes hold the number of operations. For SimulateLaunches.
Status ReadProjectedRanges(const std::string& csv, model::EventSink* sink);

// Imports `file` (a capture, or a CSV of projected ranges) and, when `modules` is not empty, the
// dump folder or module file of that name.
Result<Capture> ReadCapture(const std::string& name, const std::string& file,
                            const std::string& modules);

// Replaces every activity that is a projected range by the launch that XLA would have made. It is a
// kernel named by XLA's rule (equal fusions share the first one's), a library's kernel, or a copy.
// For captures with real order and times but no kernels (nsys-jax).
Status SimulateLaunches(Capture* capture);

}  // namespace xlatrace::accuracy

#endif  // XLATRACE_TESTS_ACCURACY_CAPTURE_H_
