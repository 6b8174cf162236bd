// SPDX-License-Identifier: Apache-2.0
#include "model/windows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace xlatrace::model {
namespace {

bool Earlier(const Window& a, const Window& b) {
  return std::tie(a.process_id, a.start_ns, a.end_ns) <
         std::tie(b.process_id, b.start_ns, b.end_ns);
}

}  // namespace

std::vector<Window> CutByLosses(std::vector<Window> windows, const std::vector<Loss>& losses) {
  std::sort(windows.begin(), windows.end(), Earlier);
  struct Hole {
    int64_t process_id, start_ns, end_ns;
  };
  std::vector<Hole> holes;
  for (const Loss& loss : losses) {
    holes.push_back({loss.process_id, loss.start_ns, std::max(loss.start_ns, loss.end_ns)});
  }
  std::sort(holes.begin(), holes.end(), [](const Hole& a, const Hole& b) {
    return std::tie(a.process_id, a.start_ns, a.end_ns) <
           std::tie(b.process_id, b.start_ns, b.end_ns);
  });
  std::vector<Window> cut;
  size_t first = 0;  // Index of the first loss that may still overlap.
  for (const Window& window : windows) {
    Window rest = window;
    while (first < holes.size() && (holes[first].process_id < window.process_id ||
                                    (holes[first].process_id == window.process_id &&
                                     holes[first].end_ns < window.start_ns))) {
      ++first;
    }
    for (size_t h = first; h < holes.size(); ++h) {
      const Hole& hole = holes[h];
      if (hole.process_id != window.process_id || hole.start_ns >= rest.end_ns) break;
      if (hole.end_ns < rest.start_ns) continue;
      if (hole.start_ns > rest.start_ns) {
        cut.push_back({rest.process_id, rest.start_ns, hole.start_ns, WindowEnd::kLoss});
      }
      rest.start_ns = std::max(rest.start_ns, hole.end_ns);
    }
    if (rest.start_ns < rest.end_ns) {
      cut.push_back(rest);
      continue;
    }
    // If no part of a process was recorded, it gets an empty window, because a process without
    // windows counts as recorded all the time.
    const bool has = !cut.empty() && cut.back().process_id == window.process_id;
    const bool more = &window != &windows.back() && (&window)[1].process_id == window.process_id;
    if (!has && !more) {
      cut.push_back({window.process_id, window.start_ns, window.start_ns,
                     window.start_ns == window.end_ns ? window.why_ended : WindowEnd::kLoss});
    }
  }
  return cut;
}

Recorded::Recorded(const std::vector<Window>& windows) {
  for (const Window& window : windows) {
    if (window.process_id < 0) continue;
    const auto process = static_cast<size_t>(window.process_id);
    if (process >= by_process_.size()) by_process_.resize(process + 1);
    by_process_[process].push_back(window);
  }
  for (std::vector<Window>& of : by_process_) std::sort(of.begin(), of.end(), Earlier);
}

const std::vector<Window>& Recorded::Of(int64_t process_id) const {
  static const std::vector<Window> kNone;
  if (process_id < 0 || static_cast<size_t>(process_id) >= by_process_.size()) return kNone;
  return by_process_[static_cast<size_t>(process_id)];
}

size_t Recorded::WindowAt(int64_t process_id, int64_t time_ns) const {
  const std::vector<Window>& of = Of(process_id);
  const auto after =
      std::upper_bound(of.begin(), of.end(), time_ns,
                       [](int64_t time, const Window& window) { return time < window.start_ns; });
  return static_cast<size_t>(after - of.begin());
}

bool Recorded::Whole(int64_t process_id, int64_t start_ns, int64_t end_ns) const {
  const std::vector<Window>& of = Of(process_id);
  if (of.empty()) return true;
  const size_t at = WindowAt(process_id, start_ns);
  return at > 0 && end_ns <= of[at - 1].end_ns;
}

}  // namespace xlatrace::model
