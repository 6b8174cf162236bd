// SPDX-License-Identifier: Apache-2.0
#include "compare/circumstances.h"

#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace xlatrace::compare {
namespace {

constexpr size_t kMaxFlags = 4;

std::string VersionOf(const Run& run, std::string_view key) {
  for (const auto& [name, value] : run.versions) {
    if (name == key) return value;
  }
  return {};
}

// "--a=1" -> {"--a", "1"}. The last of equal flags wins, as in XLA.
std::map<std::string, std::string> FlagsOf(const std::string& text) {
  std::map<std::string, std::string> flags;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!word.starts_with("--") || word.starts_with("--xla_dump")) continue;
    const size_t equals = word.find('=');
    std::string& value = flags[word.substr(0, equals)];
    value = equals == std::string::npos ? "true" : word.substr(equals + 1);
  }
  return flags;
}

// "key: A before, B now" for the first key that both sides have with different values.
template <size_t N>
std::string FirstOther(const Run& base, const Run& now,
                       const std::array<std::pair<std::string_view, std::string_view>, N>& keys) {
  for (const auto& [key, title] : keys) {
    const std::string before = VersionOf(base, key);
    const std::string after = VersionOf(now, key);
    if (!before.empty() && !after.empty() && before != after) {
      return fmt::format("{}: {} before, {} now", title, before, after);
    }
  }
  return {};
}

}  // namespace

std::string FlagDifference(const std::string& base, const std::string& now) {
  const std::map<std::string, std::string> before = FlagsOf(base);
  const std::map<std::string, std::string> after = FlagsOf(now);
  std::set<std::string> names;
  for (const auto& [name, value] : before) names.insert(name);
  for (const auto& [name, value] : after) names.insert(name);
  std::string text;
  size_t told = 0;
  size_t more = 0;
  for (const std::string& name : names) {
    const auto a = before.find(name);
    const auto b = after.find(name);
    if (a != before.end() && b != after.end() && a->second == b->second) continue;
    if (told == kMaxFlags) {
      ++more;
      continue;
    }
    ++told;
    if (!text.empty()) text += ", ";
    if (b == after.end()) {
      text += fmt::format("{}={} before, not set now", name, a->second);
    } else if (a == before.end()) {
      text += fmt::format("{}={} now, not set before", name, b->second);
    } else {
      text += fmt::format("{}={} before, {} now", name, a->second, b->second);
    }
  }
  if (more > 0) text += fmt::format(" and {} more", more);
  return text;
}

std::string CompilerReason(const Run& base, const Run& now) {
  if (base.flags_known && now.flags_known) {
    const std::string flags = FlagDifference(base.xla_flags, now.xla_flags);
    if (!flags.empty()) return "XLA flags: " + flags;
  }
  // XLA is part of these packages; CUDA contains the assembler and the libraries.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kCompilers = {{
      {"jaxlib_version", "compiler: jaxlib"},
      {"jax_version", "framework: jax"},
      {"tensorflow_version", "compiler: TensorFlow"},
      {"xla_version", "compiler: XLA"},
      {"cuda", "CUDA"},
  }};
  return FirstOther(base, now, kCompilers);
}

std::string DeviceReason(const Run& base, const Run& now) {
  if (base.clock_hz > 0 && now.clock_hz > 0 && base.clock_hz != now.clock_hz) {
    return fmt::format("the device's highest clock: {:.0f} MHz before, {:.0f} MHz now",
                       static_cast<double>(base.clock_hz) / 1e6,
                       static_cast<double>(now.clock_hz) / 1e6);
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDrivers = {{
      {"driver", "driver"},
      {"cuda", "CUDA"},
  }};
  return FirstOther(base, now, kDrivers);
}

}  // namespace xlatrace::compare
