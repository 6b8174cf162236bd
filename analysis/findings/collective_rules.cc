#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/collective_model.h"
#include "analysis/device_facts.h"
#include "analysis/findings/lag.h"
#include "analysis/findings/rules.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

constexpr double kExposedShare = 0.02;
constexpr double kSkewShare = 0.02;
constexpr int64_t kSmallBytes = 1 << 20;
constexpr int64_t kLargeBytes = 4 << 20;  // Below that it is latency, not bandwidth.
constexpr double kLowBandwidth = 0.6;     // Of what such links reach.
constexpr double kGoodBandwidth = 0.8;

// Times of one collective instruction, over steady steps and devices.
struct Collective {
  const Op* op = nullptr;
  int64_t ns = 0;
  int64_t exposed_ns = 0;
  int64_t bytes = 0;  // Of one run; 0: unknown.
  // Durations and exposed parts of each device, by step and in order of time.
  std::map<Id, std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>>> of_device;
  // Of those, what the same run of it took on all devices, and how much of it was exposed.
  std::vector<std::map<Id, int64_t>> paired;
  int64_t paired_exposed_ns = 0;
  int64_t wait_ns = 0;  // Waiting for the last device to arrive.
  int64_t exposed_wait_ns = 0;
};

// One process per device has a module of its own, so that the same collective is another op in
// each: equal programs are told by their fingerprints. The op that stands for all of them.
class SameOps {
 public:
  explicit SameOps(const Context& context) : context_(context) {
    if (context.run.processes.size() < 2) return;
    std::map<std::pair<std::string, std::string>, const Op*> first;
    for (const Op& op : context.ops) {
      if (op.row->module_id == 0) continue;
      const auto& facts = context.attribution.modules[static_cast<size_t>(op.row->module_id) - 1];
      if (facts.fingerprint.empty()) continue;
      const Op*& same = first[{facts.fingerprint, op.row->name}];
      if (same == nullptr) same = &op;
      same_[&op] = same;
    }
  }
  const Op* OpOf(size_t activity) const {
    const Op* op = context_.OpOf(activity);
    const auto at = same_.find(op);
    return at == same_.end() ? op : at->second;
  }

 private:
  const Context& context_;
  std::map<const Op*, const Op*> same_;
};

std::map<const Op*, Collective> CollectivesOf(const Context& context, const SameOps& same) {
  std::map<const Op*, Collective> collectives;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    if (!context.InBasis(i)) continue;
    const Op* op = same.OpOf(i);
    if (op == nullptr) continue;
    Collective& of = collectives[op];
    of.op = op;
    const int64_t ns = context.run.activities.self_ns[i];
    of.ns += ns;
    of.exposed_ns += row.exposed_ns.value_or(0);
    of.bytes = row.bytes.value_or(of.bytes);
    of.of_device[context.run.LaneOf(i).device_id][context.StepOf(i)].emplace_back(
        ns, row.exposed_ns.value_or(0));
  }
  return collectives;
}

// The last to arrive waits for nobody: what others take longer than the shortest of an instance is
// waiting (facts of NCCL kernels: they spin until all ranks are there).
void SplitWaiting(Collective& of) {
  if (of.of_device.size() < 2) return;
  for (const auto& [step, first] : of.of_device.begin()->second) {
    // Processes record on their own: a step that one of them lacks, or in which it ran another
    // number of times, has no counterpart.
    const size_t count = first.size();
    const bool on_all = std::all_of(
        of.of_device.begin(), of.of_device.end(), [count, at_step = step](const auto& device) {
          const auto at = device.second.find(at_step);
          return at != device.second.end() && at->second.size() == count;
        });
    if (!on_all) continue;
    for (size_t k = 0; k < count; ++k) {
      std::map<Id, int64_t>& times = of.paired.emplace_back();
      int64_t least = INT64_MAX;
      for (const auto& [device, steps] : of.of_device) {
        times[device] = steps.at(step)[k].first;
        least = std::min(least, times[device]);
      }
      for (const auto& [device, steps] : of.of_device) {
        const auto& [ns, exposed] = steps.at(step)[k];
        of.wait_ns += ns - least;
        of.exposed_wait_ns += std::min(ns - least, exposed);
        of.paired_exposed_ns += exposed;
      }
    }
  }
}

