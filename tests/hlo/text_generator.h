// SPDX-License-Identifier: Apache-2.0

// Makes HLO texts over the grammar of XLA's parser. They have every attribute of
// attribute_samples.txt, every element type, and literals, shapes and layouts of all years. They
// have long and short form, computations by name and inline, nested instructions, tables of stack
// frames, comments and blanks. The computation makes no sense; the reader does not check that.
//
// The same seed gives the same text on every machine.

#ifndef XLATRACE_TESTS_HLO_TEXT_GENERATOR_H_
#define XLATRACE_TESTS_HLO_TEXT_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/hlo/attribute_samples.h"

namespace xlatrace::hlo {

enum class PlaceKind : uint8_t {
  kInstructionName,  // For all but the first of a computation; `other` is an earlier name.
  kEquals,           // Behind the name of an instruction.
  kShape,
  kOpcode,
  kOperand,  // A name.
  kOperandComma,
  kOperandsEnd,  // ')'
  kLiteral,
  kAttribute,         // "name=value"; `type` is its AttributeType.
  kCalledName,        // The name of a computation.
  kInstructionStart,  // An instruction that is not ROOT, if another is.
  kInstructionEnd,
  kComputationStart,  // A computation that is not ENTRY, if another one is.
  kComputationEnd,    // '}'
};

struct Place {
  PlaceKind kind;
  size_t offset = 0;
  size_t size = 0;
  size_t type = 0;
  std::string other;
};

struct GeneratedText {
  std::string text;
  std::map<std::string, int> opcodes;  // How often each occurs.
  size_t instructions = 0;
  size_t computations = 0;
  size_t last_computation = 0;  // Offset behind its '{'.
  std::vector<Place> places;
  std::set<std::string> used;  // Samples of attributes, element types, forms.
};

GeneratedText GenerateText(uint32_t seed, const std::vector<AttributeType>& types);

// The text with one thing broken, so that no reader may take it.
struct BrokenText {
  std::string text;
  std::string what;
  size_t offset = 0;   // The error is there or behind it,
  bool exact = false;  // exactly there.
};
std::vector<BrokenText> BreakText(const GeneratedText& whole,
                                  const std::vector<AttributeType>& types, uint32_t seed);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_TESTS_HLO_TEXT_GENERATOR_H_
