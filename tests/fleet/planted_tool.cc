// SPDX-License-Identifier: Apache-2.0

// Jobs with one planted fault (job_maker.h), and the answer of the program: CASES SEED
// RANKS...
//
// For each number of ranks: CASES planted jobs, the causes in turn, and CASES clean ones. A result
// is right if the cause is right, and named if rank, host, GPU reason or step are right too. The
// cost is compared with the time of the job less that of the same job, with equal random numbers,
// without the plant. It is not compared for one-offs, which no median shows. It is not compared for
// slow links and programs either, because they also slow other ranks. Prints a row of a Markdown
// table per number of ranks and cause. The exit status is 1 if fewer than 95 % of the causes are
// right. It is also 1 if more than 1 % of the clean jobs have a culprit.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/robust.h"
#include "fleet/culprit.h"
#include "tests/fleet/job_maker.h"

namespace xlatrace::fleet {
namespace {

constexpr size_t kSteps = 24;

struct Kind {
  size_t cases = 0, right = 0, named = 0;
  std::vector<double> cost_off;  // As part of the step.
};

std::string NameOf(const Plant& plant) {
  if (plant.cause == Cause::kSlowGpu) {
    return plant.gpu == GpuReason::kClocks ? "slow_gpu (clocks)" : "slow_gpu (memory, neighbour)";
  }
  if (plant.cause == Cause::kOneOff) return plant.everyone ? "one_off (all)" : "one_off (one rank)";
  return std::string(Text(plant.cause));
}

bool Run(size_t ranks, size_t cases, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<std::string, Kind> kinds;
  Kind all;
  const auto began = std::chrono::steady_clock::now();
  for (size_t i = 0; i < cases; ++i) {
    const Plant plant = AnyPlant(random, i, ranks, kSteps);
    const MadeJob made = MakeJob(ranks, kSteps, plant, random());
    const CulpritAnswer answer = FindCulprit(made.times);
    Kind& kind = kinds[NameOf(plant)];
    const bool right = answer.cause == plant.cause;
    const bool named = right && NamesTheRank(answer, plant, made);
    if (!named) {
      std::cerr << fmt::format(
          "{} ranks, case {}: {} x {:.3f} of rank {} from step {}: {} of {} ranks, gpu {}\n", ranks,
          i, NameOf(plant), plant.factor, plant.rank, plant.step, Text(answer.cause),
          answer.ranks.size(), static_cast<int>(answer.gpu));
    }
    for (Kind* of : {&kind, &all}) {
      ++of->cases;
      of->right += right ? 1 : 0;
      of->named += named ? 1 : 0;
      const bool lasts = plant.cause == Cause::kSlowGpu || plant.cause == Cause::kSlowHost;
      if (!right || !lasts) continue;
      of->cost_off.push_back(std::abs(answer.without_ns - made.true_clean_ns) / made.true_clean_ns);
    }
  }
  size_t blamed = 0;
  for (size_t i = 0; i < cases; ++i) {
    const CulpritAnswer answer = FindCulprit(MakeJob(ranks, kSteps, {}, random()).times);
    if (answer.cause != Cause::kNone) ++blamed;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto row = [&](const std::string& name, const Kind& kind) {
    std::vector<double> off = kind.cost_off;
    std::sort(off.begin(), off.end());
    const std::string cost =
        off.empty() ? "-" : fmt::format("{:.2f}", 100 * off[(off.size() - 1) * 19 / 20]);
    std::cout << fmt::format("| {} | {} | {} of {} | {} of {} | {} |\n", ranks, name, kind.right,
                             kind.cases, kind.named, kind.cases, cost);
  };
  for (const auto& [name, kind] : kinds) row(name, kind);
  row("all planted", all);
  std::cout << fmt::format("| {} | nothing | {} of {} | {} blamed | - |\n", ranks, cases - blamed,
                           cases, blamed)
            << std::flush;
  std::cerr << fmt::format("{} ranks: {:.0f} s\n", ranks, took.count());
  return 20 * all.right >= 19 * all.cases && 100 * blamed <= cases;
}

}  // namespace
}  // namespace xlatrace::fleet

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: fleet_planted CASES SEED RANKS...\n";
    return 2;
  }
  const size_t cases = std::strtoull(argv[1], nullptr, 10);
  std::cout
      << "| ranks | planted | cause right | rank or step too | step without it off by %, 19 of "
         "20 below |\n|---|---|---|---|---|\n";
  bool good = true;
  for (int i = 3; i < argc; ++i) {
    const bool right = xlatrace::fleet::Run(std::strtoull(argv[i], nullptr, 10), cases,
                                            std::strtoull(argv[2], nullptr, 10));
    good = good && right;
  }
  return good ? 0 : 1;
}
