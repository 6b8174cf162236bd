// SPDX-License-Identifier: Apache-2.0

// The option --gpu NAME of `show` and `summary`.

#ifndef XLATRACE_TOOLS_GPU_OPTION_H_
#define XLATRACE_TOOLS_GPU_OPTION_H_

#include <string>

#include <fmt/format.h>

#include "analysis/gpu_table.h"
#include "base/error.h"

namespace xlatrace::tools {

// Null when the option was not given. An error lists the GPUs that are known.
inline Result<const analysis::Gpu*> GpuOfOption(const std::string& name) {
  if (name.empty()) return nullptr;
  if (const analysis::Gpu* gpu = analysis::FindGpuByName(name)) return gpu;
  return MakeError(fmt::format("no GPU is known as '{}'", name),
                   "known are: " + analysis::GpuNames(), ErrorCode::kUsage);
}

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_GPU_OPTION_H_
