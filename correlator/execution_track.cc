// SPDX-License-Identifier: Apache-2.0
#include "correlator/execution_track.h"

#include <algorithm>
#include <map>

namespace xlatrace::correlator {

void ExecutionTrack::Observe(const TrackItem& item) {
  if (item.entry_index == TrackItem::kNoEntryIndex) return;
  const bool continues = Continues(item);
  if (!continues) ++landmarks_[item.entry_index].occurrences;
  Store(item, continues);
}

void ExecutionTrack::Settle() {
  previous_ = TrackItem::kNoEntryIndex;
  // Most instructions run once per execution, so the most frequent number of occurrences is the
  // number of executions. A capture that starts or ends inside an execution has one more or one
  // less of some.
  std::map<uint32_t, uint32_t> frequency;
  for (const Landmark& landmark : landmarks_) {
    if (landmark.occurrences > 0) ++frequency[landmark.occurrences];
  }
  uint32_t usual = 0;
  uint32_t most = 0;
  for (const auto& [occurrences, count] : frequency) {
    if (count >= most) usual = occurrences;
    most = std::max(most, count);
  }
  const uint32_t slack = usual > 1 ? 1 : 0;
  for (Landmark& landmark : landmarks_) {
    const bool once = landmark.occurrences > 0 && landmark.occurrences + slack >= usual &&
                      landmark.occurrences <= usual + slack;
    if (once) landmark.rank = once_count_++;
  }
}

bool ExecutionTrack::Restarts(const TrackItem& item) const {
  if (item.entry_index == TrackItem::kNoEntryIndex || Continues(item)) return false;
  const Landmark& landmark = landmarks_[item.entry_index];
  if (landmark.rank < 0) return false;
  if (landmark.last_execution == execution_) return true;
  // By more than half, because the branches of a CUDA graph can vary by less.
  return serial_ && 2 * (previous_rank_ - landmark.rank) > once_count_;
}

void ExecutionTrack::Pass(const TrackItem& item) {
  if (item.entry_index == TrackItem::kNoEntryIndex) return;
  Store(item, Continues(item));
  Landmark& landmark = landmarks_[item.entry_index];
  if (landmark.rank < 0) return;
  landmark.last_execution = execution_;
  previous_rank_ = landmark.rank;
}

}  // namespace xlatrace::correlator
