// SPDX-License-Identifier: Apache-2.0
#include "fleet/job_path.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::fleet {
namespace {

// Collectives of one step of a rank, ordered by their ends.
class LetGo {
 public:
  explicit LetGo(const std::vector<PathCollective>& by_end) : by_end_(by_end) {
    const PathCollective* waited = nullptr;
    for (const PathCollective& collective : by_end) {
      waited_.push_back(waited);
      if (collective.waited) waited = &collective;
    }
    waited_.push_back(waited);
  }

  // The last collective before `place` that ended by `at_ns` and released the rank. `stream`:
  // stream of the collective that began.
  const PathCollective* Before(int64_t at_ns, size_t place, std::optional<int64_t> stream) const {
    const auto after = std::upper_bound(
        by_end_.begin(), by_end_.begin() + static_cast<std::ptrdiff_t>(place), at_ns,
        [](int64_t ns, const PathCollective& collective) { return ns < collective.end_ns; });
    auto at = static_cast<size_t>(after - by_end_.begin());
    for (; stream && at > 0 && by_end_[at - 1].end_ns >= at_ns - kRightBeforeNs; --at) {
      const PathCollective& collective = by_end_[at - 1];
      if (collective.waited || collective.stream == *stream) return &collective;
    }
    return waited_[at];
  }

 private:
  const std::vector<PathCollective>& by_end_;
  std::vector<const PathCollective*> waited_;  // The last collective with waiting before each
                                               // place.
};

void Thin(std::vector<PathSegment>& segments) {
  const size_t one_in = segments.size() / kMaxSegments + 1;
  size_t step = 0, kept = 0;
  std::optional<int64_t> number;
  for (const PathSegment& segment : segments) {
    if (number && segment.step != *number) ++step;
    number = segment.step;
    if (step % one_in == 0) segments[kept++] = segment;
  }
  segments.resize(kept);
}

}  // namespace

void JobPath::AddStep(size_t rank, const PathStep& step, std::vector<PathCollective> collectives) {
  std::sort(
      collectives.begin(), collectives.end(), [](const PathCollective& a, const PathCollective& b) {
        return std::tie(a.end_ns, a.start_ns, a.number) < std::tie(b.end_ns, b.start_ns, b.number);
      });
  const LetGo let_go(collectives);
  const auto own_ns = [&](const PathCollective* from, int64_t until_ns) {
    return std::max<int64_t>(until_ns - (from != nullptr ? from->end_ns : step.start_ns), 0);
  };
  for (size_t c = 0; c < collectives.size(); ++c) {
    const PathCollective& collective = collectives[c];
    if (ways_.size() <= collective.number) ways_.resize(collective.number + 1);
    if (!collective.last) continue;
    const PathCollective* from = let_go.Before(collective.start_ns, c, collective.stream);
    ways_[collective.number] = {.from = from != nullptr ? from->number : kStartIndex,
                                .rank = static_cast<uint32_t>(rank),
                                .own_ns = own_ns(from, collective.start_ns),
                                .exchange_ns = collective.end_ns - collective.start_ns,
                                .lead_ns = collective.lead_ns};
  }
  const PathCollective* from = let_go.Before(step.end_ns, collectives.size(), std::nullopt);
  ends_[rank].push_back({.number = step.number,
                         .start_ns = step.start_ns,
                         .end_ns = step.end_ns,
                         .own_ns = own_ns(from, step.end_ns),
                         .from = from != nullptr ? from->number : kStartIndex});
  Steps& steps = steps_[step.number];
  ++steps.ranks;
  steps.steady += step.steady ? 1 : 0;
  steps.step_ns += step.end_ns - step.start_ns;
  steps.untold_ns += step.untold_ns;
}

const JobPath::End* JobPath::EndOf(size_t rank, int64_t step) const {
  const auto at =
      std::lower_bound(ends_[rank].begin(), ends_[rank].end(), step,
                       [](const End& end, int64_t number) { return end.number < number; });
  return at != ends_[rank].end() && at->number == step ? &*at : nullptr;
}

