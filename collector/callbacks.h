// SPDX-License-Identifier: Apache-2.0

// CUPTI's callbacks on the traced program's threads: launches and copies with their open ranges,
// new graph nodes, contexts and modules.

#ifndef XLATRACE_COLLECTOR_CALLBACKS_H_
#define XLATRACE_COLLECTOR_CALLBACKS_H_

#include "collector/collector.h"

namespace xlatrace::collector {

// Enables the callbacks that the collector needs. Functions that start device work are found by
// name, so that new ones of a later CUDA are included. Each name is stored in the recording's
// facts.
void EnableCallbacks(Collector& collector, CUpti_SubscriberHandle subscriber);

// CUpti_CallbackFunc.
void CUPTIAPI OnCallback(void* collector, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data);

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_CALLBACKS_H_
