// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/fill/window_assignment.h"

#include <algorithm>
#include <limits>

#include "correlator/thunk_order/order_limits.h"

namespace xlatrace::correlator {
namespace {

int64_t FitLibrary(LibraryKind call, LibraryKind kernel) {
  if (kernel == LibraryKind::kAny) return 0;
  if (call == kernel) return 0;
  if (call == LibraryKind::kAny) return 1;
  const bool part = call == LibraryKind::kFactorization && kernel == LibraryKind::kTriangularSolve;
  const bool sorts = (call == LibraryKind::kTopK && kernel == LibraryKind::kSort) ||
                     (call == LibraryKind::kSort && kernel == LibraryKind::kScan);
  return part || sorts ? 1 : fill::kOtherLibraryCost;
}

// Cost of assigning the activity as the first (or a further) one of a thunk. It is 0 if such a
// thunk always launches such an activity, more if this is less usual, and kInfiniteCost if
// impossible.
int64_t Fit(const ThunkToken& thunk, const WindowActivity& activity, bool first) {
  const LaunchKind kind = activity.kind;
  const bool kernel = kind == LaunchKind::kGemm || kind == LaunchKind::kGemmPart ||
                      kind == LaunchKind::kConvolution || kind == LaunchKind::kLibrary ||
                      kind == LaunchKind::kOtherKernel;
  switch (thunk.kind) {
    case ThunkKind::kKernel:
      // With its own symbol it would be an anchor.
      if (!thunk.may_copy) return kInfiniteCost;
      if (kind != LaunchKind::kDeviceCopy && !(thunk.to_host && kind == LaunchKind::kHostCopy)) {
        return kInfiniteCost;
      }
      return first || thunk.copies > 1 ? 0 : kInfiniteCost;
    case ThunkKind::kGemm:
      if (kind == LaunchKind::kGemm) return first ? 0 : 3;
      if (kind == LaunchKind::kGemmPart) return first ? 4 : 0;
      if (kind == LaunchKind::kMemset) return 1;
      if (activity.library != LibraryKind::kAny) return fill::kOtherLibraryCost;
      return kernel ? (first ? 2 : 3) : kInfiniteCost;
    case ThunkKind::kConvolution:
      if (kind == LaunchKind::kConvolution || kind == LaunchKind::kGemm) return first ? 0 : 1;
      if (kind == LaunchKind::kMemset) return 1;
      return kernel ? 1 : kInfiniteCost;
    case ThunkKind::kLibrary:
      if (kind == LaunchKind::kLibrary) return FitLibrary(thunk.library, activity.library);
      // Preparation of a call precedes it, and scaling of its result follows it.
      if (kind == LaunchKind::kMemset || kind == LaunchKind::kDeviceCopy) return first ? 1 : 2;
      return kernel ? (first ? 2 : 1) : kInfiniteCost;
    case ThunkKind::kCollective:
      if (kind == LaunchKind::kCollective) {
        const bool same = activity.collective == CollectiveKind::kAny ||
                          thunk.collective == CollectiveKind::kAny ||
                          activity.collective == thunk.collective;
        if (!same) return kInfiniteCost;
        return first ? 0 : 4;
      }
      return kind == LaunchKind::kDeviceCopy ? (first ? 2 : 1) : kInfiniteCost;
    case ThunkKind::kCopy:
      if (!first) return kInfiniteCost;
      if (kind == LaunchKind::kHostCopy) return thunk.to_host ? 0 : kInfiniteCost;
      return kind == LaunchKind::kDeviceCopy ? 0 : kInfiniteCost;
    case ThunkKind::kHostCopy:
      if (kind == LaunchKind::kPredicate) return 0;
      return first && kind == LaunchKind::kHostCopy ? 0 : kInfiniteCost;
    case ThunkKind::kMemset:
      return first && kind == LaunchKind::kMemset ? 0 : kInfiniteCost;
    case ThunkKind::kGraph:
      return kInfiniteCost;  // Its row is an anchor.
    case ThunkKind::kAnything:
      if (kind == LaunchKind::kOtherKernel || kind == LaunchKind::kXlaKernel) return first ? 0 : 1;
      if (kind == LaunchKind::kCollective || kind == LaunchKind::kGraph) return kInfiniteCost;
      return 2;
  }
  return kInfiniteCost;
}

// Cost of a thunk without an activity: `skip` if it must have launched one.
int64_t OwedCost(const WindowToken& token, int64_t skip) {
  if (token.taken || token.thunk.optional || token.thunk.kind == ThunkKind::kGraph) return 0;
  // A kernel with its own symbol would be an anchor, and a missing one was counted there.
  return token.thunk.kind == ThunkKind::kKernel && !token.thunk.may_copy ? 0 : skip;
}

bool IsCopyOrMemset(LaunchKind kind) {
  return kind == LaunchKind::kDeviceCopy || kind == LaunchKind::kHostCopy ||
         kind == LaunchKind::kMemset;
}

// All ways to assign the activities to the thunks in order, by dynamic programming. The table
// `forward_[a][t]` has the minimum cost of the first `a` activities; token `t - 1` is the last one
// with an activity (t = 0: none). The table `backward_[a][t]` has the cost of the remainder. An
// activity has a single choice only if no other way through the table costs nearly as little.
class Table {
 public:
  Table(std::span<const WindowToken> tokens, std::span<const WindowActivity> activities,
        int64_t skip)
      : tokens_(tokens), activities_(activities), width_(tokens.size() + 1) {
    owed_.assign(width_, 0);
    for (size_t t = 0; t < tokens.size(); ++t) owed_[t + 1] = owed_[t] + OwedCost(tokens[t], skip);
    forward_.assign((activities.size() + 1) * width_, kInfiniteCost);
    backward_.assign((activities.size() + 1) * width_, kInfiniteCost);
    forward_[0] = 0;
    for (size_t a = 0; a < activities.size(); ++a) Forward(a);
    for (size_t t = 0; t < width_; ++t) {
      backward_[activities.size() * width_ + t] = owed_[tokens.size()] - owed_[t];
    }
    for (size_t a = activities.size(); a-- > 0;) Backward(a);
  }

