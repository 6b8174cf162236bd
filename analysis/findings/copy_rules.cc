// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/memory_facts.h"
#include "analysis/findings/rules.h"
#include "analysis/program_work.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kFineShare = 0.002;
constexpr int64_t kMinReadBackBytes = 1 << 20;
constexpr double kGoodLinkShare = 0.6;
constexpr double kNewResultsShare = 0.05;
constexpr int64_t kMinStateBytes = 64 << 10;  // Bytes read and written.
// Rate at which the system provides new memory, page by page (bench/new_memory.py).
constexpr double kNewBytesPerSecond = 1.8e9;
constexpr std::string_view kOfArgs = "args[";
constexpr size_t kMaxNamedArguments = 3;  // In one sentence.

bool IsCopy(const Op& op) {
  return op.row->op_kind == model::OpKind::kCopy || op.row->opcode.starts_with("copy") ||
         op.row->opcode.starts_with("async");
}

bool UsesHostMemory(const Op& op) {
  const std::string_view opcode = op.row->opcode;
  return op.facts->host_memory || opcode == "infeed" || opcode == "outfeed" || opcode == "send" ||
         opcode == "recv";
}

// Copies that the runtime makes outside of instructions: between host and device, or on the device.
// AMD's runtime makes the latter with its own kernels.
void RuntimeCopies(const Context& context, int64_t exposed, Report& report) {
  struct Copies {
    int64_t ns = 0, count = 0, bytes = 0;
    replay::Change gone;
  };
  std::map<std::string, Copies> kinds;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    const model::LaunchConfig& config = context.run.ConfigOf(i);
    const bool kernel = config.symbol.starts_with("__amd_rocclr_");
    if (config.kind != model::ActivityKind::kMemcpy && !kernel) continue;
    if (context.OpOf(i) != nullptr) continue;
    const std::string kind = kernel || config.copy_kind == model::CopyKind::kDeviceToDevice
                                 ? "on the device"
                             : config.copy_kind == model::CopyKind::kHostToDevice ? "from the host"
                             : config.copy_kind == model::CopyKind::kDeviceToHost ? "to the host"
                             : config.copy_kind == model::CopyKind::kPeerToPeer ? "between devices"
                                                                                : "of other kinds";
    Copies& copies = kinds[kind];
    copies.gone.foreign_configs[context.run.activities.config[i]] = 0;
    copies.ns += context.run.activities.self_ns[i];
    ++copies.count;
    copies.bytes += std::max<int64_t>(context.run.activities.bytes[i], 0);
  }
  const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return a.second.ns < b.second.ns;
  });
  if (most == kinds.end()) return;
  const Copies& copies = most->second;
  // `exposed` includes copies of all kinds and of instructions; `ns` is for one kind only.
  const int64_t ns = std::min(exposed, context.PerStep(copies.ns));
  Finding finding;
  finding.id = "runtime_copies";
  finding.values["direction"] = most->first;
  finding.sentence = {fmt::format("Copying {} is {}", most->first,
                                  context.words.OfStep(Percent(context.ShareOfStep(ns)))),
                      fmt::format("{}, {} with nothing beside them",
                                  context.Counted(copies.count, "copy", "copies"), Time(ns))};
  finding.saves_high_ns = ns;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.claims["exposed copies"] = *finding.saves_high_ns;
  finding.change = copies.gone;
  finding.evidence.Add(context.words.PerStep("such copies,"), context.PerStep(copies.ns), "ns")
      .Add(context.words.PerStep("how many,"), context.PerStep(copies.count), "count");
  if (copies.bytes > 0) finding.evidence.Add("bytes, whole", copies.bytes, "bytes");
  report.Add(std::move(finding));
}

