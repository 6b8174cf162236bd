// SPDX-License-Identifier: Apache-2.0

// Every type of attribute in XLA's parser, and the limits of every element
// type.

#include "tests/hlo/attribute_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

using ::testing::MatchesRegex;

std::string SampleErrorOf(const std::string& text) {
  auto module = ReadText(Shared(text));
  return module ? "" : module.error().message;
}

TEST(AttributeSamples, SamplesAreReadOrRejectedAsTheTableStates) {
  size_t samples = 0;
  for (const AttributeType& type : ReadAttributeTypes()) {
    bool reads = false;
    bool refuses = false;
    for (const AttributeSample& sample : type.samples) {
      const std::string error = SampleErrorOf(type.With(sample.text));
      if (sample.IsRead()) {
        EXPECT_EQ(error, "") << type.name << ": " << sample.text;
      } else {
        EXPECT_THAT(error, MatchesRegex("[0-9]+:[0-9]+: .+")) << type.name << ": " << sample.text;
      }
      (sample.IsRead() ? reads : refuses) = true;
      ++samples;
    }
    EXPECT_TRUE((reads && refuses) || type.name == "two of one name") << type.name;
  }
  EXPECT_GT(samples, 500u);
}

// XLA's text for the largest and smallest number of each type, and numbers that no longer round to
// a finite one. RoundTripFpToString prints the fewest digits that read back. All were tried on
// XLA's own parser.
TEST(ConstantSamples, LimitsOfEachTypeAreReadAndLargerValuesRejected) {
  struct Case {
    const char* type;
    std::vector<const char*> good;
    std::vector<const char*> bad;
  };
  const Case cases[] = {
      {"f64", {"-1.7976931348623157e+308", "1e-400", "nan(0xfffffffffffff)"}, {"1.8e308", "1e400"}},
      {"f32",
       {"-3.40282347e+38", "3.40282347e+38", "3.40282356e+38", "1.17549435e-38", "1e-45", "1e-60",
        "-inf", "-nan", "nan(0x7fffff)"},
       {"3.40282357e+38", "3.5e38", "nan(0x800000)"}},
      {"f16", {"65504", "-6.55e+04", "65519", "nan(0x3ff)"}, {"65520", "nan(0x400)"}},
      {"bf16", {"-3.39e+38", "3.39e+38", "3.395e+38", "nan(0x7f)"}, {"3.397e+38", "nan(0x80)"}},
      {"f8e5m2", {"57344", "-5.7e+04", "61439", "nan(0x3)"}, {"61440", "nan(0x4)"}},
      {"f8e5m2fnuz", {"57344", "-5.7e+04", "61439"}, {"61440"}},
      {"f8e4m3", {"240", "247", "nan(0x7)"}, {"248", "nan(0x8)"}},
      {"f8e4m3fn", {"448", "-448", "464"}, {"465"}},
      {"f8e4m3fnuz", {"240", "-240", "247"}, {"248"}},
      {"f8e4m3b11fnuz", {"30", "-30", "30.9"}, {"31"}},
      {"f8e3m4", {"15.5", "-15.5", "15.74", "nan(0xf)"}, {"15.75", "nan(0x10)"}},
      {"f8e8m0fnu", {"1.7e+38", "5.9e-39", "2.5e+38"}, {"0", "-1", "2.6e+38"}},
      // Without infinity all numbers round to finite ones.
      {"f4e2m1fn", {"6", "-6", "100"}, {"six"}},
      {"f6e2m3fn", {"7.5", "-7.5", "100"}, {"7.5.0"}},
      {"f6e3m2fn", {"28", "-28", "100"}, {"0x1c"}},
      {"s1", {"-1", "0"}, {"1", "-2"}},
      {"u1", {"0", "1"}, {"2", "-1"}},
      {"s2", {"-2", "1"}, {"2", "-3"}},
      {"u2", {"3"}, {"4"}},
      {"s4", {"-8", "7"}, {"8", "-9"}},
      {"u4", {"15"}, {"16", "-1"}},
      {"s8", {"-128", "127"}, {"128", "-129"}},
      {"u8", {"255"}, {"256", "1.5"}},
      {"s16", {"-32768", "32767"}, {"32768"}},
      {"u16", {"65535"}, {"65536"}},
      {"s32", {"-2147483648", "2147483647"}, {"2147483648"}},
      {"u32", {"4294967295"}, {"4294967296"}},
      {"s64", {"-9223372036854775808", "9223372036854775807"}, {"-9223372036854775809"}},
      {"u64", {"18446744073709551615"}, {"18446744073709551616"}},
      {"pred", {"true", "false", "0", "1"}, {"yes", "1.5"}},
      {"c64", {"(-3.4e+38, 3.40282347e+38)", "(nan, -inf)"}, {"(1, 3.5e38)", "1", "(1)"}},
      {"c128", {"(1.7e308, -1)"}, {"(1, 1e400)", "(1, 2"}},
  };
  for (const Case& one : cases) {
    const auto error = [&](const std::string& literal) {
      return SampleErrorOf("ENTRY e {\n  ROOT c = " + std::string(one.type) + "[] constant(" +
                           literal + ")\n}\n");
    };
    for (const char* literal : one.good) EXPECT_EQ(error(literal), "") << one.type << literal;
    for (const char* literal : one.bad) EXPECT_NE(error(literal), "") << one.type << literal;
  }
}

