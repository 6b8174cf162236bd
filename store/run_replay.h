// SPDX-License-Identifier: Apache-2.0

// A run.db as a source: what importers once poured into it, poured into another sink.
//
// Everything that was recorded comes again, in the same order and with the same ids, so that a run
// is attributed anew without its trace; what was worked out (labels, executions, steps, findings,
// modules that no file holds) does not. Modules may be left out or added by the caller afterwards.
//
// A part of a run is poured in the same way: dictionaries are whole and keep their ids, activities
// are numbered anew.
//
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_RUN_REPLAY_H_
#define XLATRACE_STORE_RUN_REPLAY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "model/event_sink.h"
#include "store/run_db.h"

namespace xlatrace::store {

// Which rows come; what is empty chooses all.
struct ReplayPart {
  std::function<bool(model::Id activity_id)> activity;
  // Calls that activities or explanations of gaps refer to; times are their own.
  std::function<bool(model::Id api_call_id, int64_t start_ns, int64_t end_ns)> call;
  // Ranges, compilations and losses that overlap it; windows are cut to it.
  std::optional<std::pair<int64_t, int64_t>> window_ns;
  // Numbers of step marks, both included.
  std::optional<std::pair<int64_t, int64_t>> steps;
};

// `sink` must be empty. Errors: of reading `db`; the sink keeps its own.
Status Replay(RunDb& db, model::EventSink& sink, const ReplayPart& part = {});

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_REPLAY_H_
