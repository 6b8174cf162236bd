// SPDX-License-Identifier: Apache-2.0

// Work that a framework runs itself, outside of XLA: ops launched one by one from Python, and ops
// of graphs that XLA could compile.

#include <string>

#include <fmt/format.h>

#include "analysis/findings/rules.h"

namespace xlatrace::analysis::findings {
namespace {

// Share of the device's work. The host's share would vary with the host.
constexpr double kMinFrameworkShare = 0.05;

struct FrameworkWork {
  int64_t eager_ns = 0, eager_launches = 0;
  int64_t ops_ns = 0, ops_launches = 0;
  int64_t elementwise_ns = 0, elementwise_launches = 0;
  int64_t xla_ns = 0, xla_launches = 0;
};

double ShareOfWork(const Context& context, int64_t ns) {
  return context.device_ns > 0 ? static_cast<double>(ns) / static_cast<double>(context.device_ns)
                               : 0;
}

FrameworkWork FrameworkWorkOf(const Context& context) {
  FrameworkWork work;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    const int64_t ns = context.run.activities.self_ns[i];
    const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
    if (label.module_id != 0) {
      work.xla_ns += ns;
      ++work.xla_launches;
    }
    if (label.instruction_id == 0 && label.reason == model::Reason::kEager) {
      work.eager_ns += ns;
      ++work.eager_launches;
    }
    if (label.evidence != model::Evidence::kOpRange) continue;
    if (context.run.ConfigOf(i).kind != model::ActivityKind::kKernel) continue;
    const model::OpKind kind =
        context.attribution.instructions[static_cast<size_t>(label.instruction_id) - 1].op_kind;
    if (kind == model::OpKind::kCollective) continue;  // Nothing to fuse.
    work.ops_ns += ns;
    ++work.ops_launches;
    if (kind != model::OpKind::kElementwiseFusion && kind != model::OpKind::kCopy &&
        kind != model::OpKind::kTranspose) {
      continue;
    }
    work.elementwise_ns += ns;
    ++work.elementwise_launches;
  }
  return work;
}

void EagerOps(const Context& context, const FrameworkWork& work, Report& report) {
  const int64_t ns = context.PerStep(work.eager_ns);
  if (ShareOfWork(context, ns) < kMinFrameworkShare) return;
  Finding finding;
  finding.id = "eager_kernels";
  finding.sentence = {fmt::format("Ops that Python runs one by one are {} of the device's work",
                                  Percent(ShareOfWork(context, ns))),
                      fmt::format("{}, without a name", Time(ns))};
  finding.saves_low_ns = 0;
  finding.saves_high_ns = ns;
  finding.sure = context.Allowed(Sure::kLow);
  finding.claims["eager ops"] = ns;
  finding.evidence.Add(context.words.PerStep("kernels of eager ops,"), ns, "ns")
      .Add(context.words.PerStep("their launches,"), context.PerStep(work.eager_launches), "count");
  report.Add(std::move(finding));
}

// Each of these ops reads and writes memory that a fusion would keep in registers.
void CompileThisPart(const Context& context, const FrameworkWork& work, Report& report) {
  const int64_t ns = context.PerStep(work.ops_ns);
  if (ShareOfWork(context, ns) < kMinFrameworkShare) return;
  const int64_t bound = context.PerStep(work.elementwise_ns);
  Finding finding;
  finding.id = "outside_xla";
  if (work.xla_ns > 0) finding.variant = "left_out";
  finding.sentence = {
      fmt::format("TensorFlow runs {} of the device's work itself, op by op",
                  Percent(ShareOfWork(context, ns))),
      fmt::format("{} in {} launches {}, of it {} elementwise and copies{}", Time(ns),
                  context.PerStep(work.ops_launches), context.words.per_step, Time(bound),
                  work.xla_ns > 0 ? fmt::format("; XLA's modules take {} in {}",
                                                Time(context.PerStep(work.xla_ns)),
                                                context.PerStep(work.xla_launches))
                                  : "")};
  finding.saves_low_ns = 0;
  finding.saves_high_ns = bound;
  finding.sure = context.Allowed(Sure::kLow);
  finding.claims["ops outside of XLA"] = bound;
  finding.evidence.Add(context.words.PerStep("ops outside of XLA,"), ns, "ns")
      .Add(context.words.PerStep("their launches,"), context.PerStep(work.ops_launches), "count")
      .Add(context.words.PerStep("elementwise ops and copies, the most that fusion saves,"), bound,
           "ns")
      .Add(context.words.PerStep("their launches,"), context.PerStep(work.elementwise_launches),
           "count")
      .Add(context.words.PerStep("in XLA's modules,"), context.PerStep(work.xla_ns), "ns")
      .Add(context.words.PerStep("their launches,"), context.PerStep(work.xla_launches), "count");
  report.Add(std::move(finding));
}

}  // namespace

void CheckFrameworkOps(const Context& context, Report& report) {
  const FrameworkWork work = FrameworkWorkOf(context);
  if (work.eager_ns > 0) EagerOps(context, work, report);
  if (work.ops_ns > 0) CompileThisPart(context, work, report);
}

}  // namespace xlatrace::analysis::findings
