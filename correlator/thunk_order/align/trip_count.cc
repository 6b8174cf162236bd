// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/align/trip_count.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "correlator/thunk_order/order_limits.h"

namespace xlatrace::correlator {
namespace {

class TripCounter {
 public:
  TripCounter(std::span<const ThunkProgram* const> programs, const std::vector<LaunchCase>& cases,
              std::span<const uint32_t> launches, SequenceEnds ends, bool blind,
              std::vector<Anchor>* anchors)
      : programs_(programs),
        cases_(cases),
        launches_(launches),
        open_start_(ends.may_be_cut_off && !ends.clean_start),
        open_end_(ends.may_be_cut_off && !ends.clean_end),
        blind_(blind),
        anchors_(*anchors) {}

  void Run();

 private:
  bool MayBeOfNeighbour(size_t first, size_t past) const;
  bool MayBeOfCutOff(size_t a, uint32_t token, bool at_end) const;
  bool CountBetween(size_t first, size_t past);
  // For loops without a known trip count: uses the kernels outside of these loops.
  void CountMarkersBetween(size_t first, size_t past);

  // Anchors of one execution.
  struct Stretch {
    uint32_t program;
    size_t first;
    size_t past;
  };
  // Candidate tokens of the program for an anchor.
  std::vector<uint32_t> TokensOf(size_t a, uint32_t program) const;
  // True if all its candidates are markers.
  bool IsMarker(size_t a, uint32_t program, const std::set<uint32_t>& markers) const;
  // The anchors that are markers. Removes tokens that are not markers from `expected`.
  std::vector<size_t> SeeMarkers(const Stretch& stretch, std::vector<uint32_t>* expected) const;
  // The token of each observed marker; empty if too many are lost.
  std::vector<uint32_t> PlaceMarkers(const Stretch& stretch, const std::vector<size_t>& seen,
                                     const std::vector<uint32_t>& expected) const;