// Which device arrives last most often, and in how many of the instances.
std::pair<Id, double> LastDevice(const Collective& of) {
  const size_t count = of.paired.size();
  std::map<Id, int64_t> last;
  for (const std::map<Id, int64_t>& times : of.paired) {
    const auto least =
        std::min_element(times.begin(), times.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ++last[least->first];
  }
  const auto most = std::max_element(
      last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == last.end()) return {0, 0};
  return {most->first, static_cast<double>(most->second) / static_cast<double>(count)};
}

// What the device that comes last spends more time on than the others do before they wait.
struct SkewCause {
  const Op* op = nullptr;
  int64_t more_ns = 0;  // Per step.
};

SkewCause CauseOfSkew(const Context& context, const SameOps& same, const Collective& worst) {
  constexpr size_t kMostOps = 64;  // The largest: a smaller one cannot hold up anybody for long.
  std::map<int64_t, std::map<Id, int64_t>> waits;  // Step -> device -> time in the collective.
  std::map<int64_t, std::map<Id, std::vector<int64_t>>> times;  // The same, of the largest ops.
  const size_t count = std::min(kMostOps, context.ops.size());
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    const Op* op = same.OpOf(i);
    if (op == nullptr) continue;
    const int64_t step = context.StepOf(i);
    const Id device = context.run.LaneOf(i).device_id;
    const int64_t ns = context.run.activities.self_ns[i];
    if (op == worst.op) waits[step][device] += ns;
    const auto at = static_cast<size_t>(op - context.ops.data());
    if (at >= count || op->row->op_kind == model::OpKind::kCollective) continue;
    std::vector<int64_t>& of = times[step][device];
    of.resize(count);
    of[at] += ns;
  }
  std::vector<int64_t> more(count, 0);
  int64_t waited = 0;
  int64_t steps = 0;
  for (const auto& [step, devices] : waits) {
    if (devices.size() < 2) continue;
    const auto last =
        std::min_element(devices.begin(), devices.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ++steps;
    const auto others = static_cast<int64_t>(devices.size()) - 1;
    const auto& of_step = times[step];
    for (const auto& [device, ns] : devices) {
      if (device != last->first) waited += (ns - last->second) / others;
    }
    // Against the median device, as everywhere else (fleet/culprit.h, the page's Ranks).
    std::vector<int64_t> of_op;
    for (size_t k = 0; k < count; ++k) {
      of_op.clear();
      int64_t of_last = 0;
      for (const auto& [device, ns] : devices) {
        const auto found = of_step.find(device);
        of_op.push_back(found == of_step.end() ? 0 : found->second[k]);
        if (device == last->first) of_last = of_op.back();
      }
      const auto middle = of_op.begin() + static_cast<std::ptrdiff_t>((of_op.size() - 1) / 2);
      std::nth_element(of_op.begin(), middle, of_op.end());
      more[k] += of_last - *middle;
    }
  }
  if (steps == 0 || count == 0) return {};
  const auto most = std::max_element(more.begin(), more.end());
  // Devices that are late in turn leave no difference to explain.
  if (waited <= 0 || *most <= 0 || 2 * *most < waited) return {};
  return {&context.ops[static_cast<size_t>(most - more.begin())], *most / steps};
}

// Where no device is waited for in step after step, or too few steps tell. Returns the op to blame,
// if there is one.
const Op* SayInTurn(const Context& context, const SameOps& same, const Collective& worst,
                    Finding& finding) {
  const SkewCause cause = CauseOfSkew(context, same, worst);
  const auto [last, often] = LastDevice(worst);
  if (cause.op != nullptr) {
    finding.title = {"Even out the devices",
                     fmt::format("they wait for {} on the slowest", cause.op->handle)};
    finding.action = fmt::format(
        "{} ({}) takes {} longer on the device that comes last in a step than on the median "
        "device: its data is uneven, or its time depends on the data; what makes it faster ends "
        "the wait as well",
        cause.op->handle, cause.op->row->name, Time(cause.more_ns));
    finding.evidence.Add(
        context.words.PerStep("longer on the device that comes last in a step than on the median "
                              "device,"),
        cause.more_ns, "ns", cause.op->handle);
  } else {
    finding.title = {"Even out the devices", "they wait for the slowest"};
    finding.action =
        "look at what the device that comes last does longer (`summary --by device`): uneven "
        "data, one slow kernel, clocks; the wait ends when the work in front of it is even";
  }
  finding.evidence.AddReal(fmt::format("comes last most often: {}, in", DeviceWords(context, last)),
                           100 * often, "%");
  return cause.op;
}

// Devices of the largest group that exchanges; 0: not told. One half of a job that was recorded
// cannot tell whom all of it waits for.
int64_t LargestGroup(const Context& context) {
  int64_t largest = 0;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    largest = std::max(largest, row.group_size.value_or(0));
  }
  return largest;
}