  std::vector<WindowChoice> Choices() const {
    std::vector<WindowChoice> choices(activities_.size());
    const int64_t best = backward_[0];
    if (best >= kInfiniteCost) return choices;
    for (size_t a = 0; a < activities_.size(); ++a) {
      int64_t chosen = kInfiniteCost;
      int64_t outside = kInfiniteCost;
      size_t ways = 0;
      const int64_t* from = &forward_[a * width_];
      const int64_t* to = &backward_[(a + 1) * width_];
      int64_t cheapest = kInfiniteCost;  // As in Forward.
      for (size_t t = 0; t < width_; ++t) {
        int64_t before = kInfiniteCost;
        if (t > 0 && to[t] < kInfiniteCost) {
          if (const int64_t fit = Fits(a, t, false);
              fit < kInfiniteCost && from[t] < kInfiniteCost) {
            before = from[t] + fit;
          }
          if (const int64_t fit = Fits(a, t, true);
              fit < kInfiniteCost && cheapest < kInfiniteCost) {
            before = std::min(before, cheapest + owed_[t - 1] + fit);
          }
        }
        if (from[t] < kInfiniteCost) cheapest = std::min(cheapest, from[t] - owed_[t]);
        if (before >= kInfiniteCost) continue;
        const int64_t through = before + to[t];
        if (through < best + fill::kSlackCost) ++ways;
        if (through < chosen) {
          chosen = through;
          choices[a].token = static_cast<uint32_t>(t - 1);
        }
      }
      for (size_t t = 0; t < width_; ++t) {
        const int64_t way = forward_[a * width_ + t];
        if (way < kInfiniteCost) {
          outside = std::min(outside, way + fill::kOutsideCost + backward_[(a + 1) * width_ + t]);
        }
      }
      if (chosen > best) {
        choices[a].token = WindowChoice::kNoTokenIndex;
      } else {
        const bool only = ways == 1 && outside >= best + fill::kSlackCost;
        choices[a].doubt = only ? Doubt::kNone : Doubt::kAnotherWay;
      }
      choices[a].last_token = choices[a].token;
    }
    return choices;
  }

