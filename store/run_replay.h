// A run.db as a source: what importers once poured into it, poured into another sink.
//
// Everything that was recorded comes again, in the same order and with the same ids, so that a run
// is attributed anew without its trace; what was worked out (labels, executions, steps, findings,
// modules that no file holds) does not. Modules may be left out or added by the caller afterwards.
//
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_RUN_REPLAY_H_
#define XLATRACE_STORE_RUN_REPLAY_H_

#include "base/error.h"
#include "model/event_sink.h"
#include "store/run_db.h"

namespace xlatrace::store {

// `sink` must be empty. Errors: of reading `db`; the sink keeps its own.
Status Replay(RunDb& db, model::EventSink& sink);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_REPLAY_H_
