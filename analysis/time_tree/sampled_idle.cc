// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/sampled_idle.h"

#include <algorithm>
#include <cmath>

#include "analysis/intervals.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::HostSample;
using model::Id;
using model::ThreadState;
using model::TreeKind;

// A waiting thread gets the GIL within microseconds if no thread keeps it. A thread that computes
// keeps it for 5 ms.
constexpr int64_t kMinGilWaitNs = 1'000'000;

bool Runs(ThreadState state) { return state <= ThreadState::kNative; }

int64_t Share(int64_t ns, double share) { return std::llround(share * static_cast<double>(ns)); }

HostState Cut(HostState state, int64_t start_ns, int64_t end_ns) {
  state.start_ns = start_ns;
  state.end_ns = end_ns;
  return state;
}

// The first sample of a later time.
std::span<const HostSample>::iterator FirstAfter(std::span<const HostSample> samples,
                                                 int64_t time_ns) {
  return std::upper_bound(
      samples.begin(), samples.end(), time_ns,
      [](int64_t time, const HostSample& sample) { return time < sample.time_ns; });
}

}  // namespace

SampledIdle::SampledIdle(const model::RunTables& run, WorkerDelay workers, Put put)
    : stacks_(run.host_samples), workers_(std::move(workers)), put_(std::move(put)) {
  const std::vector<HostSample>& samples = run.host_samples.samples;
  for (size_t begin = 0; begin < samples.size();) {
    size_t end = begin;
    const Thread thread(samples[begin].process_id, samples[begin].thread_id);
    while (end < samples.size() && samples[end].process_id == thread.first &&
           samples[end].thread_id == thread.second) {
      ++end;
    }
    samples_[thread] = Samples(samples).subspan(begin, end - begin);
    begin = end;
  }
  for (const model::ThreadUse& use : run.host_samples.thread_use) {
    uses_[{use.process_id, use.thread_id}].push_back(&use);
  }
  for (const model::Collection& collection : run.host_samples.collections) {
    collections_[collection.process_id].push_back({collection.start_ns, collection.end_ns});
  }
  for (auto& [process, collections] : collections_) collections = Normalise(std::move(collections));
}

bool SampledIdle::Add(const Place& place, Id process_id, int64_t thread_id,
                      const HostState& state) {
  const Thread thread(process_id, thread_id);
  const auto known = samples_.find(thread);
  if (known == samples_.end()) return false;
  const Samples samples = known->second;
  int64_t now = state.start_ns;
  const Intervals& collections = collections_[process_id];
  auto at = std::partition_point(collections.begin(), collections.end(),
                                 [&](const Interval& c) { return c.end_ns <= now; });
  for (; at != collections.end() && at->start_ns < state.end_ns; ++at) {
    if (at->start_ns > now) {
      AddOutsideCollections(place, thread, samples, Cut(state, now, at->start_ns));
    }
    const int64_t from = std::max(now, at->start_ns);
    now = std::min(state.end_ns, at->end_ns);
    HostState collection = Cut(state, from, now);
    collection.kind = TreeKind::kGc;
    collection.inner = {};
    // The collection keeps the GIL, so the first sample after its start has the stack of its cause.
    auto sample = FirstAfter(samples, from);
    if (sample == samples.end()) --sample;
    if (sample->stack_id != 0) collection.user = stacks_.Of(sample->stack_id, sample->state).user;
    put_(place, collection, sample->stack_id, now - from);
  }
  if (now < state.end_ns) {
    AddOutsideCollections(place, thread, samples, Cut(state, now, state.end_ns));
  }
  return true;
}

void SampledIdle::AddOutsideCollections(const Place& place, Thread thread, Samples samples,
                                        const HostState& state) {
  const StateKey key(state.kind, state.user, state.inner);
  auto next = FirstAfter(samples, state.start_ns - 1);  // The first that is not before the state.
  const HostSample* before = next == samples.begin() ? nullptr : &*std::prev(next);
  // The thread stayed blocked where an earlier sample saw it.
  const bool blocked = before != nullptr && before->last_ns > state.start_ns;
  const bool inside = next != samples.end() && next->time_ns < state.end_ns;
  if (!blocked && !inside) {
    std::vector<Deferred>& deferred = deferred_[{thread, key, place}];
    if (deferred.empty() || deferred.back().before != before)
      deferred.push_back({.before = before});
    deferred.back().ns += state.end_ns - state.start_ns;
    const Contention contention = ContentionIn(thread, state.start_ns, state.end_ns);
    deferred.back().contention.own_ns += contention.own_ns;
    deferred.back().contention.workers_ns += contention.workers_ns;
    return;
  }
  auto& found = found_[{thread, place.base, key}];
  const HostSample* sample = blocked ? before : &*next++;
  for (int64_t now = state.start_ns; now < state.end_ns;) {
    int64_t until = state.end_ns;
    if (next != samples.end()) until = std::min(until, next->time_ns);
    Part& part = found[{sample->stack_id, static_cast<int>(sample->state)}];
    part.sample = sample;
    part.ns += until - now;
    Emit(place, state, *sample, until - now, ContentionIn(thread, now, until));
    if (next == samples.end()) break;
    now = until;
    sample = &*next++;
  }
}

