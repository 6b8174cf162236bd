// SPDX-License-Identifier: Apache-2.0

// The feature samples of all eras: what XLA accepts is read, what it refuses for its syntax or its
// references is refused with a place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "hlo/text/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

nlohmann::json Index(const std::filesystem::path& folder) {
  return nlohmann::json::parse(*ReadFile((folder / "index.json").string()));
}

TEST(Samples, EveryAcceptedModuleIsRead) {
  XLATRACE_SHARED_OR_SKIP(folder, "hlo/cover");
  int read = 0;
  for (const auto& entry : Index(folder)) {
    const std::string file = entry["file"];
    auto module = ReadAny(Shared(*ReadFile((folder / file).string())));
    ASSERT_TRUE(module) << file << ": " << module.error().message;
    ExpectSound(*module);
    ++read;
  }
  EXPECT_EQ(read, 373);
}

// The index counts computations and instructions as XLA's own parser made them.
TEST(Samples, CountsAgreeWithXlasParser) {
  XLATRACE_SHARED_OR_SKIP(folder, "hlo/cover");
  for (const auto& entry : Index(folder)) {
    const std::string file = entry["file"];
    auto module = ReadAny(Shared(*ReadFile((folder / file).string())));
    ASSERT_TRUE(module);
    EXPECT_GE(module->instructions.size(), entry["instructions"].get<size_t>()) << file;
    EXPECT_GE(module->computations.size(), entry["computations"].get<size_t>()) << file;
  }
}

TEST(Samples, SyntaxAndReferenceErrorsAreRefusedWithAPlace) {
  XLATRACE_SHARED_OR_SKIP(folder, "hlo/reject");
  int refused = 0;
  for (const auto& entry : Index(folder)) {
    const std::string kind = entry["reject_class"];
    if (kind != "syntax" && kind != "reference") continue;
    std::string file = entry["file"];
    file = file.substr(file.rfind('/') + 1);
    auto module = ReadText(Shared(*ReadFile((folder / file).string())));
    ASSERT_FALSE(module) << file << " was read";
    EXPECT_THAT(module.error().message, ::testing::MatchesRegex("[0-9]+:[0-9]+: .+")) << file;
    ++refused;
  }
  EXPECT_EQ(refused, 24);
}

}  // namespace
}  // namespace xlatrace::hlo
