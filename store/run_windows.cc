// SPDX-License-Identifier: Apache-2.0
#include "store/run_windows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace xlatrace::store {
namespace {

using model::Id;

// The windows of the sources, and those that follow from activities alone.
std::vector<model::Window> WholeWindows(const std::vector<model::Window>& said,
                                        const model::RunTables& tables) {
  std::vector<model::Window> whole;
  std::vector<int> count(tables.processes.size() + 1, 0);
  const auto known = [&](Id id) { return id > 0 && static_cast<size_t>(id) < count.size(); };
  for (const model::Window& window : said) {
    if (known(window.process_id)) ++count[static_cast<size_t>(window.process_id)];
  }
  // A source may also give an empty window.
  std::vector<std::optional<model::Window>> extent(count.size());
  for (const model::Window& window : said) {
    if (known(window.process_id) && count[static_cast<size_t>(window.process_id)] == 1) {
      extent[static_cast<size_t>(window.process_id)] = window;
    } else if (window.end_ns > window.start_ns) {
      whole.push_back(window);
    }
  }
  for (size_t i = 0; i < tables.activities.size(); ++i) {
    const Id process = tables.DeviceOf(i).process_id;
    if (!known(process) || count[static_cast<size_t>(process)] > 1 || !tables.activities.timed(i)) {
      continue;
    }
    const int64_t start = tables.activities.start_ns[i];
    const int64_t end = tables.activities.end_ns(i);
    std::optional<model::Window>& window = extent[static_cast<size_t>(process)];
    if (!window) window = model::Window{process, start, end, model::WindowEnd::kEnd};
    window->start_ns = std::min(window->start_ns, start);
    window->end_ns = std::max(window->end_ns, end);
  }
  for (const std::optional<model::Window>& window : extent) {
    if (window) whole.push_back(*window);
  }
  return whole;
}

// The source was cut off: all work after its last activity is lost.
void EndWithLastWindow(model::ProcessEnding& ending, std::vector<model::Window>& windows) {
  model::Window* last = nullptr;
  for (model::Window& window : windows) {
    if (window.process_id != ending.process_id) continue;
    if (last == nullptr || window.end_ns > last->end_ns) last = &window;
  }
  if (last == nullptr) {
    // For a process without work no time is known; a run stat of the source reports the loss.
    ending.unrecorded_from_ns.reset();
    return;
  }
  ending.unrecorded_from_ns = last->end_ns;
  last->why_ended = model::WindowEnd::kLoss;
}

}  // namespace

void SettleWindows(const std::vector<model::Window>& said,
                   std::map<Id, model::ProcessEnding>& endings, model::RunTables& tables) {
  std::vector<model::Window> whole = WholeWindows(said, tables);
  for (auto& [id, ending] : endings) {
    if (ending.unrecorded_from_ns == INT64_MAX) EndWithLastWindow(ending, whole);
  }
  tables.windows = model::CutByLosses(std::move(whole), tables.losses);
  tables.endings.clear();
  for (const auto& [id, ending] : endings) tables.endings.push_back(ending);
}

}  // namespace xlatrace::store