void Skew(const Context& context, const SameOps& same, std::map<const Op*, Collective>& collectives,
          int64_t exposed, Report& report) {
  if (context.run.devices.size() < 2) {
    if (exposed > 0) {
      report.Withhold("arrival_skew",
                      "waiting for other devices: one device alone cannot tell it from transfer");
    }
    return;
  }
  int64_t wait = 0;
  const Collective* worst = nullptr;
  int64_t paired_ns = 0;
  for (auto& [op, of] : collectives) {
    SplitWaiting(of);
    paired_ns += of.paired_exposed_ns;
    wait += of.exposed_wait_ns;
    if (worst == nullptr || of.exposed_wait_ns > worst->exposed_wait_ns) worst = &of;
  }
  if (2 * paired_ns < exposed) {
    report.Withhold("arrival_skew",
                    "waiting for other devices: for most collectives no counterpart on another "
                    "device is known (the same program, instruction, step and number in it)");
    return;
  }
  const int64_t ns = context.PerStep(wait);
  const auto here = static_cast<int64_t>(context.run.devices.size());
  const int64_t members = LargestGroup(context);
  if (worst == nullptr || context.ShareOfStep(ns) < kSkewShare) {
    if (exposed > 0 && members > here) {
      report.Withhold("arrival_skew",
                      fmt::format("waiting for other devices: {} of the {} that exchange are in "
                                  "this run, and the one that all wait for may be another (merge "
                                  "the runs of all ranks)",
                                  here, members));
    } else if (exposed > 0) {
      report.Fine("arrival_skew", {"waiting for other devices",
                                   context.words.OfStep(Percent(context.ShareOfStep(ns)))});
    }
    return;
  }
  Finding finding;
  finding.id = "arrival_skew";
  const std::optional<DeviceLag> lag = LagOf(context);
  const Op* blamed =
      lag ? SayLag(
                context, *lag, [&](size_t activity) { return same.OpOf(activity); }, finding)
          : SayInTurn(context, same, *worst, finding);
  finding.sentence = {
      fmt::format("Devices wait for each other {}",
                  context.words.OfStep(Percent(context.ShareOfStep(ns)))),
      fmt::format("{} in collectives that nothing hides{}", Time(ns),
                  blamed != nullptr ? ", for " + blamed->row->name : std::string())};
  finding.how_to_check = "the shortest and the longest device of this collective take alike";
  finding.saves_high_ns = ns;
  finding.saves_low_ns = ns / 2;
  finding.sure = context.Allowed(Sure::kHigh);
  const Op& where = blamed != nullptr ? *blamed : *worst->op;
  finding.where_op = where.row->name;
  finding.where_layer = where.row->layer_group;
  finding.where_source = context.SourceOf(where);
  finding.claims["collectives waiting"] = ns;
  finding.change.emplace();
  finding.change->devices_even = true;
  finding.evidence
      .Add(context.words.PerStep("mean of all devices: waiting in collectives that nothing hides,"),
           ns, "ns")
      .Add("of it in this one", context.PerStep(worst->exposed_wait_ns), "ns", worst->op->handle);
  if (members > here) {
    finding.evidence.Add("devices that exchange, of which some are not in this run", members,
                         "count");
  }
  report.Add(std::move(finding));
}

// Devices of one host: what a collective among them crosses are the host's own links.
int64_t DevicesOfHost(const Context& context, const model::Device& device) {
  const auto host = [&](const model::Device& of) {
    return of.process_id > 0 ? context.run.processes[static_cast<size_t>(of.process_id) - 1].host
                             : std::string();
  };
  return std::count_if(context.run.devices.begin(), context.run.devices.end(),
                       [&](const model::Device& of) { return host(of) == host(device); });
}