std::vector<PathSegment> JobPath::Walk(const std::function<size_t(int64_t step)>& ends_last) const {
  std::vector<PathSegment> back;
  const auto add = [&](const PathSegment& segment) {
    if (segment.own_ns > 0 || segment.collectives > 0) back.push_back(segment);
  };
  const End* later = nullptr;  // The next step, on the rank on which it began.
  size_t rank = 0;
  for (auto at = steps_.rbegin(); at != steps_.rend(); ++at) {
    const int64_t number = at->first;
    if (at->second.ranks < ends_.size()) {
      later = nullptr;
      continue;
    }
    // Steps follow each other without a hole, or with a negligible one.
    const End* end = later != nullptr ? EndOf(rank, number) : nullptr;
    if (end == nullptr || later->start_ns - end->end_ns > (later->end_ns - later->start_ns) / 100) {
      rank = ends_last(number);
      end = EndOf(rank, number);
    }
    PathSegment segment{.step = number, .rank = rank, .own_ns = end->own_ns};
    size_t hops = 0;
    for (uint32_t from = end->from; from != kStartIndex;) {
      const Way& way = ways_[from];
      if (way.rank == UINT32_MAX || ++hops > ways_.size()) return {};
      if (way.rank != segment.rank) {
        segment.from = from;
        add(segment);
        segment = {.step = number, .rank = way.rank, .to = from};
      }
      segment.own_ns += way.own_ns;
      segment.exchange_ns += way.exchange_ns;
      segment.lead_ns += way.lead_ns;
      ++segment.collectives;
      from = way.from;
    }
    add(segment);
    rank = segment.rank;
    later = EndOf(rank, number);
  }
  std::reverse(back.begin(), back.end());
  return back;
}

PathAnswer FindPath(const JobPath& path, const std::function<size_t(int64_t step)>& ends_last) {
  PathAnswer answer;
  const size_t ranks = path.ranks();
  const auto whole = [&](const JobPath::Steps& steps) { return steps.ranks == ranks; };
  bool any_steady = false;
  const auto steady = [](const JobPath::Steps& steps) { return 2 * steps.steady > steps.ranks; };
  for (const auto& [number, steps] : path.steps()) {
    any_steady = any_steady || (whole(steps) && steady(steps));
  }
  const auto counts = [&](const JobPath::Steps& steps) {
    return whole(steps) && (!any_steady || steady(steps));
  };
  double ranks_ns = 0, untold_ns = 0;
  for (const auto& [number, steps] : path.steps()) {
    if (!counts(steps)) continue;
    ++answer.steps;
    ranks_ns += static_cast<double>(steps.step_ns);
    untold_ns += static_cast<double>(steps.untold_ns);
  }
  if (ranks < 2 || answer.steps == 0 || ranks_ns <= 0) {
    answer.why_not = ranks < 2 ? "there is one rank" : "ranks have no step in common";
    return answer;
  }
  if (untold_ns >= kUntoldShare * ranks_ns) {
    answer.why_not = fmt::format(
        "{}% of the steps goes to collectives of which it is not known who comes last: not all "
        "of their ranks are here, or they do not make ranks wait for each other",
        Percent(untold_ns, ranks_ns));
    return answer;
  }
  answer.segments = path.Walk(ends_last);
  if (answer.segments.empty()) {
    answer.why_not = "collectives follow each other in a cycle, so their pairing is wrong";
    return answer;
  }
  answer.shares.resize(ranks);
  for (const PathSegment& segment : answer.segments) {
    if (!counts(path.steps().at(segment.step))) continue;
    answer.path_ns += segment.own_ns + segment.exchange_ns;
    answer.exchange_ns += segment.exchange_ns;
    answer.shares[segment.rank].own_ns += segment.own_ns;
    answer.shares[segment.rank].lead_ns += segment.lead_ns;
  }
  const double off =
      static_cast<double>(answer.path_ns) * static_cast<double>(ranks) / ranks_ns - 1;
  if (std::abs(off) > kPathErrorTolerance) {
    answer.why_not = fmt::format(
        "ranks do not leave collectives together: what is found takes {}% {} than the steps",
        Percent(std::abs(off), 1), off > 0 ? "longer" : "less");
    answer.segments.clear();
  }
  Thin(answer.segments);
  return answer;
}

std::string PathSentence(const PathAnswer& answer, const std::vector<std::string>& names) {
  if (!answer.why_not.empty()) {
    return fmt::format("The critical path over ranks is not known: {}", answer.why_not);
  }
  const auto most =
      std::max_element(answer.shares.begin(), answer.shares.end(),
                       [](const PathShare& a, const PathShare& b) { return a.own_ns < b.own_ns; });
  const auto percent = [&](int64_t ns) {
    return 100 * static_cast<double>(ns) / static_cast<double>(answer.path_ns);
  };
  const std::string& name = names[static_cast<size_t>(most - answer.shares.begin())];
  const double lead_ns = static_cast<double>(most->lead_ns) / static_cast<double>(answer.steps);
  const std::string exchange =
      fmt::format("{}% is exchange", Percent(percent(answer.exchange_ns), 100));
  const bool even = percent(most->lead_ns) < 100 * kMinLeadShare;
  return fmt::format(
      "{}% of the critical path over ranks is on {}, which reaches exchanges {} after the "
      "last rank but one{}; {}",
      Percent(percent(most->own_ns), 100), name, Duration(lead_ns), even ? " (ranks are even)" : "",
      exchange);
}

}  // namespace xlatrace::fleet
