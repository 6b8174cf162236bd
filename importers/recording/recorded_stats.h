// SPDX-License-Identifier: Apache-2.0

// The collector's counters as run stats, with their severity and advice.

#ifndef XLATRACE_IMPORTERS_RECORDING_RECORDED_STATS_H_
#define XLATRACE_IMPORTERS_RECORDING_RECORDED_STATS_H_

#include "importers/common/counters.h"
#include "importers/recording/recorded_process.h"

namespace xlatrace::importers {

void AddRecordedStats(const RecordedProcess& process, Counters* counters);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_RECORDED_STATS_H_
