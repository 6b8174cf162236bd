// SPDX-License-Identifier: Apache-2.0

// Converts TensorFlow's RunMetadata (tensorflow/core/protobuf/config.proto, step_stats.proto) to
// the events that timeline.Timeline makes of it.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_IMPORTERS_CHROME_RUN_METADATA_H_
#define XLATRACE_IMPORTERS_CHROME_RUN_METADATA_H_

#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace::importers {

// By the first bytes: a device name ("/device:GPU:0/stream:all") at the start of two messages.
bool LooksLikeRunMetadata(std::string_view head);

// "[EVENT,...]". Fails where the message does not parse.
Result<std::string> TimelineOfRunMetadata(std::string_view bytes);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_CHROME_RUN_METADATA_H_
