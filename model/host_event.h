// SPDX-License-Identifier: Apache-2.0

// Activity of a host thread during a wait of a device: an API call or a range; and the call that
// started an activity.

#ifndef XLATRACE_MODEL_HOST_EVENT_H_
#define XLATRACE_MODEL_HOST_EVENT_H_

#include <cstdint>
#include <string_view>

#include "model/events.h"

namespace xlatrace::model {

struct HostEvent {
  Id process_id = 0;
  int64_t thread_id = 0;
  std::string_view name;  // Name of the function, or text of the range. Borrowed from the source of
                          // the event.
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  Id range_id = 0;  // 0: an API call.
};

// The host call that started an activity. A call may have started several: a graph is one launch.
struct HostCall {
  Id call_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t thread_id = 0;  // As in ApiCall; 0: not known.
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_HOST_EVENT_H_
