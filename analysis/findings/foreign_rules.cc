// SPDX-License-Identifier: Apache-2.0

// Kernels without HLO (PyTorch, a library that is called by hand): their kinds of work, exposed
// communication, and products without tensor cores.

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/named_waits.h"
#include "analysis/findings/rules.h"
#include "analysis/kernel_class.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kMinForeignShare =
    0.5;  // Share of device time: the run is described by kernel names.
constexpr double kMinExposedShare = 0.02;  // Share of the step, or of a run's span.
constexpr double kMinForeignKernelShare = 0.01;

struct Kernel {
  int64_t ns = 0;
  int64_t count = 0;
};

struct ForeignWork {
  std::array<Kernel, kKernelClassCount> classes;
  std::map<std::string, Kernel> cuda_cores, attention;  // By name.
  Kernel copies;
  int64_t ns = 0;
};

ForeignWork ForeignWorkOf(const Context& context) {
  ForeignWork work;
  // There are few configurations; each is classified once.
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

void ReportWork(const Context& context, const ForeignWork& work, Report& report) {
  std::vector<std::pair<int64_t, std::string>> parts;
  for (size_t c = 0; c < work.classes.size(); ++c) {
    parts.emplace_back(work.classes[c].ns, Text(static_cast<KernelClass>(c)));
  }
  parts.emplace_back(work.copies.ns, "copies");
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Evidence evidence;
  std::string text;
  const std::string exchange(Text(KernelClass::kCollective));
  for (size_t k = 0; k < parts.size() && k < 4; ++k) {
    const double share = static_cast<double>(parts[k].first) / static_cast<double>(work.ns);
    if (share < 0.01) break;
    // Exchanges and copies have their own rules, and may be a cause.
    if (parts[k].second != exchange && parts[k].second != "copies") {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parts[k].second, Percent(share));
    }
    evidence.Add(context.words.PerStep(parts[k].second + ","), context.PerStep(parts[k].first),
                 "ns");
  }
  // Where nothing takes longer than copies, they are no work to call fine.
  if (parts[0].first > work.copies.ns && !text.empty()) {
    report.Fine("work", {"device time that computes, by kind", text}, evidence);
  }
  const Kernel attention = work.classes[static_cast<size_t>(KernelClass::kAttention)];
  const double share = static_cast<double>(attention.ns) / static_cast<double>(work.ns);
  if (share >= 0.05) {
    const std::string most = ShortKernelName(Largest(work.attention).first);
    report.Fine("attention_unfused",
                {"attention is fused",
                 work.attention.size() == 1
                     ? fmt::format("{} is {} of device time", most, Percent(share))
                     : fmt::format("{} of device time, most of it in {}", Percent(share), most)});
  }
}

// Communication of which only the kernels' names are known. Waiting for other devices is separated
// if the launches on the devices have counterparts.
struct NamedCommunication {
  explicit NamedCommunication(const Context& context) : of(NamedCollectivesOf(context)) {
    int64_t paired = 0, exposed = 0;
    for (const NamedCollective& named : of) {
      ns += named.ns;
      exposed += named.exposed_ns;
      wait_ns += named.exposed_wait_ns;
      if (named.paired) paired += named.exposed_ns;
    }
    is_split = paired > 0 && 2 * paired >= exposed;
    if (!is_split) wait_ns = 0;
  }
  std::vector<NamedCollective> of;
  int64_t ns = 0, wait_ns = 0;  // Not per step; waiting that nothing hides.
  bool is_split = false;        // The waiting of most of it is known.
};

// Adds the longest launch of a kernel, and its time. A mean of ten launches would not show it.
void AddLongest(const Context& context, std::string_view kernel, Finding& finding) {
  std::optional<size_t> longest;
  const model::ActivityColumns& all = context.run.activities;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!context.InBasis(i) || (longest && all.duration_ns[i] <= all.duration_ns[*longest]))
      continue;
    if (context.run.ConfigOf(i).name == kernel) longest = i;
  }
  if (!longest) return;
  const std::string where =
      context.whole_run ? std::string() : fmt::format(", in step {}", context.StepOf(*longest));
  finding.evidence.Add("its longest launch" + where, all.duration_ns[*longest], "ns");
}

