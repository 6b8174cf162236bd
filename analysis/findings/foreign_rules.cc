// Kernels that no HLO names (PyTorch, a library called by hand): what kind of work they are, what
// of their communication nothing hides, products that keep off the tensor cores.

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "analysis/kernel_class.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kForeign = 0.5;   // Of device time: then the run is told by kernels' names.
constexpr double kExposed = 0.02;  // Of the step, or of a run's span.
constexpr double kNoticeableKernel = 0.01;

struct Kernel {
  int64_t ns = 0;
  int64_t count = 0;
};

struct ForeignWork {
  std::array<Kernel, kKernelClassCount> classes;
  std::map<std::string, Kernel> collectives, cuda_cores, attention;  // By name.
  Kernel copies;
  int64_t ns = 0;
};

ForeignWork ForeignWorkOf(const Context& context) {
  ForeignWork work;
  // Configurations are few; each is looked at once.
  struct Facts {
    KernelClass of = KernelClass::kOther;
    bool kernel = false;
    bool cuda_cores = false;
  };
  std::vector<Facts> facts(context.run.configs.size());
  for (size_t c = 0; c < facts.size(); ++c) {
    const model::LaunchConfig& config = context.run.configs[c];
    facts[c].kernel = config.kind == model::ActivityKind::kKernel;
    if (!facts[c].kernel) continue;
    facts[c].of = KernelClassOf(config.name);
    facts[c].cuda_cores = IsCudaCoreProduct(config.name);
  }
  std::vector<Kernel> sums(facts.size());
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
    if (label.module_id != 0) continue;
    Kernel& sum = sums[context.run.activities.config[i] - 1];
    sum.ns += context.run.activities.self_ns[i];
    ++sum.count;
  }
  const auto add = [](Kernel& to, const Kernel& from) {
    to.ns += from.ns;
    to.count += from.count;
  };
  for (size_t c = 0; c < facts.size(); ++c) {
    if (sums[c].count == 0) continue;
    work.ns += sums[c].ns;
    const std::string& name = context.run.configs[c].name;
    if (!facts[c].kernel) {
      add(work.copies, sums[c]);
      continue;
    }
    add(work.classes[static_cast<size_t>(facts[c].of)], sums[c]);
    if (facts[c].of == KernelClass::kCollective) add(work.collectives[name], sums[c]);
    if (facts[c].of == KernelClass::kAttention) add(work.attention[name], sums[c]);
    if (facts[c].cuda_cores) add(work.cuda_cores[name], sums[c]);
  }
  return work;
}

