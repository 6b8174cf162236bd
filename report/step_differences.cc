// SPDX-License-Identifier: Apache-2.0
#include "report/step_differences.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

using model::StepPart;
using Parts = std::array<double, kStepPartCount>;

constexpr size_t kMaxBarCount = 10;
constexpr size_t kSlowestStepCount = 4, kFastestStepCount = 2;  // Shown if a run has more steps.
// A smaller share of the difference between two steps does not change its reason.
constexpr double kTrifleShare = 0.1;
constexpr double kSecondPartShare =
    0.2;  // Share of the difference from which a second part is named.
// A part with a smaller share of the difference does not explain it. Neither does a part that is
// outweighed by others.
constexpr double kExplainingShare = 0.3, kOutweighed = 2;

struct Step {
  int64_t number = 0;
  double wall_ns = 0;  // Mean over devices.
  Parts mean{};
  const StepOfDevice* awaited = nullptr;  // The least exposed collectives.
  double wait_ns = 0;  // The largest exposed collective time minus that of this device.
};

double Of(const Parts& parts, StepPart part) { return parts[static_cast<size_t>(part)]; }
int64_t Exposed(const StepOfDevice& step) {
  return step.parts[static_cast<size_t>(StepPart::kExposedCollective)];
}

Step StepOf(const std::vector<const StepOfDevice*>& devices) {
  Step step{.number = devices.front()->step, .awaited = devices.front()};
  int64_t most = 0;
  const auto count = static_cast<double>(devices.size());
  for (const StepOfDevice* device : devices) {
    step.wall_ns += static_cast<double>(device->wall_ns) / count;
    for (size_t i = 0; i < kStepPartCount; ++i) {
      step.mean[i] += static_cast<double>(device->parts[i]) / count;
    }
    if (Exposed(*device) < Exposed(*step.awaited)) step.awaited = device;
    most = std::max(most, Exposed(*device));
  }
  step.wait_ns = static_cast<double>(most - Exposed(*step.awaited));
  return step;
}

Parts PartsOf(const Step& step, bool of_awaited) {
  if (!of_awaited) return step.mean;
  Parts parts{};
  std::copy(step.awaited->parts.begin(), step.awaited->parts.end(), parts.begin());
  return parts;
}

// As in "10.1 ms more backward".
std::string_view MoreOf(StepPart part) {
  switch (part) {
    case StepPart::kUnknown:
      return "work without a phase";
    case StepPart::kOther:
      return "other work";
    case StepPart::kIdle:
      return "idle time";
    default:
      return PartWords(part);
  }
}

std::vector<Step> ByTime(std::vector<Step> steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.wall_ns < b.wall_ns; });
  return steps;
}

// True if the last step is the fastest only because it lacks the idle time at its end.
bool LacksItsEnd(const std::vector<Step>& by_time) {
  const Step& last = by_time.front();
  double idle = 0;
  for (size_t i = 1; i < by_time.size(); ++i) idle += Of(by_time[i].mean, StepPart::kIdle);
  idle /= static_cast<double>(by_time.size() - 1);
  return idle - Of(last.mean, StepPart::kIdle) >
         kTrifleShare * (by_time.back().wall_ns - last.wall_ns);
}

}  // namespace