void ExposedByName(const Context& context, const NamedCommunication& all, Report& report) {
  const int64_t exposed = context.Part(model::StepPart::kExposedCollective);
  if (all.ns == 0) return;
  const int64_t wait = std::min(context.PerStep(all.wait_ns), exposed);
  const int64_t transfer = exposed - wait;
  const std::string_view beyond = all.is_split ? " beyond waiting" : "";
  // A collective belongs to the step in which it starts, and its instants to the steps in which
  // they lie. So the instants of a step can sum to more than its collectives.
  const int64_t all_ns = std::max(context.PerStep(all.ns), exposed);
  const std::string of_all = context.words.PerStep(Time(all_ns));
  const double share = static_cast<double>(transfer) / static_cast<double>(context.span_ns);
  if (share < kMinExposedShare) {
    report.Fine("exposed_collective",
                {"collectives", fmt::format("{} of {} exposed{}", Time(transfer), of_all, beyond)});
    return;
  }
  const NamedCollective& most = all.of.front();
  Finding finding;
  finding.id = "exposed_collective";
  finding.variant = all.is_split ? "kernel" : "kernel_with_waiting";
  finding.values["collective"] = ShortKernelName(most.name);
  finding.sentence = {
      fmt::format("Communication that nothing hides is {}", context.words.OfStep(Percent(share))),
      fmt::format("{}{}, most of it in {}", Time(transfer), beyond, ShortKernelName(most.name))};
  finding.saves_high_ns = transfer;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.claims["collectives exposed"] = transfer;
  finding.change.emplace();
  finding.change->collectives_early = true;
  finding.evidence.Add(context.words.PerStep("collectives,"), all_ns, "ns")
      .Add(context.words.PerStep("exposed collectives,"), exposed, "ns");
  if (all.is_split) {
    finding.evidence.Add(context.words.PerStep("exposed time of waiting for other devices,"), wait,
                         "ns");
  }
  finding.evidence
      .Add(context.words.PerStep("collective " + ShortKernelName(most.name) + ","),
           context.PerStep(most.ns), "ns")
      .Add(context.words.PerStep("launches of this collective,"), context.PerStep(most.count),
           "count");
  AddLongest(context, most.name, finding);
  report.Add(std::move(finding));
  if (context.run.devices.size() < 2) {
    report.Withhold(
        "arrival_skew",
        "waiting in collectives: with one rank, waiting and transfer cannot be separated");
  }
}