 private:
  int64_t Fits(size_t activity, size_t t, bool first) const {
    if (tokens_[t - 1].taken) return kInfiniteCost;
    return Fit(tokens_[t - 1].thunk, activities_[activity], first);
  }

  void Forward(size_t a) {
    const int64_t* from = &forward_[a * width_];
    int64_t* to = &forward_[(a + 1) * width_];
    int64_t cheapest = kInfiniteCost;  // min over s < t of from[s] - owed_[s]
    for (size_t t = 0; t < width_; ++t) {
      if (from[t] < kInfiniteCost) to[t] = std::min(to[t], from[t] + fill::kOutsideCost);
      if (t > 0) {
        if (const int64_t fit = Fits(a, t, false); fit < kInfiniteCost && from[t] < kInfiniteCost) {
          to[t] = std::min(to[t], from[t] + fit);
        }
        if (const int64_t fit = Fits(a, t, true); fit < kInfiniteCost && cheapest < kInfiniteCost) {
          to[t] = std::min(to[t], cheapest + owed_[t - 1] + fit);
        }
      }
      if (from[t] < kInfiniteCost) cheapest = std::min(cheapest, from[t] - owed_[t]);
    }
  }

  void Backward(size_t a) {
    const int64_t* to = &backward_[(a + 1) * width_];
    int64_t* from = &backward_[a * width_];
    int64_t cheapest = kInfiniteCost;  // min over t > s of owed_[t - 1] + fit + to[t]
    for (size_t s = width_; s-- > 0;) {
      int64_t best = to[s] < kInfiniteCost ? to[s] + fill::kOutsideCost : kInfiniteCost;
      if (s > 0) {
        const int64_t fit = Fits(a, s, false);
        if (fit < kInfiniteCost && to[s] < kInfiniteCost) best = std::min(best, fit + to[s]);
      }
      if (cheapest < kInfiniteCost) best = std::min(best, cheapest - owed_[s]);
      from[s] = best;
      if (s > 0) {
        const int64_t fit = Fits(a, s, true);
        if (fit < kInfiniteCost && to[s] < kInfiniteCost) {
          cheapest = std::min(cheapest, owed_[s - 1] + fit + to[s]);
        }
      }
    }
  }

