// SPDX-License-Identifier: Apache-2.0

// Commands whose children cannot be recorded from here: what they start lives where our environment
// does not reach.
//
// Thread-safety: pure.

#ifndef XLATRACE_TOOLS_LAUNCHERS_H_
#define XLATRACE_TOOLS_LAUNCHERS_H_

#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::tools {

// An error, whose hint is the same command with `xlatrace record` put inside, where `command`
// starts a container (docker, podman, kubectl ...), a program on another machine (ssh, srun), a
// batch job (sbatch ...) or one with other rights (sudo takes LD_PRELOAD away). env, nice, timeout
// and their like in front are looked through.
Status RefuseLaunchers(const std::vector<std::string>& command);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_LAUNCHERS_H_
