// SPDX-License-Identifier: Apache-2.0
#include "base/shell_word.h"

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

// The result of a real shell is the reference for words.
std::string AsTheShellReads(const std::string& word) {
  const std::string command = "printf %s " + word;
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "no shell";
  std::array<char, 256> buffer{};
  size_t got = 0;
  while ((got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) out.append(buffer.data(), got);
  pclose(pipe);
  return out;
}

TEST(ShellWord, QuotedWordIsReadBackAsOneWord) {
  for (const std::string word :
       {"run.db",      "a b", "",    "it's",  "$(touch x)", "`id`",
        "a;b",         "a|b", "*",   "~root", "a\\b",       "\"",
        "line\nbreak", "#x",  "a&b", "{a,b}", "!x",         "gr\xC3\xBC\xC3\x9F.db",
        "a=b",         "<x>", "?",   "[a]"}) {
    EXPECT_EQ(AsTheShellReads(ShellText(word)), word);
    EXPECT_EQ(AsTheShellReads(ShellWord(word)), word);
  }
}

TEST(ShellWord, PlainWordsStayAsTheyAre) {
  for (const std::string word : {"run.db", "/tmp/a-b_c/run.rec", "dir/x.sqlite", "-", "a@b:c"}) {
    EXPECT_EQ(ShellWord(word), word);
  }
}

TEST(ShellWord, AFileThatBeginsWithADashIsNoFlag) {
  EXPECT_EQ(ShellWord("--output=x"), "./--output=x");
  EXPECT_EQ(ShellText("--output=x"), "--output=x");
}

}  // namespace
}  // namespace xlatrace
