// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/replay/replay.h"
#include "base/hash.h"

namespace xlatrace::analysis::replay {
namespace {

constexpr int64_t kMaxSchedulingNs = 20'000;
constexpr int64_t kMinOthers = 2;

// A binding lag with its kind and the labels on both sides.
struct Sample {
  uint64_t key = 0;
  int64_t lag_ns = 0;
  uint32_t edge = 0;
  int64_t step = -1;
};

uint64_t KeyOf(const Graph& graph, const Input& input, size_t node, const Edge& edge) {
  // The hash includes the kernel, so nodes without instruction differ by kernel.
  uint64_t key = static_cast<uint64_t>(edge.kind);
  for (const size_t of : {node, static_cast<size_t>(edge.from)}) {
    const Node& at = graph.nodes[of];
    key = Mix(key, static_cast<uint64_t>(at.kind));
    key = Mix(key, input.attribution.label_of[at.what]);
    key = Mix(key, input.run.activities.config[at.what]);
  }
  return key;
}

// Those of a key together, by step and edge. Keys are few and edges come in the order of time, so
// this is one pass; sorting would take as long as the replay.
std::vector<Sample> ByKey(const std::vector<Sample>& samples) {
  std::unordered_map<uint64_t, uint32_t> number_of;
  std::vector<uint32_t> numbers;
  std::vector<size_t> first = {0};
  numbers.reserve(samples.size());
  for (const Sample& sample : samples) {
    const auto [known, is_new] =
        number_of.emplace(sample.key, static_cast<uint32_t>(number_of.size()));
    if (is_new) first.push_back(0);
    ++first[known->second + 1];
    numbers.push_back(known->second);
  }
  for (size_t k = 1; k < first.size(); ++k) first[k] += first[k - 1];
  std::vector<size_t> next(first.begin(), first.end() - 1);
  std::vector<Sample> sorted(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) sorted[next[numbers[i]]++] = samples[i];
  const auto before = [](const Sample& a, const Sample& b) {
    return std::tie(a.step, a.edge) < std::tie(b.step, b.edge);
  };
  for (size_t k = 0; k + 1 < first.size(); ++k) {
    const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(first[k]);
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(first[k + 1]);
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
  }
  return sorted;
}

std::vector<Sample> Collect(const Graph& graph, const Input& input) {
  std::vector<Sample> samples;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    for (size_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      // The host's work between two calls is a duration, like that of an op.
      if (!edge.binding || edge.kind == EdgeKind::kThread) continue;
      // Without steps every occurrence counts as a step.
      const int64_t step = graph.whole_run ? static_cast<int64_t>(e)
                                           : input.step_of[graph.nodes[node].what].value_or(-1);
      samples.push_back(
          {KeyOf(graph, input, node, edge), edge.lag_ns, static_cast<uint32_t>(e), step});
    }
  }
  return ByKey(samples);
}

enum class Typical : uint8_t { kMean, kMedian };

// Typical lag of a key, without the lags of one step.
class Others {
 public:
  Others(std::vector<Sample>::const_iterator first, std::vector<Sample>::const_iterator last,
         Typical typical)
      : count_(last - first), typical_(typical) {
    for (auto at = first; at != last; ++at) sum_ += at->lag_ns;
    if (typical == Typical::kMean) return;
    for (auto at = first; at != last; ++at) sorted_.emplace_back(at->lag_ns, at->step);
    std::sort(sorted_.begin(), sorted_.end());
  }

  // `own`: the samples of the step, `own_ns` their sum. At least one other.
  int64_t Of(int64_t step, int64_t own, int64_t own_ns) const {
    if (typical_ == Typical::kMean) return (sum_ - own_ns) / (count_ - own);
    int64_t skip = (count_ - own - 1) / 2;
    if (own == 1) {  // As each is of a run without steps: no walk through all of them.
      const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(own_ns, step));
      if (at - sorted_.begin() <= skip) ++skip;
      return sorted_[static_cast<size_t>(skip)].first;
    }
    for (const auto& [lag, of_step] : sorted_) {
      if (of_step != step && skip-- == 0) return lag;
    }
    return 0;
  }

 private:
  int64_t count_ = 0;
  Typical typical_;
  int64_t sum_ = 0;
  std::vector<std::pair<int64_t, int64_t>> sorted_;
};

// `first` to `last` are the lags of one key, by step.
void Replace(const Graph& graph, std::vector<Sample>::const_iterator first,
             std::vector<Sample>::const_iterator last, Typical typical, std::vector<Edge>& edges) {
  const Others all(first, last, typical);
  for (auto at = first; at != last;) {
    auto end = at;
    int64_t own_ns = 0;
    for (; end != last && end->step == at->step; ++end) own_ns += end->lag_ns;
    const int64_t own = end - at;
    const int64_t others = last - first - own;
    const bool enough = others >= kMinOthers;
    const int64_t lag = enough ? all.Of(at->step, own, own_ns) : 0;
    for (; at != end; ++at) {
      const bool scheduling = std::abs(at->lag_ns) < kMaxSchedulingNs;
      Edge& edge = edges[at->edge];
      if (enough && (!graph.whole_run || scheduling)) {
        edge.lag_ns = lag;
      } else if (scheduling && at->lag_ns >= 0) {
        edge.lag_ns = graph.usual_lag_ns[static_cast<size_t>(edge.kind)];
      }
    }
  }
}

std::optional<ReplayError> ErrorWith(const Graph& graph, const std::vector<Sample>& samples,
                                     Typical typical, std::vector<Edge>& edges, Times& times) {
  edges = graph.edges;
  for (auto at = samples.begin(); at != samples.end();) {
    auto end = at;
    while (end != samples.end() && end->key == at->key) ++end;
    Replace(graph, at, end, typical, edges);
    at = end;
  }
  ReplayInto(graph, {}, edges, times);
  std::vector<int64_t> errors;
  for (const Span& span : graph.spans) {
    const int64_t recorded = span.end_ns - span.start_ns;
    if (recorded <= 0) continue;
    const int64_t off = std::abs(LengthOf(span, times) - recorded);
    errors.push_back(
        static_cast<int64_t>(100'000.0 * static_cast<double>(off) / static_cast<double>(recorded)));
  }
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end());
  return ReplayError{errors[errors.size() / 2], errors.back(), errors.size()};
}

}  // namespace

std::optional<ReplayError> MeasureError(const Graph& graph, const Input& input) {
  const std::vector<Sample> samples = Collect(graph, input);
  std::vector<Edge> edges;
  Times times;
  const std::optional<ReplayError> mean = ErrorWith(graph, samples, Typical::kMean, edges, times);
  if (!mean || mean->milli_pct == 0) return mean;
  const std::optional<ReplayError> median =
      ErrorWith(graph, samples, Typical::kMedian, edges, times);
  return median->milli_pct < mean->milli_pct ? median : mean;
}

}  // namespace xlatrace::analysis::replay