// Launches of one exchange take longer on devices that come early: these wait.
void WaitingByName(const Context& context, const NamedCommunication& all, Report& report) {
  for (const NamedCollective& named : all.of) {
    const int64_t wait = named.exposed_wait_ns;
    if (!named.paired || 5 * wait < named.ns || wait < kMinSavingNs) continue;
    const auto by_wait = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [late, waits] =
        std::minmax_element(named.wait_ns.begin(), named.wait_ns.end(), by_wait);
    const std::string late_words = DeviceWords(context, late->first);
    const std::string waits_words = DeviceWords(context, waits->first);
    const int64_t ns = context.PerStep(wait);
    const std::string name = ShortKernelName(named.name);
    // A device that is slower comes last again and again; stalls come now here, now there.
    const auto times = named.last.find(late->first);
    const int64_t late_times = times == named.last.end() ? 0 : times->second;
    const double even = 1.0 / static_cast<double>(named.wait_ns.size());
    const bool one_is_slower = static_cast<double>(late_times) >=
                               (even + (1 - even) / 4) * static_cast<double>(named.exchanges);
    Finding finding;
    finding.id = "arrival_skew";
    finding.values["collective"] = name;
    finding.sentence = {fmt::format("{} waits {} of its {} for the device that comes last", name,
                                    Time(ns), Time(context.PerStep(named.ns)))};
    if (one_is_slower) {
      finding.variant = "kernel_device";
      finding.values["device"] = late_words;
      finding.sentence.why =
          fmt::format("{} on {} and {} on {}", Time(context.PerStep(waits->second)), waits_words,
                      Time(context.PerStep(late->second)), late_words);
    } else {
      // A device that is last as often as others may still cause the longest waits.
      int64_t caused = 0;
      for (const auto& [device, of_device] : named.caused_ns) caused += of_device;
      const auto culprit =
          std::max_element(named.caused_ns.begin(), named.caused_ns.end(), by_wait);
      const double share = static_cast<double>(culprit->second) / static_cast<double>(caused);
      const std::string culprit_words = DeviceWords(context, culprit->first);
      const bool named_by_time = share >= even + (1 - even) / 4;
      finding.variant = named_by_time ? "stalls_of" : "stalls";
      finding.values["device"] = culprit_words;
      const auto culprit_last = named.last.find(culprit->first);
      finding.sentence.why =
          fmt::format("no device is slower throughout; {} comes last in {} of {}", culprit_words,
                      culprit_last == named.last.end() ? 0 : culprit_last->second, named.exchanges);
      finding.evidence.Add(
          context.words.PerStep(fmt::format("waiting for {}, on all others,", culprit_words)),
          context.PerStep(culprit->second), "ns");
    }
    finding.saves_high_ns = ns;
    finding.saves_low_ns = 0;
    finding.sure = Sure::kLow;
    finding.claims["collectives waiting"] = ns;
    finding.evidence
        .Add(context.words.PerStep(fmt::format("waiting on {}, which waits most,", waits_words)),
             context.PerStep(waits->second), "ns")
        .Add(context.words.PerStep(fmt::format("on {}, which waits least,", late_words)),
             context.PerStep(late->second), "ns")
        .Add(fmt::format("exchanges in which {} comes last", late_words), late_times, "count")
        .Add("exchanges that were compared", named.exchanges, "count")
        .Add("longest wait in one of them", named.longest_wait_ns, "ns");
    report.Add(std::move(finding));
  }
}

// NVIDIA's first tensor cores (Volta) compute in fp16 only; TF32 and bf16 came with Ampere.
constexpr int kMinTensorCoreMajor = 7;
constexpr int kMinTf32Major = 8;

// Major compute capability of the oldest GPU; empty: unknown for a GPU, or not NVIDIA's.
std::optional<int> LeastComputeMajor(const Context& context) {
  std::optional<int> least;
  for (const model::Device& device : context.run.devices) {
    int major = 0;
    const std::string& text = device.compute_capability;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), major);
    if (error != std::errc() || end == text.data() + text.size() || *end != '.') return {};
    least = std::min(least.value_or(major), major);
  }
  return least;
}

void CudaCoreProducts(const Context& context, const ForeignWork& work, Report& report) {
  const Kernel all = Sum(work.cuda_cores);
  const int64_t ns = context.PerStep(all.ns);
  if (!context.on_gpu || context.ShareOfStep(ns) < kMinForeignKernelShare) return;
  const std::optional<int> major = LeastComputeMajor(context);
  if (!major || *major < kMinTensorCoreMajor) return;
  const bool tf32 = *major >= kMinTf32Major;
  Finding finding;
  finding.id = "no_tensor_core";
  finding.values["kernel"] = ShortKernelName(Largest(work.cuda_cores).first);
  if (!tf32) finding.variant = "fp16";
  finding.sentence = {fmt::format("Matrix products in f32 on CUDA cores are {}",
                                  context.words.OfStep(Percent(context.ShareOfStep(ns)))),
                      Time(ns)};
  if (tf32) {
  } else {
  }
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

void CheckForeignKernels(const Context& context, Report& report) {
  if (context.on_cpu) return;
  const ForeignWork work = ForeignWorkOf(context);
  const int64_t all = context.device_ns * context.divisor;
  if (work.ns == 0 || static_cast<double>(work.ns) < kMinForeignShare * static_cast<double>(all))
    return;
  ReportWork(context, work, report);
  const NamedCommunication communication(context);
  ExposedByName(context, communication, report);
  WaitingByName(context, communication, report);
  CudaCoreProducts(context, work, report);
  ReportKernelAttention(context, report);
}

}  // namespace xlatrace::analysis::findings
