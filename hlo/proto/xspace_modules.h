// SPDX-License-Identifier: Apache-2.0

// The HLO programs inside of a profile of XLA's profiler (XSpace, .xplane.pb). In the plane
// "/host:metadata", each program that ran is an event's metadata with a stat "Hlo Proto".
//
// Thread-safety: pure. Source: tsl/profiler/protobuf/xplane.proto; xla/backends/profiler.

#ifndef XLATRACE_HLO_PROTO_XSPACE_MODULES_H_
#define XLATRACE_HLO_PROTO_XSPACE_MODULES_H_

#include <string_view>
#include <vector>

#include "base/error.h"

namespace xlatrace::hlo {

struct XSpaceModule {
  std::string_view name;       // "jit_train_step(52)": module and program id.
  std::string_view hlo_proto;  // Serialised HloProto, for ReadProto.
};

// Views into `xspace`, in the order of the file; may be empty. An error names a byte.
Result<std::vector<XSpaceModule>> ModulesInXSpace(std::string_view xspace);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_XSPACE_MODULES_H_
