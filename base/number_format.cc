// SPDX-License-Identifier: Apache-2.0
#include "base/number_format.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace xlatrace {
namespace {

// "1234567" -> "1,234,567"; a fraction stays unchanged.
std::string WithCommas(std::string digits) {
  const size_t sign = !digits.empty() && digits[0] == '-' ? 1 : 0;
  size_t at = digits.find('.');
  if (at == std::string::npos) at = digits.size();
  while (at > sign + 3) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string Scaled(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  size_t scale = 0;
  while (std::fabs(value) >= 999.5 && scale + 1 < kPrefixes.size()) {
    value /= 1000;
    ++scale;
  }
  return fmt::format("{} {}{}", scale == 0 ? fmt::format("{:.0f}", value) : Significant(value),
                     kPrefixes[scale], unit);
}

bool IsWhole(double value) { return std::fabs(value - std::round(value)) < 1e-6; }

}  // namespace

std::string Significant(double value) {
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size < 0.0005) return value < 0 ? ">-0.001" : "<0.001";
  if (size < 0.9995) return fmt::format("{:.3f}", value);
  if (size < 9.995) return fmt::format("{:.2f}", value);
  if (size < 99.95) return fmt::format("{:.1f}", value);
  if (size < 999.5) return fmt::format("{:.0f}", value);
  // From here on, round to three significant digits and print the whole number.
  const double unit = std::pow(10.0, std::floor(std::log10(size)) - 2);
  return WithCommas(fmt::format("{:.0f}", std::round(value / unit) * unit));
}

std::string Milliseconds(double ns) { return Significant(ns / 1e6); }
std::string Microseconds(double ns) { return Significant(ns / 1e3); }

std::string MillisecondsText(double ns) {
  return std::fabs(ns) < 99.95e9 ? Milliseconds(ns) + " ms" : Duration(ns);
}

std::string Duration(double ns) {
  const double size = std::fabs(ns);
  if (size < 999.5) return fmt::format("{:.0f} ns", ns);
  if (size < 999.5e3) return Significant(ns / 1e3) + " us";
  if (size < 999.5e6) return Significant(ns / 1e6) + " ms";
  if (size < 120e9) return Significant(ns / 1e9) + " s";
  const auto seconds = static_cast<int64_t>(std::llround(ns / 1e9));
  if (std::abs(seconds) >= 3600) {
    const auto minutes = static_cast<int64_t>(std::llround(ns / 60e9));
    return fmt::format("{} h {:02} min", minutes / 60, std::abs(minutes % 60));
  }
  return fmt::format("{} min {:02} s", seconds / 60, std::abs(seconds % 60));
}

std::string Percent(double part, double whole) {
  if (whole == 0) return "";
  if (part == 0) return "0";
  const double percent = 100 * part / whole;
  if (std::fabs(percent) < 0.05) return "<0.1";
  if (std::fabs(percent - 100) < 0.05) return "100";
  return fmt::format("{:.1f}", percent);
}

std::string PeakPercent(double percent) {
  if (percent >= 0.995) return fmt::format("{:.0f}", percent);
  return percent < 0.005 ? "<0.01" : fmt::format("{:.2f}", percent);
}

std::string Thousands(int64_t value) { return WithCommas(fmt::format("{}", value)); }

std::string CountText(double value) {
  return IsWhole(value) ? Thousands(std::llround(value)) : Significant(value);
}

std::string GapCount(double value) {
  return value < 10 ? CountText(value) : Thousands(std::llround(value));
}

std::string Bytes(double bytes) { return Scaled(bytes, "B"); }
std::string ByteRate(double bytes_per_s) { return Scaled(bytes_per_s, "B/s"); }
std::string Flop(double flop) { return Scaled(flop, "FLOP"); }
std::string FlopRate(double flop_per_s) { return Scaled(flop_per_s, "FLOP/s"); }

std::string InUnit(double value, std::string_view unit) {
  if (unit == "ns") return Duration(value);
  if (unit == "bytes") return Bytes(value);
  if (unit == "flops") return Flop(value);
  if (unit == "bytes/s") return ByteRate(value);
  if (unit == "flops/s") return FlopRate(value);
  if (unit == "GB/s") return ByteRate(1e9 * value);
  if (unit == "TFLOP/s") return FlopRate(1e12 * value);
  if (unit == "%") return Percent(value, 100) + "%";
  if (unit == "count" || unit.empty()) return CountText(value);
  return fmt::format("{} {}", Significant(value), unit);
}

std::string WithSign(double change, std::string text) {
  if (change == 0 || text.starts_with('<') || text.find_first_of("123456789") == text.npos) {
    return text;
  }
  return (change < 0 ? "-" : "+") + text;
}

}  // namespace xlatrace
