// SPDX-License-Identifier: Apache-2.0

// A run.db as a source: adds its recorded rows to another sink.
//
// All recorded data is added in the same order and with the same ids, so that a run can be
// attributed again without its trace. Derived data is not added: labels, executions, steps,
// findings, added modules. The caller may omit modules or add some afterwards.
//
// A part of a run is added in the same way: dictionaries are complete and keep their ids, and
// activities are renumbered.
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

// Selects rows; empty members select all.
struct ReplayPart {
  std::function<bool(model::Id activity_id)> activity;
  // Calls to which activities or explanations of gaps refer, with the times of the call.
  std::function<bool(model::Id api_call_id, int64_t start_ns, int64_t end_ns)> call;
  // Ranges, compilations and losses that overlap it; windows are cut to it.
  std::optional<std::pair<int64_t, int64_t>> window_ns;
  // Numbers of step marks, both included.
  std::optional<std::pair<int64_t, int64_t>> steps;
};

// `sink` must be empty. Returns errors of reading `db`; the sink keeps its own errors.
Status Replay(RunDb& db, model::EventSink& sink, const ReplayPart& part = {});

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_REPLAY_H_