std::optional<StepDifferences> WhyStepsDiffer(const std::vector<StepOfDevice>& steps,
                                              std::optional<int64_t> last, int64_t mean_ns) {
  std::map<int64_t, std::vector<const StepOfDevice*>> by_number;
  for (const StepOfDevice& step : steps) by_number[step.step].push_back(&step);
  if (by_number.size() < 2) return std::nullopt;
  std::vector<Step> by_time;
  for (const auto& [number, devices] : by_number) by_time.push_back(StepOf(devices));
  by_time = ByTime(std::move(by_time));
  const bool without_last =
      last && by_time.size() > 2 && by_time.front().number == *last && LacksItsEnd(by_time);
  if (without_last) by_time.erase(by_time.begin());
  const Step& fast = by_time.front();
  const Step& slow = by_time.back();
  const double difference = slow.wall_ns - fast.wall_ns;
  const bool of_awaited = std::max(fast.wait_ns, slow.wait_ns) > kTrifleShare * difference;

  StepDifferences out;
  double gain = 0;
  double next_gain = 0;
  double loss = 0;  // Time by which other parts are shorter in the slow step.
  StepPart lost = StepPart::kUnknown;
  StepPart next = StepPart::kUnknown;
  const Parts before = PartsOf(fast, of_awaited), after = PartsOf(slow, of_awaited);
  for (const StepPart part : kPartOrder) {
    const double more = Of(after, part) - Of(before, part);
    if (more < -loss) {
      loss = -more;
      lost = part;
    }
    if (more > gain) {
      next = out.part.value_or(StepPart::kUnknown);
      next_gain = gain;
      gain = more;
      out.part = part;
    } else if (more > next_gain) {
      next = part;
      next_gain = more;
    }
  }
  std::vector<Step> shown = by_time;
  if (shown.size() > kMaxBarCount) {
    const Step median = shown[(shown.size() - 1) / 2];
    shown.erase(shown.begin() + kFastestStepCount, shown.end() - kSlowestStepCount);
    shown.push_back(median);
  }
  std::sort(shown.begin(), shown.end(),
            [](const Step& a, const Step& b) { return a.number < b.number; });
  for (const Step& step : shown) {
    const double part_ns = out.part ? Of(PartsOf(step, of_awaited), *out.part) : 0;
    out.bars.push_back({step.number, step.wall_ns, part_ns});
  }

  out.heading =
      fmt::format("Why steps differ by {}%", Percent(difference, static_cast<double>(mean_ns)));
  size_t devices = 0;
  for (const auto& [number, of_step] : by_number) devices = std::max(devices, of_step.size());
  out.range =
      fmt::format("Steps from {} to {} ms", Milliseconds(fast.wall_ns), Milliseconds(slow.wall_ns));
  if (devices > 1) out.range += fmt::format(", mean of {} devices", devices);
  if (out.part && gain > kExplainingShare * difference && gain < kOutweighed * difference) {
    const bool one = fast.awaited->device_id == slow.awaited->device_id;
    out.text = fmt::format("Step {} takes {} ms longer than step {}", slow.number,
                           Milliseconds(difference), fast.number);
    const std::string_view awaited =
        one ? "on the device that waits least" : "on the devices that wait least";
    // The length of a step is the mean over all devices, but its parts are those of one device.
    const auto own = static_cast<double>(slow.awaited->wall_ns - fast.awaited->wall_ns);
    const bool apart = of_awaited && std::abs(own - difference) > kTrifleShare * difference;
    std::string more =
        fmt::format("{} ms more {} (hatched)", Milliseconds(gain), MoreOf(*out.part));
    if (next_gain > kSecondPartShare * (apart ? own : difference)) {
      more += fmt::format(", {} ms more {}", Milliseconds(next_gain), MoreOf(next));
    }
    if (apart) {
      out.text += fmt::format(", {} ms {}: {} there.", Milliseconds(own), awaited, more);
    } else {
      out.text += fmt::format(": {}{}{}.", more, of_awaited ? ", " : "", of_awaited ? awaited : "");
    }
  } else {
    out.text = fmt::format("No single part explains the {} ms between step {} and step {}",
                           Milliseconds(difference), fast.number, slow.number);
    // Parts that move against each other by more than the whole does.
    if (out.part && loss > 0 && gain >= kOutweighed * difference && !of_awaited) {
      out.text += fmt::format(": {} ms more {}, {} ms less {}", Milliseconds(gain),
                              MoreOf(*out.part), Milliseconds(loss), MoreOf(lost));
    }
    out.text += ".";
  }
  if (without_last) {
    out.text += fmt::format(
        " Step {}, the last, is left out: it ends with its work, the others where the next begins.",
        *last);
  }
  if (by_time.size() > kMaxBarCount) {
    out.text += fmt::format(
        " The {1} slowest, the median and the {2} fastest of {0} steps are shown.",
        Thousands(static_cast<int64_t>(by_time.size())), kSlowestStepCount, kFastestStepCount);
  }
  if (difference < 0.02 * static_cast<double>(mean_ns)) out.text += " They hardly differ.";
  return out;
}

}  // namespace xlatrace::report
