// SPDX-License-Identifier: Apache-2.0

// Numbers for people: 3 significant digits, at most 3 decimals, thousands with commas. Finding,
// evidence, terminal, page and exports use the same digits. Text is ASCII ("us", "-");
// report/ui/src/format.ts has the same rules with the glyphs of the page, and
// tests/base/golden/numbers.txt checks both.
//
// Thread-safety: re-entrant, independent of the locale.

#ifndef XLATRACE_BASE_NUMBER_FORMAT_H_
#define XLATRACE_BASE_NUMBER_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace xlatrace {

// 3 significant digits, at most 3 decimals: "63.0", "9.45", "0.269", "50,800", "0.031"; below
// 0.0005 "<0.001"; zero is "0".
std::string Significant(double value);

// Nanoseconds as milliseconds or microseconds, without the unit.
std::string Milliseconds(double ns);
std::string Microseconds(double ns);

// The same with the unit, for sentences about a column in ms: "0.410 ms", "1,200 ms"; from 100 s on
// "9 min 20 s".
std::string MillisecondsText(double ns);

// A duration with the unit that suits it: "63.0 ms", "1.20 s", "410 us", "2 min 05 s".
std::string Duration(double ns);

// Share of a whole in percent, one decimal: "40.8"; "<0.1" if it is not zero; "0"; "" if the whole
// is 0.
std::string Percent(double part, double whole);

// Percent of a peak: "64"; below 1 with two decimals ("0.06").
std::string PeakPercent(double percent);

// "1,203,441".
std::string Thousands(int64_t value);

// A count of a run or per step: "1,203" for integers, else "2.50".
std::string CountText(double value);
// The same for gaps: an integer from ten on, because a step has many gaps.
std::string GapCount(double value);

// Decimal units: "103 MB", "1.50 GB", "512 B"; "3.35 TB/s"; "12.0 GFLOP"; "790 TFLOP/s".
std::string Bytes(double bytes);
std::string ByteRate(double bytes_per_s);
std::string Flop(double flop);
std::string FlopRate(double flop_per_s);

// A figure with the unit in which it is stored, ns, bytes, flops, bytes/s, GB/s, flops/s, TFLOP/s,
// %, count or none: "4.10 ms", "1.50 MB", "7.4%", "16". Other units follow the number: "12.0 W".
std::string InUnit(double value, std::string_view unit);

// Adds the sign of `change` to `text`, its absolute value: "+0.860 ms", "-49.9%"; no sign if the
// text is "0" or "<0.1%".
std::string WithSign(double change, std::string text);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_NUMBER_FORMAT_H_