void HostCopies(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  int64_t kernels = 0;  // That read or write memory of the host themselves.
  for (const Op& op : context.ops) {
    if (!UsesHostMemory(op)) continue;
    ops.push_back(&op);
    if (!IsCopy(op)) kernels += op.ns;
  }
  const int64_t exposed = context.Part(model::StepPart::kExposedCopy);
  if (ops.empty()) {
    if (context.ShareOfStep(exposed) >= 2 * kMinSavingShare)
      RuntimeCopies(context, exposed, report);
    if (context.ShareOfStep(exposed) < kFineShare * 5) {
      report.Fine(
          "copy_in_step",
          {"copies", fmt::format("{} is exposed copying",
                                 context.words.OfStep(Percent(context.ShareOfStep(exposed))))});
    }
    return;
  }
  const Site site = AllOf(context, ops);
  const int64_t all = site.ns;
  // Copies that computation hides cost nothing; kernels that wait for the link do.
  const int64_t cost = std::min(all, kernels + exposed);
  if (context.ShareOfStep(cost) < kMinSavingShare) {
    report.Fine("copy_in_step",
                {"copies", fmt::format("computation hides all but {} of {}", Time(cost),
                                       context.words.PerStep(Time(all)))});
    return;
  }
  Finding finding = FindingAbout(context, "copy_in_step", site);
  // The remaining time of the step could hide these copies.
  const int64_t hides = std::max<int64_t>(
      0, context.step_ns - exposed - context.Part(model::StepPart::kIdle) - kernels);
  const bool little = 10 * hides < cost;
  finding.values["offload"] =
      ModulesThatTrain(context.attribution).empty() ? "" : " (offload fewer residuals or moments)";
  if (little) {
    finding.variant = "no_cover";
    finding.values["hides"] = Time(hides);
  }
  finding.sentence = {fmt::format("Waiting for copies between host and device is {}",
                                  context.words.OfStep(Percent(context.ShareOfStep(cost)))),
                      fmt::format("{} of {}", Time(cost), Time(context.step_ns)),
                      InBrackets(site.source)};
  finding.saves_high_ns = cost;
  finding.saves_low_ns = *finding.saves_high_ns / 2;
  finding.change.emplace();
  for (const Op* op : ops) {
    finding.change->instructions[static_cast<uint32_t>(op->time->instruction_id)] = 0;
  }
  finding.sure = context.Allowed(Sure::kMedium);
  finding.evidence.Add("kernels that read or write host memory themselves", kernels, "ns")
      .Add(context.words.PerStep("exposed copies,"), exposed, "ns")
      .Add(context.words.PerStep("other work that could run in parallel with the copies,"), hides,
           "ns");
  report.Add(std::move(finding));
}

// Large results that are read back in every step, slower than the link goes.
void ReadBack(const Context& context, Report& report) {
  if (!context.on_gpu) return;
  int64_t ns = 0;
  int64_t bytes = 0;
  size_t device = 0;
  replay::Change faster;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    const model::LaunchConfig& config = context.run.ConfigOf(i);
    if (config.kind != model::ActivityKind::kMemcpy ||
        config.copy_kind != model::CopyKind::kDeviceToHost || !context.InBasis(i) ||
        context.OpOf(i) != nullptr) {  // The program offloads that itself: copy_in_step.
      continue;
    }
    ns += context.run.activities.duration_ns[i];
    bytes += std::max<int64_t>(context.run.activities.bytes[i], 0);
    device = static_cast<size_t>(context.run.LaneOf(i).device_id) - 1;
    faster.foreign_configs[context.run.activities.config[i]] = 0;
  }
  if (context.PerStep(bytes) < kMinReadBackBytes || ns <= 0) return;
  const double rate = static_cast<double>(bytes) / (static_cast<double>(ns) * 1e-9);
  const auto link = device < context.analysis.devices.size()
                        ? context.analysis.devices[device].host_link_bytes_per_s
                        : std::nullopt;
  const int64_t cost = std::min(context.PerStep(ns), context.Part(model::StepPart::kExposedCopy));
  if (!link) {
    if (context.ShareOfStep(cost) >= kMinSavingShare) {
      report.Withhold("d2h_stall", "reading back: the speed of the device's link is not known");
    }
    return;
  }
  const double share = rate / static_cast<double>(*link);
  Evidence evidence;
  evidence.Add(context.words.PerStep("bytes read back"), context.PerStep(bytes), "bytes")
      .AddReal("rate of these copies", rate / 1e9, "GB/s")
      .AddReal("rate that this link reaches", static_cast<double>(*link) / 1e9, "GB/s")
      .Add(context.words.PerStep("exposed time of reading back, at most,"), cost, "ns");
  if (share >= kGoodLinkShare || context.ShareOfStep(cost) < kMinSavingShare) {
    report.Fine("d2h_stall",
                {"reading back", fmt::format("{}, at {}% of the link's rate",
                                             context.words.PerStep(Time(context.PerStep(ns))),
                                             PeakPercent(100 * share))},
                evidence);
    return;
  }
  Finding finding;
  finding.id = "d2h_stall";
  finding.saves_high_ns = cost;
  finding.saves_low_ns = static_cast<int64_t>(static_cast<double>(cost) * (1 - share) / 2);
  finding.sure = context.Allowed(Sure::kMedium);
  finding.claims["reading back"] = cost;
  finding.change = faster;
  finding.evidence = std::move(evidence);
  finding.where_source = context.StepCallSource();
  report.Add(std::move(finding));
}