// The thread that holds the GIL for which this one waits.
const HostSample& SampledIdle::Culprit(const HostSample& sample) const {
  if (sample.state != ThreadState::kLock || sample.gil_wait_ns < kMinGilWaitNs) return sample;
  const HostSample* holder = nullptr;
  for (const auto& [thread, samples] : samples_) {
    if (thread.first != sample.process_id || thread.second == sample.thread_id) continue;
    const auto after = FirstAfter(samples, sample.time_ns);
    if (after == samples.begin()) continue;
    const HostSample& other = *std::prev(after);
    if (!Runs(other.state) || other.stack_id == 0 || other.until_ns < sample.time_ns) continue;
    if (holder == nullptr || other.cpu_ns > holder->cpu_ns) holder = &other;
  }
  return holder == nullptr ? sample : *holder;
}

void SampledIdle::PutContention(const Place& place, const HostState& state, int64_t contended_ns,
                                int64_t& ns) const {
  contended_ns = std::min(contended_ns, ns);
  if (contended_ns <= 0) return;
  HostState contention = state;
  contention.kind = TreeKind::kContention;
  contention.user = contention.inner = {};
  put_(place, contention, 0, contended_ns);
  ns -= contended_ns;
}

void SampledIdle::Emit(const Place& place, const HostState& state, const HostSample& sample,
                       int64_t ns, const Contention& contention) {
  const bool divisible = state.kind == TreeKind::kHost || state.kind == TreeKind::kDispatch;
  const bool runs = divisible && Runs(sample.state);
  if (runs) PutContention(place, state, contention.own_ns, ns);
  HostState named = state;
  const HostSample* culprit = &sample;
  if (sample.stack_id != 0) {
    const StackMeaning own = stacks_.Of(sample.stack_id, sample.state);
    // The device is idle, so a thread that waits for its result may have the result and need the
    // GIL.
    const bool waits = own.kind == TreeKind::kLock || own.kind == TreeKind::kSync;
    if (waits) culprit = &Culprit(sample);
    const StackMeaning meaning =
        culprit == &sample ? own : stacks_.Of(culprit->stack_id, culprit->state);
    // A range of the user is more precise than the function around it.
    if (named.user.empty()) named.user = meaning.user;
    if (divisible) {
      const bool specific = own.kind != TreeKind::kHost && own.kind != TreeKind::kDispatch;
      if (specific || (state.kind == TreeKind::kHost && state.user.empty())) named.kind = own.kind;
      if (named.inner.empty() && named.kind != TreeKind::kHost) named.inner = meaning.inner;
    }
    if (culprit != &sample) {
      named.inner = "the interpreter lock (GIL)";
      if (named.kind == TreeKind::kSync) named.kind = TreeKind::kLock;
    }
  }
  if (!runs && named.kind == TreeKind::kSync) {
    PutContention(place, state, contention.workers_ns, ns);
  }
  if (ns > 0) put_(place, named, culprit->stack_id, ns);
}

void SampledIdle::Finish() {
  for (const auto& [key, pieces] : deferred_) {
    const auto& [thread, state_key, place] = key;
    HostState state;
    std::tie(state.kind, state.user, state.inner) = state_key;
    const auto found = found_.find({thread, place.base, state_key});
    Deferred all;
    for (const Deferred& piece : pieces) {
      all.ns += piece.ns;
      all.contention.own_ns += piece.contention.own_ns;
      all.contention.workers_ns += piece.contention.workers_ns;
      if (found != found_.end()) continue;
      if (piece.before != nullptr) {
        Emit(place, state, *piece.before, piece.ns, piece.contention);
      } else {
        put_(place, state, 0, piece.ns);
      }
    }
    if (found == found_.end()) continue;
    int64_t total_ns = 0;
    for (const auto& [of, part] : found->second) total_ns += part.ns;
    // Shares of the remaining time, so that rounding loses nothing.
    int64_t left_ns = all.ns;
    Contention left = all.contention;
    for (const auto& [of, part] : found->second) {
      const double share = static_cast<double>(part.ns) / static_cast<double>(total_ns);
      const int64_t ns = total_ns == part.ns ? left_ns : Share(left_ns, share);
      const Contention contention = {
          total_ns == part.ns ? left.own_ns : Share(left.own_ns, share),
          total_ns == part.ns ? left.workers_ns : Share(left.workers_ns, share)};
      if (ns > 0) Emit(place, state, *part.sample, ns, contention);
      total_ns -= part.ns;
      left_ns -= ns;
      left.own_ns -= contention.own_ns;
      left.workers_ns -= contention.workers_ns;
      if (total_ns <= 0) break;
    }
  }
  deferred_.clear();
}

SampledIdle::Contention SampledIdle::ContentionIn(Thread thread, int64_t start_ns,
                                                  int64_t end_ns) const {
  return {Contended(thread, start_ns, end_ns), workers_.Within(thread.first, start_ns, end_ns)};
}

int64_t SampledIdle::Contended(Thread thread, int64_t start_ns, int64_t end_ns) const {
  const auto uses = uses_.find(thread);
  if (uses == uses_.end()) return 0;
  auto at =
      std::partition_point(uses->second.begin(), uses->second.end(),
                           [&](const model::ThreadUse* use) { return use->end_ns <= start_ns; });
  double contended = 0;
  for (; at != uses->second.end() && (*at)->start_ns < end_ns; ++at) {
    const model::ThreadUse& use = **at;
    const auto runnable = static_cast<double>(use.cpu_ns + use.run_delay_ns);
    const auto overlap =
        static_cast<double>(std::min(end_ns, use.end_ns) - std::max(start_ns, use.start_ns));
    if (runnable > 0) contended += overlap * static_cast<double>(use.run_delay_ns) / runnable;
  }
  return std::min(static_cast<int64_t>(contended), end_ns - start_ns);
}

}  // namespace xlatrace::analysis::time_tree
