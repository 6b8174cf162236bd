// SPDX-License-Identifier: Apache-2.0

// The modules of a capture. XLA dumps several files per module; they become one module of the run.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MODULES_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MODULES_H_

#include "importers/nsys_jax/capture_files.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// Files are joined by the number and name in their file names. The proto of the HLO has priority
// over its text, and the executed thunk list over the list before its passes. Without HLO there is
// no module.
void AddDumpedModules(const CaptureFiles& files, model::Id process, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MODULES_H_