// "`jax.jit(decode_step, donate_argnames="cache")`", if the HLO names for all of these ops the
// argument that they copy or could write into; largest first.
std::string HowToDonate(const Context& context, const std::vector<const Op*>& ops) {
  std::vector<std::string> names, numbers;  // Arguments in `*args` have numbers only.
  bool all_known = true;
  for (const Op* op : ops) {
    const std::string& argument = op->facts->argument;
    all_known &= !argument.empty();
    const bool is_number = argument.starts_with(kOfArgs);
    const std::string shown =
        is_number ? argument.substr(kOfArgs.size(), argument.size() - kOfArgs.size() - 1)
                  : fmt::format("\"{}\"", argument);
    std::vector<std::string>& list = is_number ? numbers : names;
    if (std::find(list.begin(), list.end(), shown) == list.end()) list.push_back(shown);
  }
  const std::vector<std::string>& list = names.empty() ? numbers : names;
  if (!all_known || (!names.empty() && !numbers.empty()) || list.size() > kMaxNamedArguments) {
    return "`jax.jit(step, donate_argnums=0)`";
  }
  const std::string& function =
      context.attribution.modules[static_cast<size_t>(ops.front()->row->module_id) - 1]
          .framework_function;
  const std::string which = list.size() == 1 ? list[0] : fmt::format("({})", fmt::join(list, ", "));
  return fmt::format("`jax.jit({}, donate_{}={})`{}",
                     function.empty() || function[0] == '<' ? "step" : function,
                     names.empty() ? "argnums" : "argnames", which,
                     names.empty() ? "" : " (by number: `donate_argnums`)");
}

void SetDonation(const Context& context, const std::vector<const Op*>& ops, Finding& finding) {
  const std::string& function =
      context.attribution.modules[static_cast<size_t>(ops.front()->row->module_id) - 1]
          .framework_function;
  finding.values["function"] = function.empty() || function[0] == '<' ? "the step" : function;
  finding.values["donate"] = HowToDonate(context, ops);
}

// On a CPU, a new array may be memory that the system provides page by page, at the first write.
// Then the same op takes many times longer than with freed memory. Returns true if this is worth a
// finding.
bool NewResults(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  int64_t all = 0;
  int64_t at_best = 0;
  double bytes = 0;
  // Only a state is replaced by the result of each call. A caller may use any other argument again,
  // and the recording does not show which memory an argument has.
  const std::set<model::Id> train = ModulesThatTrain(context.attribution);
  for (const Op& op : context.ops) {
    if (op.facts->fresh_result_bytes == 0 || (context.whole_run && op.calls < 3)) continue;
    if (!train.contains(op.row->module_id)) continue;
    all += op.ns;
    at_best += static_cast<int64_t>(static_cast<double>(op.time->min_ns) * op.calls);
    bytes += static_cast<double>(op.facts->fresh_result_bytes) * op.calls;
    ops.push_back(&op);
  }
  if (!context.on_cpu || ops.empty() || 2 * all < 3 * at_best) return false;
  // The shortest run may have had new pages, too. On the threads of a CPU, ops can take more time
  // than the step. Longer runs can have other reasons, so new pages limit the saving.
  const auto pages_ns = static_cast<int64_t>(bytes * 1e9 / kNewBytesPerSecond);
  const int64_t saves = std::min({all - at_best / 2, context.step_ns, pages_ns});
  if (context.ShareOfStep(saves) < kNewResultsShare) return false;
  Finding finding = FindingAbout(context, "donation_missing", AllOf(context, ops));
  const Op& largest = *ops.front();
  finding.variant = "new_memory";
  SetDonation(context, ops, finding);
  finding.sentence = {
      fmt::format("Results in new memory cost up to {}",
                  context.words.OfStep(Percent(context.ShareOfStep(saves)))),
      fmt::format("{} takes {} where memory is at hand, {} on average", largest.row->name,
                  Time(largest.time->min_ns),
                  Time(largest.time->total_ns / std::max<int64_t>(largest.time->occurrences, 1)))};
  finding.saves_high_ns = saves;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.evidence
      .Add(context.words.PerStep("results in new memory,"), static_cast<int64_t>(bytes), "bytes")
      .Add("shortest", largest.time->min_ns, "ns", largest.handle)
      .Add("longest", largest.time->max_ns, "ns", largest.handle);
  report.Add(std::move(finding));
  return true;
}