  std::span<const ThunkProgram* const> programs_;
  const std::vector<LaunchCase>& cases_;
  std::span<const uint32_t> launches_;
  bool open_start_;
  bool open_end_;
  bool blind_;
  std::vector<Anchor>& anchors_;
};

void TripCounter::Run() {
  for (size_t a = 0; a < anchors_.size();) {
    if (anchors_[a].IsSure()) {
      ++a;
      continue;
    }
    size_t past = a + 1;
    while (past < anchors_.size() && !anchors_[past].IsSure() &&
           anchors_[past].item.execution == anchors_[a].item.execution) {
      ++past;
    }
    if (!CountBetween(a, past)) CountMarkersBetween(a, past);
    a = past;
  }
}

// At the border to another execution, a record may belong to that one if both lost some: the count
// is as expected either way.
bool TripCounter::MayBeOfNeighbour(size_t first, size_t past) const {
  const auto may_be = [&](size_t a, const AlignedItem& neighbour, bool before) {
    if (neighbour.execution == anchors_[a].item.execution) return false;
    const ThunkProgram& program = *programs_[neighbour.program];
    const auto& can_be = cases_[launches_[anchors_[a].launch]].candidates;
    return std::any_of(can_be.begin(), can_be.end(), [&](const Candidate& c) {
      return c.program == neighbour.program &&
             (before ? program.Skipped(neighbour.token, c.token)
                     : program.Skipped(c.token, neighbour.token)) >= 0;
    });
  };
  return (first > 0 && may_be(first, anchors_[first - 1].item, true)) ||
         (past < anchors_.size() && may_be(past - 1, anchors_[past].item, false));
}

// Beyond an end that may be cut off, there may be another execution with anchor `a`, the outermost
// one, as its only record. Then this execution lost the record of `token` or another one.
bool TripCounter::MayBeOfCutOff(size_t a, uint32_t token, bool at_end) const {
  const uint32_t of = anchors_[a].item.program;
  const uint32_t own = programs_[of]->tokens()[token].instruction;
  const auto& can_be = cases_[launches_[anchors_[a].launch]].candidates;
  return std::any_of(can_be.begin(), can_be.end(), [&](const Candidate& c) {
    const ThunkProgram& program = *programs_[c.program];
    if (c.program == of && program.tokens()[c.token].instruction == own) return false;
    return (at_end ? program.Skipped(ThunkProgram::kStartIndex, c.token)
                   : program.SkippedToEnd(c.token)) == 0;
  });
}

// Anchors [first, past) are in doubt, and those on both sides are not. If XLA determined the trip
// counts of all loops between these two, the kernels launched there are known, with order and
// number. If the number of anchors is equal, each is one of these kernels. True if this identified
// them.
bool TripCounter::CountBetween(size_t first, size_t past) {
  const AlignedItem& any = anchors_[first].item;
  const ThunkProgram& program = *programs_[any.program];
  const auto same_execution = [&](size_t a) {
    return a < anchors_.size() && anchors_[a].item.execution == any.execution;
  };
  const bool begins = first == 0 || !same_execution(first - 1);
  const bool ends = !same_execution(past);
  std::vector<uint32_t> kernels;
  std::vector<uint32_t> optional;
  if (!program.KernelsBetween(
          begins ? ThunkProgram::kStartIndex : anchors_[first - 1].item.token,
          ends ? static_cast<uint32_t>(program.size()) : anchors_[past].item.token,
          kMaxUnrolledLaunches, &kernels, &optional)) {
    return false;
  }
  const size_t count = past - first;
  const bool all = kernels.size() == count;
  const size_t lost = kernels.size() - count;
  const size_t forgiven = std::min(std::max<size_t>(2, count / kMinLaunchesPerLost),
                                   count / kMinStretchLaunchesPerLost);
  if (!all && (kernels.size() < count || lost > forgiven)) return false;
  // No other launch of the module may remain in between.
  const uint32_t begin = begins ? anchors_[first].launch : anchors_[first - 1].launch;
  const uint32_t end = ends ? anchors_[past - 1].launch : anchors_[past].launch;
  size_t candidates = 0;
  for (uint32_t i = begin; i <= end; ++i) candidates += !cases_[launches_[i]].candidates.empty();
  if (candidates != count + (begins ? 0 : 1) + (ends ? 0 : 1)) return false;
  std::vector<uint32_t> tokens;
  size_t next = 0;
  for (size_t a = first; a < past; ++a) {
    const std::vector<Candidate>& can_be = cases_[launches_[anchors_[a].launch]].candidates;
    for (const Candidate& c : can_be) {
      if (c.program != any.program) continue;
      if (std::binary_search(optional.begin(), optional.end(), c.token)) return false;
    }
    const auto fits = [&](uint32_t token) {
      return std::any_of(can_be.begin(), can_be.end(), [&](const Candidate& c) {
        return c.program == any.program && c.token == token;
      });
    };
    while (next < kernels.size() && !fits(kernels[next])) ++next;
    if (next == kernels.size()) return false;
    tokens.push_back(kernels[next++]);
  }
  const bool cut_off =
      (open_start_ && first == 0 && MayBeOfCutOff(first, tokens.front(), false)) ||
      (open_end_ && past == anchors_.size() && MayBeOfCutOff(past - 1, tokens.back(), true));
  const Doubt doubt = !all                            ? Doubt::kTripsLost
                      : blind_                        ? Doubt::kHiddenByGraph
                      : MayBeOfNeighbour(first, past) ? Doubt::kAnotherInstruction
                      : cut_off                       ? Doubt::kCutOff
                                                      : Doubt::kNone;
  for (size_t a = first; a < past; ++a) {
    AlignedItem& item = anchors_[a].item;
    item.token = tokens[a - first];
    if (!MayBeOfAnotherModule(item.doubt)) item.doubt = doubt;
  }
  return true;
}

std::vector<uint32_t> TripCounter::TokensOf(size_t a, uint32_t program) const {
  std::vector<uint32_t> tokens;
  for (const Candidate& c : cases_[launches_[anchors_[a].launch]].candidates) {
    if (c.program == program) tokens.push_back(c.token);
  }
  return tokens;
}

bool TripCounter::IsMarker(size_t a, uint32_t program, const std::set<uint32_t>& markers) const {
  const std::vector<uint32_t> tokens = TokensOf(a, program);
  return std::all_of(tokens.begin(), tokens.end(), [&](uint32_t t) { return markers.contains(t); });
}

std::vector<size_t> TripCounter::SeeMarkers(const Stretch& stretch,
                                            std::vector<uint32_t>* expected) const {
  std::set<uint32_t> markers(expected->begin(), expected->end());
  // Other candidates of an anchor are not markers, either. Removing them may give another anchor
  // such candidates, so this repeats.
  for (size_t before_pass = markers.size() + 1; before_pass != markers.size();) {
    before_pass = markers.size();
    for (size_t a = stretch.first; a < stretch.past; ++a) {
      if (IsMarker(a, stretch.program, markers)) continue;
      for (const uint32_t t : TokensOf(a, stretch.program)) markers.erase(t);
    }
  }
  std::erase_if(*expected, [&](uint32_t t) { return !markers.contains(t); });
  std::vector<size_t> seen;
  for (size_t a = stretch.first; a < stretch.past; ++a) {
    if (IsMarker(a, stretch.program, markers)) seen.push_back(a);
  }
  return seen;
}

std::vector<uint32_t> TripCounter::PlaceMarkers(const Stretch& stretch,
                                                const std::vector<size_t>& seen,
                                                const std::vector<uint32_t>& expected) const {
  if (seen.empty() || seen.size() > expected.size()) return {};
  const size_t lost = expected.size() - seen.size();
  if (lost > seen.size() / kMinStretchLaunchesPerLost ||
      lost > std::max<size_t>(2, seen.size() / kMinMarkersPerLost)) {
    return {};
  }
  std::vector<uint32_t> place;
  size_t next = 0;
  for (const size_t a : seen) {
    const std::vector<uint32_t> tokens = TokensOf(a, stretch.program);
    const auto fits = [&](uint32_t t) {
      return std::find(tokens.begin(), tokens.end(), t) != tokens.end();
    };
    while (next < expected.size() && !fits(expected[next])) ++next;
    if (next == expected.size()) return {};
    place.push_back(expected[next++]);
  }
  return place;
}

// Trips of a loop without a known count cannot be counted, but the kernels outside of such loops
// run a known number of times. They are markers. Anchors whose candidates are all markers are
// matched with the expected markers in order, without a few lost ones. Between two markers, only
// the tokens between them are possible, and an anchor with a single remaining token gets it.
// Nothing here becomes certain, even without a lost marker, because the part in between was
// estimated before.
void TripCounter::CountMarkersBetween(size_t first, size_t past) {
  const AlignedItem any = anchors_[first].item;
  const ThunkProgram& program = *programs_[any.program];
  const auto begins = [&] {
    return first == 0 || anchors_[first - 1].item.execution != any.execution;
  };
  const auto ends = [&] {
    return past == anchors_.size() || anchors_[past].item.execution != any.execution;
  };
  const auto before = [&] {
    return begins() ? ThunkProgram::kStartIndex : anchors_[first - 1].item.token;
  };
  const auto behind = [&] {
    return ends() ? static_cast<uint32_t>(program.size()) : anchors_[past].item.token;
  };
  // From outside of the loops, because the known trips cover all of a loop.
  while (!begins() &&
         (!anchors_[first - 1].IsSure() || program.InLoopWithout(before(), behind()))) {
    --first;
  }
  while (!ends() && (!anchors_[past].IsSure() || program.InLoopWithout(behind(), before()))) {
    ++past;
  }
  std::vector<uint32_t> expected;
  if (!program.MarkersBetween(before(), behind(), kMaxUnrolledLaunches, &expected)) return;
  const Stretch stretch{any.program, first, past};
  const std::vector<size_t> seen = SeeMarkers(stretch, &expected);
  const std::vector<uint32_t> place = PlaceMarkers(stretch, seen, expected);
  if (place.empty()) return;
  const auto take = [&](size_t a, uint32_t token) {
    AlignedItem& item = anchors_[a].item;
    if (item.doubt == Doubt::kNone) return;
    item.token = token;
    if (item.doubt == Doubt::kEqualInstruction) item.doubt = Doubt::kTripsLost;
  };
  for (size_t k = 0; k <= seen.size(); ++k) {
    const uint32_t from = k == 0 ? before() : place[k - 1];
    const uint32_t to = k == seen.size() ? behind() : place[k];
    const std::vector<uint32_t> between = program.Between(from, to);
    const std::set<uint32_t> possible(between.begin(), between.end());
    const size_t end = k == seen.size() ? past : seen[k];
    for (size_t a = k == 0 ? first : seen[k - 1] + 1; a < end; ++a) {
      std::vector<uint32_t> tokens = TokensOf(a, any.program);
      std::erase_if(tokens, [&](uint32_t t) { return !possible.contains(t); });
      if (tokens.size() == 1) take(a, tokens.front());
    }
    if (k < seen.size()) take(seen[k], place[k]);
  }
}

}  // namespace

void CountTrips(std::span<const ThunkProgram* const> programs, const std::vector<LaunchCase>& cases,
                std::span<const uint32_t> launches, SequenceEnds ends, bool blind,
                std::vector<Anchor>* anchors) {
  TripCounter(programs, cases, launches, ends, blind, anchors).Run();
}

}  // namespace xlatrace::correlator
