// The collector's counters as run stats: how bad each is, and what to do about it.

#ifndef XLATRACE_IMPORTERS_RECORDED_STATS_H_
#define XLATRACE_IMPORTERS_RECORDED_STATS_H_

#include "importers/counters.h"
#include "importers/recorded_process.h"

namespace xlatrace::importers {

void AddRecordedStats(const RecordedProcess& process, Counters* counters);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDED_STATS_H_