void Donation(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  bool judged = false;
  int64_t copied_ns = 0;  // Time of all copies of parameters, avoidable or not.
  for (const Op& op : context.ops) {
    if (op.module == nullptr) continue;
    const auto source = context.run.modules[static_cast<size_t>(op.row->module_id) - 1].source;
    // HLO that XLA registers with NVTX has no aliases.
    if (source == model::ModuleSource::kNvtx) continue;
    judged = true;
    if (!op.facts->copied_parameter) continue;
    copied_ns += op.ns;
    if (op.facts->parameter_is_donated) continue;
    // A scalar is not a state.
    if (op.facts->bytes.value_or(kMinStateBytes) < kMinStateBytes) continue;
    // A program that runs once or twice carries no state from call to call.
    if (context.whole_run && op.calls < 3) continue;
    ops.push_back(&op);
  }
  if (!judged) {
    report.Withhold("donation_missing", "donation: the HLO does not list shared buffers");
    return;
  }
  const Site site = AllOf(context, ops);
  const int64_t all = site.ns;
  if (ops.empty() || context.ShareOfStep(all) < kMinSavingShare) {
    if (NewResults(context, report)) return;
    report.Fine(
        "donation_missing",
        {"donation", copied_ns == 0 ? "no parameter is copied"
                                    : fmt::format("copies of parameters take {}",
                                                  Percent(context.ShareOfStep(copied_ns)))});
    return;
  }
  Finding finding = FindingAbout(context, "donation_missing", site);
  SetDonation(context, ops, finding);
  finding.saves_high_ns = all;
  finding.saves_low_ns = all * 9 / 10;
  if (context.on_cpu) {
    // In addition to the copies, the system provides and frees the memory between the ops.
    double bytes = 0;
    for (const Op* op : ops) {
      // A copy reads as many bytes as it writes.
      const int64_t written =
          std::max(op->facts->fresh_result_bytes, op->facts->bytes.value_or(0) / 2);
      bytes += static_cast<double>(written) * op->calls;
    }
    const int64_t idle = std::max<int64_t>(0, context.span_ns - context.step_ns) +
                         context.Part(model::StepPart::kIdle);
    const int64_t memory = std::min(static_cast<int64_t>(bytes * 1e9 / kNewBytesPerSecond), idle);
    *finding.saves_high_ns += memory;
    if (memory > 0) finding.claims["new memory"] = memory;  // No op's: a replay would leave it out.
    finding.evidence.Add(context.words.PerStep("results in new memory,"),
                         static_cast<int64_t>(bytes), "bytes");
  }
  finding.sure = context.Allowed(Sure::kHigh);
  finding.evidence.Add("parameter that is copied", *site.largest().facts->copied_parameter, "count",
                       site.largest().handle);
  int64_t held = 0;
  const HloFacts* module = nullptr;
  for (const Op* op : ops) {
    held += op->facts->memory_bytes;
    if (module == nullptr || op->module->peak_bytes > module->peak_bytes) module = op->module;
  }
  if (module->peak_bytes > 0) {
    finding.evidence
        .Add(module->peak_from_assignment ? kMemoryAssigned : kMemoryByRanges, module->peak_bytes,
             "bytes")
        .Add(kMemoryInCopies, held, "bytes");
  }
  report.Add(std::move(finding));
}

// Copies on the device that neither donation nor layout explains.
void DeviceCopies(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->movement != Movement::kCopy || UsesHostMemory(op) || op.facts->starts_stack) {
      continue;
    }
    if (op.facts->copied_parameter && !op.facts->parameter_is_donated) continue;
    ops.push_back(&op);
  }
  for (const Site& site : SitesOf(context, ops)) {
    if (context.ShareOfStep(site.ns) < kMinSavingShare) break;
    Finding finding = FindingAbout(context, "device_copies", site);
    const bool in_loop = std::any_of(site.ops.begin(), site.ops.end(),
                                     [](const Op* op) { return op->facts->in_loop; });
    if (in_loop) finding.variant = "loop";
    finding.saves_high_ns = site.ns;
    finding.saves_low_ns = 0;
    finding.sure = context.Allowed(Sure::kMedium);
    report.Add(std::move(finding));
  }
}

}  // namespace

void CheckCopies(const Context& context, Report& report) {
  HostCopies(context, report);
  ReadBack(context, report);
  Donation(context, report);
  DeviceCopies(context, report);
}

}  // namespace xlatrace::analysis::findings
