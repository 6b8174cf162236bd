// Host events of a run that is being written: API calls and ranges that overlap given intervals.

#ifndef XLATRACE_STORE_HOST_EVENT_READER_H_
#define XLATRACE_STORE_HOST_EVENT_READER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/host_event.h"
#include "store/sqlite.h"

namespace xlatrace::store {

// One pass over both tables; names are read of those that overlap only. `within`: (start, end),
// sorted, not overlapping.
Result<std::vector<model::HostEvent>> ReadHostEvents(
    Database& database, const std::vector<std::pair<int64_t, int64_t>>& within);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_HOST_EVENT_READER_H_
