// Numbers as people read them, the same in terminal, HTML and Markdown (design: 3 significant
// digits, at most 3 decimals, thousands with commas). Floats exist only here: everything that
// calls these holds integers.
//
// Thread-safety: re-entrant, independent of the locale.

#ifndef XLATRACE_BASE_NUMBER_FORMAT_H_
#define XLATRACE_BASE_NUMBER_FORMAT_H_

#include <cstdint>
#include <string>

namespace xlatrace {

// 3 significant digits, at most 3 decimals: "63.0", "9.45", "0.269", "50,800", "0.031"; below
// 0.0005 "<0.001"; zero is "0".
std::string Significant(double value);

// Nanoseconds in milliseconds or microseconds, unit not included.
std::string Milliseconds(double ns);
std::string Microseconds(double ns);

// A duration with the unit that suits it: "63.0 ms", "1.20 s", "410 us", "2 min 05 s".
std::string Duration(double ns);

// Share of a whole in percent, one decimal: "40.8"; "<0.1" when it is not zero; "0"; "" when the
// whole is 0.
std::string Percent(double part, double whole);

// "1,203,441".
std::string Thousands(int64_t value);

// Decimal units: "103 MB", "1.50 GB", "512 B".
std::string Bytes(double bytes);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_NUMBER_FORMAT_H_