// Large collectives with nothing beside them that stay far behind what such links reach. Returns
// what they lose per step, where that is a finding.
int64_t Bandwidth(const Context& context, const SameOps& same,
                  const std::map<const Op*, Collective>& collectives, Report& report) {
  struct Rate {
    double best = 0;      // Of its instances: the one that waited least.
    double expected = 0;  // Bytes per second of bus bandwidth.
    int64_t exposed_ns = 0;
    int64_t bytes = 0;
  };
  std::map<const Op*, Rate> rates;
  int64_t unknown_ns = 0;
  int64_t all_ns = 0;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    const Op* op = context.InBasis(i) ? same.OpOf(i) : nullptr;
    if (op == nullptr || !row.bytes || !row.group_size || !row.bus_bandwidth_bytes_per_s ||
        *row.bytes < kLargeBytes || !row.exposed_ns ||
        10 * *row.exposed_ns < 9 * context.run.activities.duration_ns[i]) {
      continue;
    }
    const model::Device& device = context.run.DeviceOf(i);
    const DeviceFacts facts = analysis::FactsOf(device);
    const auto expected =
        facts.gpu != nullptr && *row.group_size <= DevicesOfHost(context, device)
            ? ExpectedBusBandwidth(*facts.gpu, row.op, *row.bytes, *row.group_size)
            : std::nullopt;
    all_ns += *row.exposed_ns;
    if (!expected) {
      unknown_ns += *row.exposed_ns;
      continue;
    }
    Rate& rate = rates[op];
    rate.best = std::max(rate.best, static_cast<double>(*row.bus_bandwidth_bytes_per_s));
    rate.expected = *expected;
    rate.exposed_ns += *row.exposed_ns;
    rate.bytes = *row.bytes;
  }
  if (context.ShareOfStep(context.PerStep(all_ns)) < kExposedShare) return 0;
  if (2 * unknown_ns > all_ns) {
    report.Withhold("low_busbw",
                    "bandwidth of collectives: the links between these devices are not known");
    return 0;
  }
  std::vector<const Op*> ops;
  int64_t good_ns = 0;
  for (const auto& [op, rate] : rates) {
    if (rate.best < kLowBandwidth * rate.expected) ops.push_back(op);
    if (rate.best >= kGoodBandwidth * rate.expected) good_ns += rate.exposed_ns;
  }
  const auto lost = [&](const Op* op) {
    const Rate& rate = rates.at(op);
    // Waiting for other devices is not the links' fault.
    const int64_t moving =
        std::max<int64_t>(rate.exposed_ns - collectives.at(op).exposed_wait_ns, 0);
    return context.PerStep(
        static_cast<int64_t>(static_cast<double>(moving) * (1 - rate.best / rate.expected)));
  };
  int64_t saves = 0;
  for (const Op* op : ops) saves += lost(op);
  if (ops.empty() || context.ShareOfStep(saves) < kLeastShare) {
    if (10 * good_ns >= 8 * all_ns) {
      report.Fine("low_busbw", {"collectives", "at the links' speed"});
    }
    return 0;
  }
  const Op& worst = **std::max_element(ops.begin(), ops.end(),
                                       [&](const Op* a, const Op* b) { return lost(a) < lost(b); });
  const Rate& rate = rates.at(&worst);
  Finding finding;
  finding.id = "low_busbw";
  finding.title = {"Find what slows the links",
                   fmt::format("collectives run at {}% of theirs",
                               PeakPercent(100 * rate.best / rate.expected))};
  finding.action =
      "see `nvidia-smi nvlink -s` and `nvidia-smi topo -m`, NCCL_DEBUG=INFO for the path it takes "
      "(NCCL_P2P_DISABLE unset, NCCL_NVLS_ENABLE not 0); combine small ones into larger ones";
  finding.how_to_check = "bus bandwidth of these collectives (`collective.bus_bandwidth`)";
  finding.saves_high_ns = saves;
  finding.saves_low_ns = 0;
  finding.basis = Basis::kCostModel;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.where_op = worst.row->name;
  finding.where_layer = worst.row->layer_group;
  finding.where_source = context.SourceOf(worst);
  finding.claims["slow links"] = saves;
  finding.change.emplace();
  for (const Op* op : ops) {
    finding.change->instructions[static_cast<uint32_t>(op->time->instruction_id)] =
        rates.at(op).best / rates.at(op).expected;
  }
  finding.evidence.Add("bytes of the one that loses most", rate.bytes, "bytes", worst.handle)
      .AddReal("its best bus bandwidth", rate.best / 1e9, "GB/s", worst.handle)
      .AddReal("what this size reaches on such links", rate.expected / 1e9, "GB/s");
  report.Add(std::move(finding));
  return saves;
}

