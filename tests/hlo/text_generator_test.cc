// SPDX-License-Identifier: Apache-2.0

// Made texts, both ways: read, printed, read again; and broken in one place.

#include "tests/hlo/text_generator.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "hlo/text/text_printer.h"
#include "hlo/text/text_reader.h"
#include "tests/hlo/same_model.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

constexpr uint32_t kSeeds = 400;

// Offset of "12:7: ..."; npos if the message has another form.
size_t OffsetOf(const std::string& message, const std::string& text) {
  size_t line = 0;
  size_t column = 0;
  const char* const end = message.data() + message.size();
  const auto first = std::from_chars(message.data(), end, line);
  if (first.ec != std::errc() || *first.ptr != ':') return std::string::npos;
  const auto second = std::from_chars(first.ptr + 1, end, column);
  if (second.ec != std::errc() || *second.ptr != ':') return std::string::npos;
  size_t at = 0;
  for (size_t i = 1; i < line; ++i) {
    at = text.find('\n', at);
    if (at == std::string::npos) return at;
    ++at;
  }
  return at + column - 1;
}

TEST(TextGenerator, GeneratedTextRoundTrips) {
  const std::vector<AttributeType> types = ReadAttributeTypes();
  std::set<std::string> used;
  size_t instructions = 0;
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const GeneratedText made = GenerateText(seed, types);
    auto module = ReadText(Shared(made.text));
    ASSERT_TRUE(module) << module.error().message << "\n" << made.text;
    ExpectSound(*module);
    std::map<std::string, int> opcodes;
    for (const model::Instruction& instruction : module->instructions) {
      ++opcodes[std::string(instruction.opcode)];
    }
    EXPECT_EQ(opcodes, made.opcodes) << made.text;
    EXPECT_EQ(module->instructions.size(), made.instructions);
    EXPECT_EQ(module->computations.size(), made.computations);
    const std::string printed = PrintText(*module);
    auto again = ReadText(Shared(printed));
    ASSERT_TRUE(again) << again.error().message << "\n" << printed;
    ExpectSameModel(*module, *again);
    EXPECT_EQ(PrintText(*again), printed);
    if (HasFailure()) {
      FAIL() << made.text << "\n----- printed -----\n" << printed;
    }
    used.insert(made.used.begin(), made.used.end());
    instructions += made.instructions;
  }
  EXPECT_GT(instructions, 5000u);
  // Nothing of the grammar is left out by chance.
  for (const AttributeType& type : types) {
    if (type.name == "kHloComputation" || type.name == "kBracedHloComputationList" ||
        type.name == "kInstructionList" || type.name == "kParameterReplication" ||
        type.name == "kShape, layouts" || type.name == "kFusionKind") {
      continue;  // Made by the generator itself.
    }
    for (const AttributeSample& sample : type.samples) {
      EXPECT_TRUE(!sample.IsRead() || used.contains(sample.text)) << sample.text;
    }
  }
  for (const char* form : {"f32",
                           "f4e2m1fn",
                           "f8e8m0fnu",
                           "pred",
                           "s1",
                           "c128",
                           "inline computation",
                           "nested instruction",
                           "compact tuple element",
                           "literal with its shape",
                           "tuple literal",
                           "literal left out",
                           "sparse literal",
                           "stack tables",
                           "execution thread",
                           "dense, sparse",
                           "control predecessors",
                           "brand-new-op",
                           "cross-replica-sum",
                           ":D(D,C+~)",
                           ":Z(1:2)"}) {
    EXPECT_TRUE(used.contains(form)) << form;
  }
}

TEST(TextGenerator, BrokenTextIsRejectedWithItsPlace) {
  const std::vector<AttributeType> types = ReadAttributeTypes();
  std::map<std::string, size_t> kinds;
  for (uint32_t seed = 1; seed <= kSeeds / 4; ++seed) {
    const GeneratedText made = GenerateText(seed, types);
    for (const BrokenText& broken : BreakText(made, types, seed)) {
      auto module = ReadText(Shared(broken.text));
      ASSERT_FALSE(module) << "seed " << seed << ": " << broken.what << "\n" << broken.text;
      const std::string& message = module.error().message;
      const size_t at = OffsetOf(message, broken.text);
      ASSERT_NE(at, std::string::npos) << message;
      EXPECT_GE(at, broken.offset) << "seed " << seed << ": " << broken.what << ": " << message;
      if (broken.exact) {
        EXPECT_EQ(at, broken.offset)
            << "seed " << seed << ": " << broken.what << ": " << message << "\n"
            << broken.text;
      }
      ++kinds[broken.what.substr(0, broken.what.find(' '))];
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(kinds.size(), 7u);
}

}  // namespace
}  // namespace xlatrace::hlo
