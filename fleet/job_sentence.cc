// SPDX-License-Identifier: Apache-2.0

// The result of a job as text.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "fleet/job.h"

namespace xlatrace::fleet {
namespace {

std::string_view Why(const CulpritAnswer& answer) {
  switch (answer.cause) {
    case Cause::kSlowGpu:
      return answer.gpu == GpuReason::kClocks
                 ? "only its matrix products take longer, as with low clocks of the GPU"
                 : "all its kernels take longer: slow GPU memory, or another process on the GPU";
    case Cause::kSlowHost:
      return "its kernels take the usual time, but the gaps between them are longer: a slow host";
    case Cause::kLink:
      return "exchanges of this rank take longer: a slow link";
    case Cause::kProgram:
      return "it runs another program with more work: a longer pipeline stage";
    default:
      return "kernels and gaps do not show the cause";
  }
}

// First words of the text; they depend on its place.
struct FirstWords {
  std::string_view who, everyone;
};

// The fact and the reason; the second may be empty.
struct AnswerParts {
  std::string what, why;

  std::string Both() const { return why.empty() ? what : what + "; " + why; }
};

AnswerParts FormatAnswer(const Job& job, const FirstWords& first) {
  const CulpritAnswer& a = job.answer;
  const std::string cost =
      fmt::format("{} of each {} step", Duration(a.cost_ns), Duration(a.step_ns));
  switch (a.cause) {
    case Cause::kNoData:
      return {fmt::format("{} is not known: {}", first.who,
                          a.evidence.empty() ? "" : a.evidence.front()),
              {}};
    case Cause::kNone:
      return {fmt::format("{} per step; no rank delays the others by more than the usual variation",
                          Duration(a.step_ns)),
              {}};
    case Cause::kData:
      return {fmt::format("{} is waiting for another rank, which varies from step to step: ranks "
                          "compute different amounts (data imbalance). Without it a step takes {}",
                          cost, Duration(a.without_ns)),
              {}};
    case Cause::kOneOff:
      return {fmt::format(
                  "{} per step, but {} that {} longer cost{} {} per step{}", Duration(a.step_ns),
                  a.steps.size() == 1 ? "one step" : fmt::format("{} steps", a.steps.size()),
                  a.steps.size() == 1 ? "is" : "are", a.steps.size() == 1 ? "s" : "",
                  Duration(a.cost_ns),
                  a.ranks.empty() ? std::string(": all ranks stop at the same time")
                                  : ": all other ranks wait for " + job.ranks[a.ranks[0]].name),
              {}};
    default:
      break;
  }
  return {
      fmt::format("{} wait for {}{}: {}{}", first.everyone, job.ranks[a.ranks[0]].name,
                  a.ranks.size() > 1 ? fmt::format(" and {} more", a.ranks.size() - 1) : "", cost,
                  a.all_along ? std::string() : fmt::format(" since step {}", a.since_step)),
      fmt::format("{}. Without it a step takes {}", Why(a), Duration(a.without_ns))};
}

}  // namespace

std::string PathSentence(const Job& job) {
  if (job.ranks.size() < 2) return {};
  std::vector<std::string> names;
  for (const Rank& rank : job.ranks) names.push_back(rank.name);
  return PathSentence(job.path, names);
}

std::string Sentence(const Job& job) {
  const Cause cause = job.answer.cause;
  // A step time of all ranks follows directly; other facts are a separate clause.
  const bool of_ranks = cause == Cause::kNone || cause == Cause::kOneOff;
  return fmt::format("{} rank{}{} {}", job.ranks.size(), job.ranks.size() == 1 ? "" : "s",
                     of_ranks ? "," : ";",
                     FormatAnswer(job, {"the slow rank", "all other ranks"}).Both());
}

std::string Heading(const Job& job) {
  return FormatAnswer(job, {"The slow rank", "All other ranks"}).Both();
}

std::string Headline(const Job& job) {
  return FormatAnswer(job, {"The slow rank", "All other ranks"}).what;
}

std::string Reason(const Job& job) {
  return FormatAnswer(job, {"The slow rank", "All other ranks"}).why;
}

}  // namespace xlatrace::fleet