// Collectives of one kind and size class that run at very different rates: what is wrong with the
// slow ones is not the links.
void Siblings(const Context& context, const SameOps& same, Report& report) {
  struct Rate {
    double best = 0;
    int64_t ns = 0, bytes = 0, count = 0;
  };
  std::map<std::pair<std::string, int64_t>, std::map<const Op*, Rate>> groups;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    const Op* op = context.InBasis(i) ? same.OpOf(i) : nullptr;
    if (op == nullptr || !row.bytes || !row.group_size || !row.bus_bandwidth_bytes_per_s ||
        *row.bytes < kLargeBytes) {
      continue;
    }
    Rate& rate = groups[{row.op, *row.group_size}][op];
    rate.best = std::max(rate.best, static_cast<double>(*row.bus_bandwidth_bytes_per_s));
    rate.ns += context.run.activities.self_ns[i];
    rate.bytes = *row.bytes;
    ++rate.count;
  }
  const Op* worst = nullptr;
  const Op* model_op = nullptr;
  Rate worst_rate, best_rate;
  int64_t most = 0;
  for (const auto& [kind, ops] : groups) {
    const auto best = std::max_element(ops.begin(), ops.end(), [](const auto& a, const auto& b) {
      return a.second.best < b.second.best;
    });
    for (const auto& [op, rate] : ops) {
      // Larger ones reach more by nature: only what is no smaller than half of the best one counts.
      if (3 * rate.best >= best->second.best || 2 * rate.bytes < best->second.bytes) continue;
      const int64_t lost =
          static_cast<int64_t>(static_cast<double>(rate.ns) * (1 - rate.best / best->second.best));
      if (lost <= most) continue;
      most = lost;
      worst = op;
      model_op = best->first;
      worst_rate = rate;
      best_rate = best->second;
    }
  }
  const int64_t ns = context.PerStep(most);
  if (worst == nullptr || context.ShareOfStep(ns) < kLeastShare) return;
  Finding finding;
  finding.id = "uneven_busbw";
  finding.title = {fmt::format("Find why {} runs at {} where {} runs at {}", worst->handle,
                               ByteRate(worst_rate.best), model_op->handle,
                               ByteRate(best_rate.best))};
  finding.action =
      "same kind, same devices, a size that is no smaller: look at what runs beside the slow one "
      "(kernels that use the memory), at its layout, and at whether other devices come late";
  finding.how_to_check = "both reach the same bus bandwidth";
  finding.saves_high_ns = ns;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.where_op = worst->row->name;
  finding.where_layer = worst->row->layer_group;
  finding.where_source = context.SourceOf(*worst);
  finding.claims["slow links"] = ns;
  finding.change.emplace();
  finding.change->instructions[static_cast<uint32_t>(worst->time->instruction_id)] =
      worst_rate.best / best_rate.best;
  finding.evidence
      .AddReal("best bus bandwidth of the slow one", worst_rate.best / 1e9, "GB/s", worst->handle)
      .AddReal("of the fast one", best_rate.best / 1e9, "GB/s", model_op->handle)
      .Add("bytes of the slow one", worst_rate.bytes, "bytes", worst->handle);
  report.Add(std::move(finding));
}

