// SPDX-License-Identifier: Apache-2.0

// Adds the sampled stacks of a process (recording/host_samples.h) to a run.

#ifndef XLATRACE_IMPORTERS_RECORDING_HOST_SAMPLES_IMPORT_H_
#define XLATRACE_IMPORTERS_RECORDING_HOST_SAMPLES_IMPORT_H_

#include <string>

#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// Times of samples count from 1970, so the start of the run must be known.
Status ImportHostSamples(const std::string& path, model::Id process_id, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_HOST_SAMPLES_IMPORT_H_
