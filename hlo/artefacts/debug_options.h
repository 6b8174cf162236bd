// SPDX-License-Identifier: Apache-2.0

// Reads the flags that XLA compiled with. Inputs: `debug_options` (flags that differ from the
// defaults), and `config.pbtxt` (all flags, inside of the module's whole configuration). Also the
// text of XLA_FLAGS or of the file that it names.
//
// Thread-safety: pure. Sources: DumpNonDefaultDebugOptions in xla/service/dump.cc, xla/xla.proto
// DebugOptions, xla/parse_flags_from_env.cc.

#ifndef XLATRACE_HLO_ARTEFACTS_DEBUG_OPTIONS_H_
#define XLATRACE_HLO_ARTEFACTS_DEBUG_OPTIONS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace xlatrace::hlo {

struct XlaFlag {
  std::string name;   // Without dashes: "xla_gpu_autotune_level".
  std::string value;  // As written, strings without their quotes; "true" of a bare flag.
};

// In the order of the text; a flag that is given several times is listed as often.
using XlaFlags = std::vector<XlaFlag>;

// `debug_options` or `config.pbtxt`. Nested messages and lists of messages become flat, with their
// path: "xla_backend_extra_options.key". Errors name the place of damage.
Result<XlaFlags> ReadDebugOptions(std::shared_ptr<const std::string> text);

// Parses "--xla_a=1 --xla_b --xla_c='x y'", on one or several lines; "#" begins a comment. Errors
// name the place.
Result<XlaFlags> ReadXlaFlags(std::string_view text);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_DEBUG_OPTIONS_H_
