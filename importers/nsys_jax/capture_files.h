// SPDX-License-Identifier: Apache-2.0

// The files of an nsys-jax capture that describe a run, from a folder or from a zip file.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_FILES_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "dumps/dump_name.h"

namespace xlatrace::importers {

struct CaptureFiles {
  std::string projected_trace;  // Inflated; Parquet preferred over CSV.
  std::string device_metadata;
  std::string thread_metadata;
  std::string push_pop_trace;
  // gpu_target_config.pbtxt of one module; the GPU is the same in all modules.
  std::string target_config;
  struct DumpFile {
    std::string name;  // Inside the capture.
    dumps::DumpName parsed;
    std::string bytes;
  };
  std::vector<DumpFile> dump;  // Optimised HLO and thunk lists, by name.
};

// Errors: not readable, larger than some gigabytes in all, no projected trace inside.
Result<CaptureFiles> ReadCaptureFiles(const std::string& path);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_FILES_H_
