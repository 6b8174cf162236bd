// SPDX-License-Identifier: Apache-2.0
#include "compare/identity.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analysis/gpu_table.h"
#include "base/number_format.h"

namespace xlatrace::compare {
namespace {

// Minimum common share of work for two versions of one program.
constexpr double kMinCommonProgramShare = 0.3;
// Minimum common share by names only. It is lower, because another library has other names for
// equal work.
constexpr double kMinCommonKernelShare = 0.15;

std::string DeviceText(const Run& run) {
  std::string text;
  for (const auto& [name, count] : run.devices) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
  }
  return text.empty() ? "no device" : text;
}

std::vector<std::string> DeviceNames(const Run& run) {
  std::vector<std::string> names;
  for (const auto& [name, count] : run.devices) {
    // Recorders have several names for one GPU: "NVIDIA H100 80GB HBM3", "H100 SXM".
    const analysis::Gpu* gpu = analysis::FindGpuByName(name);
    names.push_back(gpu == nullptr ? name : std::string(gpu->name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Identity Identify(const Run& base, const Run& now, const InCommon& common) {
  Identity identity;
  if (!base.content_id.empty() && base.content_id == now.content_id) {
    identity.same_recording = true;
    return identity;
  }
  const auto refuse = [&](std::string text) { identity.refusals.push_back(std::move(text)); };
  const auto qualify = [&](std::string text) {
    identity.qualifications.push_back(std::move(text));
  };
  if (DeviceNames(base) != DeviceNames(now)) {
    refuse(fmt::format("other devices: {} before, {} now", DeviceText(base), DeviceText(now)));
  } else if (base.device_count != now.device_count) {
    refuse(fmt::format("{} devices before, {} now", base.device_count, now.device_count));
  }
  if (base.processes != now.processes) {
    qualify(fmt::format("{} process{} before, {} now", base.processes,
                        base.processes == 1 ? "" : "es", now.processes));
  }
  if (common.programs >= 0 && common.programs < kMinCommonProgramShare) {
    refuse(fmt::format("other programs: {}% of their work has a counterpart",
                       Percent(common.programs, 1)));
  } else if (common.kernels >= 0 && common.kernels < kMinCommonKernelShare) {
    refuse(fmt::format("other programs: {}% of the kernels' time is in kernels of both",
                       Percent(common.kernels, 1)));
  }
  for (const auto& [run, side] : {std::pair(&base, "BASE"), std::pair(&now, "NEW")}) {
    if (run->lost > 0) {
      qualify(fmt::format("{} lost {} records while it was recorded: its times are too small", side,
                          Thousands(run->lost)));
    }
    if (run->partial) qualify(fmt::format("{} was still being recorded", side));
    if (run->device_ns == 0) refuse(fmt::format("{} has no device time", side));
  }
  if (!base.steady || !now.steady) {
    const bool before = base.steady || base.has_steps;
    const bool after = now.steady || now.has_steps;
    const std::string_view side = before ? "NEW has no" : after ? "BASE has no" : "neither run has";
    qualify(
        fmt::format("{} steady steps: whole recordings are compared, with start-up where they hold "
                    "it; run at least 20 steps",
                    side));
  }
  if (base.granularity != now.granularity) {
    qualify(fmt::format("recorded by {} before, by {} now: what a launch is differs",
                        base.granularity, now.granularity));
  }
  const auto differ = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b && !a.empty() && !b.empty()) {
      identity.differences.push_back(fmt::format("{}: {} before, {} now", what, a, b));
    }
  };
  const std::map<std::string, std::string> versions(now.versions.begin(), now.versions.end());
  for (const auto& [key, value] : base.versions) {
    const auto other = versions.find(key);
    if (other != versions.end()) differ(key, value, other->second);
  }
  differ("command", base.command, now.command);
  return identity;
}

}  // namespace xlatrace::compare