// "ncclDevKernel_SendRecv"; the one with most time.
std::pair<std::string, Kernel> Largest(const std::map<std::string, Kernel>& of) {
  const auto most = std::max_element(
      of.begin(), of.end(), [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  if (most == of.end()) return {};
  return {most->first, most->second};
}

Kernel Sum(const std::map<std::string, Kernel>& of) {
  Kernel sum;
  for (const auto& [name, kernel] : of) {
    sum.ns += kernel.ns;
    sum.count += kernel.count;
  }
  return sum;
}

// Without the namespace and template arguments, to 40 characters.
std::string ShortName(std::string_view name) {
  name = name.substr(0, name.find_first_of("<("));
  const size_t colon = name.rfind(':');
  if (colon != name.npos) name = name.substr(colon + 1);
  return std::string(name.substr(0, 40));
}

void SayWork(const Context& context, const ForeignWork& work, Report& report) {
  std::vector<std::pair<int64_t, std::string>> parts;
  for (size_t c = 0; c < work.classes.size(); ++c) {
    parts.emplace_back(work.classes[c].ns, Text(static_cast<KernelClass>(c)));
  }
  parts.emplace_back(work.copies.ns, "copies");
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Evidence evidence;
  std::string text;
  for (size_t k = 0; k < parts.size() && k < 4; ++k) {
    const double share = static_cast<double>(parts[k].first) / static_cast<double>(work.ns);
    if (share < 0.01) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parts[k].second, Percent(share));
    evidence.Add(context.words.PerStep(parts[k].second + ","), context.PerStep(parts[k].first),
                 "ns");
  }
  report.Fine("work", {"device time by kind of work", text}, evidence);
  const Kernel attention = work.classes[static_cast<size_t>(KernelClass::kAttention)];
  const double share = static_cast<double>(attention.ns) / static_cast<double>(work.ns);
  if (share >= 0.05) {
    report.Fine("attention_unfused",
                {"attention is fused",
                 fmt::format("{} is {} of device time", ShortName(Largest(work.attention).first),
                             Percent(share))});
  }
}

void ExposedByName(const Context& context, const ForeignWork& work, Report& report) {
  const Kernel all = Sum(work.collectives);
  const int64_t exposed = context.Part(model::StepPart::kExposedCollective);
  if (all.ns == 0) return;
  if (static_cast<double>(exposed) < kExposed * static_cast<double>(context.span_ns)) {
    report.Fine("exposed_collective",
                {"collectives", fmt::format("{} of {} exposed", Time(exposed),
                                            context.words.PerStep(Time(context.PerStep(all.ns))))});
    return;
  }
  const auto [name, kernel] = Largest(work.collectives);
  const double share = static_cast<double>(exposed) / static_cast<double>(context.span_ns);
  Finding finding;
  finding.id = "exposed_collective";
  finding.title = {
      "Overlap communication with computation",
      fmt::format("{} of {} is exposed", Time(exposed), Time(context.PerStep(all.ns)))};
  finding.sentence = {
      fmt::format("Communication that nothing hides is {}", context.words.OfStep(Percent(share))),
      fmt::format("{}, most of it in {}", Time(exposed), ShortName(name))};
  finding.action =
      "start the exchange earlier and compute beside it, exchange less (larger batch per device, "
      "16 bits), or fewer and larger messages; part of it may be waiting for other devices, which "
      "none of this shortens";
  finding.how_to_check = "the exposed part falls and the step with it";
  finding.saves_high_ns = exposed;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.claims["collectives exposed"] = exposed;
  finding.change.emplace();
  finding.change->collectives_early = true;
  finding.evidence.Add(context.words.PerStep("with nothing beside them,"), exposed, "ns")
      .Add(context.words.PerStep("collectives,"), context.PerStep(all.ns), "ns")
      .Add(context.words.PerStep("of it " + ShortName(name) + ","), context.PerStep(kernel.ns),
           "ns")
      .Add(context.words.PerStep("its launches,"), context.PerStep(kernel.count), "count");
  report.Add(std::move(finding));
  if (context.run.devices.size() < 2) {
    report.Withhold("arrival_skew",
                    "waiting in collectives: one rank alone cannot tell it from transfer");
  }
}

// The same kernel takes longer on one device of a process than on the others: it waits there.
void WaitingByName(const Context& context, Report& report) {
  if (context.run.devices.size() < 2) return;
  std::map<std::string, std::map<model::Id, Kernel>> by_name;
  std::vector<bool> collective(context.run.configs.size());
  for (size_t c = 0; c < collective.size(); ++c) {
    const model::LaunchConfig& config = context.run.configs[c];
    collective[c] = config.kind == model::ActivityKind::kKernel &&
                    KernelClassOf(config.name) == KernelClass::kCollective;
  }
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!collective[context.run.activities.config[i] - 1] || !context.InBasis(i)) continue;
    const model::LaunchConfig& config = context.run.ConfigOf(i);
    const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
    if (label.module_id != 0) continue;
    Kernel& kernel = by_name[config.name][context.run.LaneOf(i).device_id];
    kernel.ns += context.run.activities.self_ns[i];
    ++kernel.count;
  }
  for (const auto& [name, devices] : by_name) {
    if (devices.size() < 2) continue;
    int64_t least = INT64_MAX, most = 0, count = 0;
    model::Id late = 0, waits = 0;
    bool alike = true;
    for (const auto& [device, kernel] : devices) {
      if (kernel.ns < least) late = device;
      if (kernel.ns > most) waits = device;
      least = std::min(least, kernel.ns);
      most = std::max(most, kernel.ns);
      if (count == 0) count = kernel.count;
      alike = alike && kernel.count == count;
    }
    if (!alike || 4 * most < 5 * least || most - least < kLeastNs) continue;
    Finding finding;
    finding.id = "arrival_skew";
    const std::string late_words = DeviceWords(context, late);
    const std::string waits_words = DeviceWords(context, waits);
    finding.title = {"Even out the devices", fmt::format("{} waits {} on {}", ShortName(name),
                                                         Time(most - least), waits_words)};
    finding.sentence = {fmt::format("{} takes {} on {} and {} on {}", ShortName(name), Time(most),
                                    waits_words, Time(least), late_words),
                        "the difference is waiting", "", "The difference is waiting"};
    finding.action = fmt::format(
        "the same transfers take longer where the device comes first and waits: look at what {} "
        "does meanwhile (its idle time, its kernels)",
        late_words);
    finding.how_to_check = "the kernel takes alike on all devices";
    finding.saves_high_ns = (most - least) / (context.whole_run ? 1 : context.divisor);
    finding.saves_low_ns = 0;
    finding.sure = Sure::kLow;
    finding.claims["collectives waiting"] = *finding.saves_high_ns;
    finding.evidence.Add(fmt::format("on {}, which waits", waits_words), most, "ns")
        .Add(fmt::format("on {}, which comes late", late_words), least, "ns")
        .Add("launches on each", count, "count");
    report.Add(std::move(finding));
  }
}

