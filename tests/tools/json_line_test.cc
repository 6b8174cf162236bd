// SPDX-License-Identifier: Apache-2.0
#include "tools/json_line.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace xlatrace::tools {
namespace {

TEST(JsonLine, WrittenJsonIsReadByAnotherParser) {
  std::string out;
  JsonLine line(out);
  line.Text("a", "quote \" slash \\ tab \t newline \n nul " + std::string(1, '\0') + " é 漢 😀")
      .Int("b", -5)
      .IntOrNull("c", std::nullopt)
      .TextOrNull("d", "")
      .Bool("e", true)
      .Begin("f")
      .Int("g", 1)
      .End()
      .Begin("h")
      .End()
      .Int("i", INT64_MAX);
  line.Close();
  ASSERT_EQ(out.back(), '\n');
  EXPECT_EQ(out.find('\n'), out.size() - 1);
  const nlohmann::json json = nlohmann::json::parse(out);
  EXPECT_EQ(json["a"],
            "quote \" slash \\ tab \t newline \n nul " + std::string(1, '\0') + " é 漢 😀");
  EXPECT_EQ(json["b"], -5);
  EXPECT_TRUE(json["c"].is_null());
  EXPECT_TRUE(json["d"].is_null());
  EXPECT_EQ(json["e"], true);
  EXPECT_EQ(json["f"]["g"], 1);
  EXPECT_TRUE(json["h"].empty());
  EXPECT_EQ(json["i"], INT64_MAX);
}

TEST(JsonLine, WritesArraysOfTextsAndObjects) {
  std::string out;
  JsonLine line(out);
  const std::string_view texts[] = {"a", "\""};
  line.Texts("none", {}).Texts("two", texts).BeginArray("objects");
  line.BeginItem().Int("x", 1).Int("y", 2).End();
  line.BeginItem().End();
  line.EndArray().Int("last", 3);
  line.Close();
  const nlohmann::json json = nlohmann::json::parse(out);
  EXPECT_EQ(json["none"], nlohmann::json::array());
  EXPECT_EQ(json["two"], nlohmann::json({"a", "\""}));
  ASSERT_EQ(json["objects"].size(), 2u);
  EXPECT_EQ(json["objects"][0]["y"], 2);
  EXPECT_TRUE(json["objects"][1].empty());
  EXPECT_EQ(json["last"], 3);
}

// Overlong forms, surrogates, stray and cut sequences.
TEST(JsonLine, InvalidUtf8IsReplaced) {
  for (const char* bad :
       {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xe6\xbc", "\xf5\x80\x80\x80", "\x80"}) {
    std::string out;
    AppendJsonText(std::string("x") + bad + "y", out);
    const nlohmann::json json = nlohmann::json::parse(out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << out;
    const std::string text = json.get<std::string>();
    EXPECT_EQ(text.front(), 'x');
    EXPECT_EQ(text.back(), 'y');
    EXPECT_NE(text.find("\xEF\xBF\xBD"), std::string::npos);
  }
}

}  // namespace
}  // namespace xlatrace::tools
