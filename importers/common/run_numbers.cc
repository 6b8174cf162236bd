// SPDX-License-Identifier: Apache-2.0
#include "importers/common/run_numbers.h"

#include <algorithm>

namespace xlatrace::importers {
namespace {

constexpr int64_t kMinRunCount = 3;  // Fewer do not show how a program is numbered.
constexpr int64_t kSharedCounterMaxDistance =
    4096;  // Programs whose numbers come so close share a counter.
constexpr int64_t kMaxMissingRunCount = int64_t{1} << 32;  // More is another counter.

// Bounded, because the distance of a damaged file's numbers may overflow.
int64_t Distance(int64_t from, int64_t to) {
  int64_t distance = 0;
  if (__builtin_sub_overflow(to, from, &distance)) return to > from ? INT64_MAX : INT64_MIN + 1;
  return distance;
}

}  // namespace

void RunNumbers::OnRun(model::Id device, int64_t program_id, int64_t number) {
  std::vector<Session>& sessions = programs_[{device, program_id}];
  sessions.resize(session_ + 1);
  Session& session = sessions.back();
  session.first = std::min(session.first, number);
  session.last = std::max(session.last, number);
  ++session.runs;
}

void RunNumbers::NextSession() { ++session_; }

bool RunNumbers::NumberedApart() const {
  std::map<model::Id, std::vector<std::pair<int64_t, int64_t>>> ranges;  // By device.
  for (const auto& [key, sessions] : programs_) {
    Session all;
    for (const Session& session : sessions) {
      all.first = std::min(all.first, session.first);
      all.last = std::max(all.last, session.last);
    }
    ranges[key.first].emplace_back(all.first, all.last);
  }
  for (auto& [device, of_device] : ranges) {
    std::sort(of_device.begin(), of_device.end());
    int64_t end = of_device.front().second;
    for (size_t i = 1; i < of_device.size(); ++i) {
      if (Distance(end, of_device[i].first) < kSharedCounterMaxDistance) return false;
      end = std::max(end, of_device[i].second);
    }
  }
  return true;
}

std::vector<RunNumbers::Missing> RunNumbers::Find() {
  std::vector<Missing> found;
  if (!NumberedApart()) return found;
  std::map<int64_t, Missing> by_program;
  for (const auto& [key, sessions] : programs_) {
    Missing missing{.program_id = key.second};
    const Session* before = nullptr;
    bool counted = true;
    for (const Session& session : sessions) {
      if (session.runs == 0) continue;
      missing.runs += session.runs;
      const int64_t span = Distance(session.first, session.last);
      if (span < session.runs - 1 || span >= kMaxMissingRunCount) {
        counted = false;
        break;
      }
      missing.inside += span + 1 - session.runs;
      if (before != nullptr) {
        // The run during which a profile ended may be in both.
        const int64_t between = Distance(before->last, session.first) - 1;
        if (between > 0 && between < kMaxMissingRunCount) missing.between += between;
      }
      before = &session;
    }
    if (!counted || missing.runs < kMinRunCount) continue;
    if (missing.between == 0 && missing.inside == 0) continue;
    Missing& most = by_program[key.second];
    if (missing.between + missing.inside > most.between + most.inside) most = missing;
  }
  for (const auto& [program_id, missing] : by_program) found.push_back(missing);
  return found;
}

}  // namespace xlatrace::importers