TEST(ConstantSamples, LiteralsOfAllYearsAreRead) {
  const std::pair<const char*, const char*> good[] = {
      {"f32[2,3]", "{ { 1, 2, 3 }, { 4, 5, 6 } }"},
      {"f32[2,3]", "{...}"},
      {"f32[2,2,2,2]",
       "{ { /*i0=0*/ { /*i1=0*/ {1,2}, {3,4} }, {{5,6},{7,8}} }, {{{1,2},{3,4}},"
       "{{5,6},{7,8}}} }"},
      {"pred[3]", "{1, 0, true}"},
      {"c64[2]", "{(1, -2), (3, nan)}"},
      {"(f32[2,1], f32[1])", "( { {1}, {2} }, {2} )"},
      {"(f32[], (s32[], pred[]))", "(1, (2, true))"},
      {"()", "()"},
      {"(f32[9], s32[])", "({...})"},
      // Until 2018 with shapes.
      {"f32[2,3]", "f32[2,3] { { 1, 2, 3 }, { 4, 5, 6 } }"},
      {"f32[2,3]", "f32[2,3]{1,0} { { 1, 2, 3 }, { 4, 5, 6 } }"},
      {"f32[1]", "f32[1] {5}"},
      {"(f32[2,1], f32[1])", "(f32[2,1], f32[1]) ( f32[2,1] { {1}, {2} }, {2} )"},
      {"(f32[2,1], f32[1])", "( f32[2,1] { {1}, {2} }, f32[1] {2} )"},
      // Sparse, 2018 and 2019.
      {"f32[2,3,4]sparse{10}", "f32[2,3,4]{[0, 1, 2]: 4, [1, 2, 3]: 8}"},
      {"f32[9]sparse{10}", "{1: 2, 3: 4}"},
  };
  for (const auto& [shape, literal] : good) {
    EXPECT_EQ(SampleErrorOf("ENTRY e {\n  ROOT c = " + std::string(shape) + " constant(" + literal +
                            ")\n}\n"),
              "")
        << shape << literal;
  }
  const std::pair<const char*, const char*> bad[] = {
      {"f32[2,3]", "{ { 1, 2, 3 }, ... , { 1 }, 5 }"},
      {"f32[2,3]", "{ { 1, 2, ... } }"},
      {"f32[]", "{...,}"},
      {"(f32[2], f32[])", "( {1, 2} 3 )"},
      {"(f32[2], f32[])", "( f32[2] {1, 2}, )"},
      {"f32[2,3]sparse{10}", "{[0, 1] 4}"},
      {"f32[2,3]sparse{10}", "{[0, 1]: four}"},
      {"f32[1]", "f32[1]"},
      {"f32[1]", "g32[1] {5}"},
  };
  for (const auto& [shape, literal] : bad) {
    EXPECT_THAT(SampleErrorOf("ENTRY e {\n  ROOT c = " + std::string(shape) + " constant(" +
                              literal + ")\n}\n"),
                MatchesRegex("2:[0-9]+: .+"))
        << shape << literal;
  }
}

}  // namespace
}  // namespace xlatrace::hlo