  std::span<const WindowToken> tokens_;
  std::span<const WindowActivity> activities_;
  size_t width_;
  std::vector<int64_t> owed_;  // Sum over tokens before t.
  std::vector<int64_t> forward_;
  std::vector<int64_t> backward_;
};

// A graph-level row covers the thunks between its neighbours, and a neighbour may also be in the
// graph, so nothing here is certain.
std::vector<WindowChoice> AroundGraphs(std::span<const WindowToken> tokens,
                                       std::span<const WindowActivity> activities) {
  std::vector<WindowChoice> choices(activities.size());
  std::vector<WindowActivity> others;
  std::vector<size_t> places;
  for (size_t a = 0; a < activities.size(); ++a) {
    if (activities[a].kind == LaunchKind::kGraph) continue;
    others.push_back(activities[a]);
    places.push_back(a);
  }
  const std::vector<WindowChoice> chosen = AssignWindow(tokens, others);
  for (size_t k = 0; k < chosen.size(); ++k) {
    choices[places[k]] = chosen[k];
    choices[places[k]].doubt = Doubt::kAnotherWay;
  }
  // If no neighbour has a position, every graph would cover the whole program.
  if (!others.empty() && std::none_of(chosen.begin(), chosen.end(), [](const WindowChoice& choice) {
        return choice.token != WindowChoice::kNoTokenIndex;
      })) {
    return choices;
  }
  const auto placed = [&](size_t a) {
    return activities[a].kind != LaunchKind::kGraph &&
           choices[a].token != WindowChoice::kNoTokenIndex;
  };
  // First token after each activity.
  std::vector<uint32_t> behind(activities.size() + 1, static_cast<uint32_t>(tokens.size()));
  for (size_t a = activities.size(); a-- > 0;) {
    behind[a] = placed(a) ? std::min(behind[a + 1], choices[a].token) : behind[a + 1];
  }
  uint32_t first = 0;
  for (size_t a = 0; a < activities.size(); ++a) {
    if (placed(a)) first = choices[a].token + 1;
    if (activities[a].kind != LaunchKind::kGraph) continue;
    const uint32_t last = behind[a + 1];
    if (first < last) choices[a] = {first, last - 1, Doubt::kAnotherWay};
  }
  return choices;
}

}  // namespace

bool UsesLibrary(const ThunkToken& thunk, const WindowActivity& activity) {
  const LaunchKind kind = activity.kind;
  const bool product = kind == LaunchKind::kGemm || kind == LaunchKind::kGemmPart;
  switch (thunk.kind) {
    case ThunkKind::kGemm:
      return activity.library == LibraryKind::kAny;
    case ThunkKind::kConvolution:
      // cuDNN transforms large windows with FFTs.
      return activity.library == LibraryKind::kAny || activity.library == LibraryKind::kFft;
    case ThunkKind::kLibrary:
      if (kind == LaunchKind::kLibrary) {
        return FitLibrary(thunk.library, activity.library) < fill::kOtherLibraryCost;
      }
      if (!product && kind != LaunchKind::kConvolution) return true;
      // Solvers multiply blocks; the kernels of an unknown library are not known.
      return thunk.library == LibraryKind::kAny ||
             (product && (thunk.library == LibraryKind::kFactorization ||
                          thunk.library == LibraryKind::kTriangularSolve));
    default:
      return true;
  }
}

bool FitsWindow(size_t tokens, size_t activities) {
  return (tokens + 1) * (activities + 1) <= fill::kMaxWindowCells;
}

bool MayLaunch(const ThunkToken& thunk, const WindowActivity& activity) {
  return Fit(thunk, activity, true) < kInfiniteCost || Fit(thunk, activity, false) < kInfiniteCost;
}

std::vector<WindowChoice> AssignWindow(std::span<const WindowToken> tokens,
                                       std::span<const WindowActivity> activities) {
  std::vector<WindowChoice> choices(activities.size());
  if (tokens.empty() || activities.empty()) return choices;
  const bool graphs = std::any_of(activities.begin(), activities.end(), [](const auto& activity) {
    return activity.kind == LaunchKind::kGraph;
  });
  if (graphs) return AroundGraphs(tokens, activities);
  if (!FitsWindow(tokens.size(), activities.size())) return choices;
  choices = Table(tokens, activities, fill::kSkipCost).Choices();
  // A copy has no name. If an optional copy may be this one and the record of the required one was
  // lost, it is ambiguous. (Launches of a library call are compared with other executions.)
  const bool copies = std::any_of(activities.begin(), activities.end(),
                                  [](const auto& a) { return IsCopyOrMemset(a.kind); });
  if (!copies) return choices;
  const std::vector<WindowChoice> lossy = Table(tokens, activities, fill::kLostCost).Choices();
  for (size_t a = 0; a < activities.size(); ++a) {
    if (!IsCopyOrMemset(activities[a].kind)) continue;
    const bool same = lossy[a].IsOnly() && lossy[a].token == choices[a].token;
    if (!same) Raise(Doubt::kAnotherWay, &choices[a].doubt);
  }
  return choices;
}

}  // namespace xlatrace::correlator
