// SPDX-License-Identifier: Apache-2.0

// CUPTI's callbacks on the traced program's threads: launches and copies with the ranges that are
// open around them, graph nodes as they come into being, contexts and modules.

#ifndef XLATRACE_COLLECTOR_CALLBACKS_H_
#define XLATRACE_COLLECTOR_CALLBACKS_H_

#include "collector/collector.h"

namespace xlatrace::collector {

// Enables what the collector listens to. The functions that start device work are found by their
// names, so that those of a newer CUDA are there as well; each name goes to the recording's facts.
void EnableCallbacks(Collector& collector, CUpti_SubscriberHandle subscriber);

// CUpti_CallbackFunc.
void CUPTIAPI OnCallback(void* collector, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data);

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_CALLBACKS_H_
