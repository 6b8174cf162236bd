// SPDX-License-Identifier: Apache-2.0

// Commands whose children cannot be recorded from here, because our environment does not reach the
// processes that they start.
//
// Thread-safety: pure.

#ifndef XLATRACE_TOOLS_LAUNCHERS_H_
#define XLATRACE_TOOLS_LAUNCHERS_H_

#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::tools {

// Returns an error if the children of `command` cannot be recorded. Such commands are containers
// (docker, podman, kubectl ...), remote programs (ssh, srun), batch jobs (sbatch ...) and changes
// of rights (sudo removes LD_PRELOAD). Prefixes such as env, nice and timeout are skipped. The hint
// is the same command with `xlatrace record` inside.
Status RefuseLaunchers(const std::vector<std::string>& command);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_LAUNCHERS_H_
