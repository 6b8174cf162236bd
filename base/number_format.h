// SPDX-License-Identifier: Apache-2.0

// Numbers as people read them: the same digits in a finding, its evidence, terminal, page and
// exports (3 significant digits, at most 3 decimals, thousands with commas). Text is ASCII ("us",
// "-"); report/ui/src/format.ts has the same rules with the page's glyphs, and
// tests/base/golden/numbers.txt holds both to them.
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

// Nanoseconds in milliseconds or microseconds, unit not included.
std::string Milliseconds(double ns);
std::string Microseconds(double ns);

// The same with the unit, for sentences about a column of ms: "0.410 ms", "1,200 ms"; from 100 s on
// as people say it, "9 min 20 s".
std::string MillisecondsText(double ns);

// A duration with the unit that suits it: "63.0 ms", "1.20 s", "410 us", "2 min 05 s".
std::string Duration(double ns);

// Share of a whole in percent, one decimal: "40.8"; "<0.1" when it is not zero; "0"; "" when the
// whole is 0.
std::string Percent(double part, double whole);

// Percent of what a device could do: "64"; below 1 two decimals, so that "0.06" stays readable.
std::string PeakPercent(double percent);

// "1,203,441".
std::string Thousands(int64_t value);

// How often, of a run or per step: whole where it is whole ("1,203"), else "2.50".
std::string CountText(double value);
// The same of gaps, of which a step has many: whole from ten on.
std::string GapCount(double value);

// Decimal units: "103 MB", "1.50 GB", "512 B"; "3.35 TB/s"; "12.0 GFLOP"; "790 TFLOP/s".
std::string Bytes(double bytes);
std::string ByteRate(double bytes_per_s);
std::string Flop(double flop);
std::string FlopRate(double flop_per_s);

// A figure of the unit it is stored in, ns, bytes, flops, bytes/s, GB/s, flops/s, TFLOP/s, %, count
// or none: "4.10 ms", "1.50 MB", "7.4%", "16". Other units follow the number: "12.0 W".
std::string InUnit(double value, std::string_view unit);

// `text` of the size of a change, with its sign: "+0.860 ms", "-49.9%"; none where the size is "0"
// or "<0.1%".
std::string WithSign(double change, std::string text);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_NUMBER_FORMAT_H_
