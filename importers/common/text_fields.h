// SPDX-License-Identifier: Apache-2.0

// Small readers of the texts inside profiles: "regs:32 grid:8,1,1", "jit_f(52)", "model.py:37".
//
// Functions return nullopt for invalid text. Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_COMMON_TEXT_FIELDS_H_
#define XLATRACE_IMPORTERS_COMMON_TEXT_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xlatrace::importers {

// Whole decimal integer, optionally negative; values above int64 up to uint64 keep their bits.
std::optional<int64_t> ParseInt(std::string_view text);

// Decimal number as thousandths, floored ("62.5" -> 62500). No exponent.
std::optional<int64_t> ParseMilli(std::string_view text);

// Value of `key` in "key:value key:value"; empty when absent.
std::string_view DetailField(std::string_view details, std::string_view key);

// Parses "x,y,z" into three numbers; false for other text.
bool ParseTriple(std::string_view text, std::optional<int64_t> out[3]);

// "jit_f(52)" -> {"jit_f", 52}; the number is nullopt if there is none.
struct NameAndId {
  std::string_view name;
  std::optional<int64_t> id;
};
NameAndId SplitTrailingId(std::string_view text);

// "dir/file.py:37" -> {"dir/file.py", 37}.
struct FileAndLine {
  std::string_view file;
  std::optional<int64_t> line;
};
FileAndLine SplitFileLine(std::string_view text);

// The HLO line in a TPU profile's name of an op, without the '%': "%fusion.3 = f32[8] fusion(...)".
// Empty if the name is not a line of HLO.
std::string_view HloLineOf(std::string_view name);

// Demangled, without return type, template arguments and parameters: "void
// cutlass::Kernel2<A<1>>(P)" -> "cutlass::Kernel2". Other names are unchanged, except that the
// suffix ".kd" of AMD's code objects is removed.
std::string ShortKernelName(const std::string& symbol);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_TEXT_FIELDS_H_