void CudaCoreProducts(const Context& context, const ForeignWork& work, Report& report) {
  const Kernel all = Sum(work.cuda_cores);
  const int64_t ns = context.PerStep(all.ns);
  if (!context.on_gpu || context.ShareOfStep(ns) < kNoticeableKernel) return;
  Finding finding;
  finding.id = "no_tensor_core";
  finding.title = {"Let f32 products use tensor cores (TF32)",
                   fmt::format("{} on CUDA cores", Time(ns))};
  finding.sentence = {fmt::format("Matrix products in f32 on CUDA cores are {}",
                                  context.words.OfStep(Percent(context.ShareOfStep(ns)))),
                      Time(ns)};
  finding.action =
      "allow TF32 where the accuracy allows (`jax_default_matmul_precision`, "
      "`torch.backends.cuda.matmul.allow_tf32`), or compute in bf16; this changes numerics";
  finding.how_to_check = "names of the kernels: no sgemm or ffma";
  finding.saves_high_ns = ns * 3 / 4;
  finding.change.emplace();
  for (size_t c = 0; c < context.run.configs.size(); ++c) {
    if (!IsCudaCoreProduct(context.run.configs[c].name)) continue;
    finding.change->foreign_configs[static_cast<uint32_t>(c + 1)] = 0.25;
  }
  finding.saves_low_ns = 0;
  finding.sure = Sure::kLow;
  finding.evidence.Add(context.words.PerStep("such kernels,"), ns, "ns")
      .Add(context.words.PerStep("launches,"), context.PerStep(all.count), "count");
  report.Add(std::move(finding));
}

}  // namespace

void JudgeForeignKernels(const Context& context, Report& report) {
  if (context.on_cpu) return;
  const ForeignWork work = ForeignWorkOf(context);
  const int64_t all = context.device_ns * context.divisor;
  if (work.ns == 0 || static_cast<double>(work.ns) < kForeign * static_cast<double>(all)) return;
  SayWork(context, work, report);
  ExposedByName(context, work, report);
  WaitingByName(context, report);
  CudaCoreProducts(context, work, report);
}

}  // namespace xlatrace::analysis::findings