void Exposed(const Context& context, const std::map<const Op*, Collective>& collectives,
             int64_t lost_to_links, Report& report) {
  int64_t all = 0;
  int64_t exposed = 0;
  int64_t wait = 0;
  std::vector<const Op*> ops;
  for (const auto& [op, of] : collectives) {
    all += of.ns;
    exposed += of.exposed_ns;
    wait += of.exposed_wait_ns;
    if (of.exposed_ns > of.exposed_wait_ns) ops.push_back(op);
  }
  if (collectives.empty()) return;
  const int64_t ns = context.PerStep(exposed);
  const int64_t transfer = std::max<int64_t>(context.PerStep(exposed - wait) - lost_to_links, 0);
  Evidence evidence;
  evidence.Add(context.words.PerStep("collectives"), context.PerStep(all), "ns")
      .Add("of them with nothing beside them", ns, "ns")
      .Add("of that, waiting for other devices", context.PerStep(wait), "ns");
  if (lost_to_links > 0) evidence.Add("of that, lost to slow links", lost_to_links, "ns");
  if (context.ShareOfStep(transfer) < kExposedShare) {
    report.Fine("exposed_collective",
                {"collectives", fmt::format("{} of {} exposed beyond waiting", Time(transfer),
                                            context.words.PerStep(Time(context.PerStep(all))))},
                evidence);
    return;
  }
  std::stable_sort(ops.begin(), ops.end(), [&](const Op* a, const Op* b) {
    const Collective& left = collectives.at(a);
    const Collective& right = collectives.at(b);
    return left.exposed_ns - left.exposed_wait_ns > right.exposed_ns - right.exposed_wait_ns;
  });
  std::map<std::string, int64_t> by_source;
  int64_t small = 0;
  for (const Op* op : ops) {
    const Collective& of = collectives.at(op);
    by_source[context.SourceOf(*op)] += of.exposed_ns - of.exposed_wait_ns;
    if (of.bytes > 0 && of.bytes < kSmallBytes) ++small;
  }
  const auto source =
      std::max_element(by_source.begin(), by_source.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Finding finding;
  finding.id = "exposed_collective";
  finding.title = {"Overlap communication with computation"};
  finding.action = context.Advice(
      "`jax.jit(..., compiler_options={\"optimization_level\": \"O1\"})` turns on the "
      "latency-hiding scheduler and pipelined collectives; else communicate less: larger batch per "
      "device, other sharding, gradients in bf16",
      "start gradients' all-reduces while backward still computes (smaller packs: "
      "`tf.distribute.experimental.CommunicationOptions(bytes_per_pack=...)`); else communicate "
      "less: larger batch per device, gradients in bf16");
  finding.sentence = {
      fmt::format("Communication that nothing hides is {}",
                  context.words.OfStep(Percent(context.ShareOfStep(transfer)))),
      fmt::format("{} of {} in collectives", Time(transfer), Time(context.PerStep(all)))};
  finding.how_to_check =
      "exposed collectives fall and the step with them; the collectives may stay";
  finding.saves_high_ns = transfer;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.where_op = ops[0]->row->name;
  finding.where_layer = ops[0]->row->layer_group;
  finding.where_source = source->first;
  finding.claims["collectives exposed"] = transfer;
  finding.change.emplace();
  finding.change->collectives_early = true;
  const Collective& most = collectives.at(ops[0]);
  evidence.Add("the rest is transfer, most of it in this one",
               context.PerStep(most.exposed_ns - most.exposed_wait_ns), "ns", ops[0]->handle);
  if (collectives.at(ops[0]).bytes > 0) {
    evidence.Add("its bytes", collectives.at(ops[0]).bytes, "bytes", ops[0]->handle);
  }
  if (small >= 10) evidence.Add("collectives below 1 MiB among them", small, "count");
  finding.evidence = std::move(evidence);
  report.Add(std::move(finding));
}

// Devices of one CPU run on the same cores: while one waits the others have its share, so that
// evening their work out, or hiding the waiting, may win nothing at all.
bool DevicesShareCores(const Context& context) {
  std::map<Id, int> devices;  // Of a process.
  for (const model::Device& device : context.run.devices) ++devices[device.process_id];
  return context.on_cpu &&
         std::any_of(devices.begin(), devices.end(), [](const auto& of) { return of.second > 1; });
}

}  // namespace

void JudgeCollectives(const Context& context, Report& report) {
  const SameOps same(context);
  std::map<const Op*, Collective> collectives = CollectivesOf(context, same);
  int64_t exposed = 0;
  for (const auto& [op, of] : collectives) exposed += of.exposed_ns;
  if (exposed > 0 && DevicesShareCores(context)) {
    report.Withhold("arrival_skew",
                    "waiting for other devices: they share the cores of one CPU, which a device "
                    "that waits leaves to the others");
    return;
  }
  Skew(context, same, collectives, exposed, report);
  const int64_t lost_to_links = Bandwidth(context, same, collectives, report);
  Siblings(context, same, report);
  Exposed(context, collectives, lost_to_links, report);
}

}  // namespace xlatrace::analysis::findings
