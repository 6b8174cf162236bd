#include "base/number_format.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace xlatrace {
namespace {

// "1234567" -> "1,234,567"; a fraction stays as it is.
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

}  // namespace

std::string Significant(double value) {
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size < 0.0005) return value < 0 ? ">-0.001" : "<0.001";
  if (size < 0.9995) return fmt::format("{:.3f}", value);
  if (size < 9.995) return fmt::format("{:.2f}", value);
  if (size < 99.95) return fmt::format("{:.1f}", value);
  if (size < 999.5) return fmt::format("{:.0f}", value);
  // Three significant digits would hide nothing a person needs, but thousands are read whole.
  const double unit = std::pow(10.0, std::floor(std::log10(size)) - 2);
  return WithCommas(fmt::format("{:.0f}", std::round(value / unit) * unit));
}

std::string Milliseconds(double ns) { return Significant(ns / 1e6); }
std::string Microseconds(double ns) { return Significant(ns / 1e3); }

std::string Duration(double ns) {
  const double size = std::fabs(ns);
  if (size < 1e3) return fmt::format("{:.0f} ns", ns);
  if (size < 999.5e3) return Significant(ns / 1e3) + " us";
  if (size < 999.5e6) return Significant(ns / 1e6) + " ms";
  if (size < 120e9) return Significant(ns / 1e9) + " s";
  const auto seconds = static_cast<int64_t>(std::llround(ns / 1e9));
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

std::string Thousands(int64_t value) { return WithCommas(fmt::format("{}", value)); }

std::string Bytes(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (std::fabs(bytes) >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{} {}", Significant(bytes), kUnits[unit]);
}

}  // namespace xlatrace
