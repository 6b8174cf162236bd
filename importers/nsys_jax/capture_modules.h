// SPDX-License-Identifier: Apache-2.0

// The modules of a capture: what XLA dumped of each, one file per form, as one module of the run.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MODULES_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MODULES_H_

#include "importers/nsys_jax/capture_files.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// By number and name of the files. The HLO's proto before its text; the thunk list that ran before
// the one from before its passes. Without HLO there is no module.
void AddDumpedModules(const CaptureFiles& files, model::Id process, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MODULES_H_
