// SPDX-License-Identifier: Apache-2.0

// Which stage of a compilation a range of XLA's compiler belongs to.
//
// Thread-safety: pure function.

#ifndef XLATRACE_IMPORTERS_COMMON_COMPILE_STAGE_H_
#define XLATRACE_IMPORTERS_COMMON_COMPILE_STAGE_H_

#include <string_view>

#include "model/compile.h"

namespace xlatrace::importers {

// `name`: of the range, or of the pass. `around`: stage of the range around it; a range without a
// stage of its own belongs to that.
model::CompileStage StageOfCompilerRange(std::string_view name, model::CompileStage around);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_COMPILE_STAGE_H_
