// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "export/by_start.h"
#include "export/json_text.h"
#include "export/lanes.h"
#include "export/pgle.h"
#include "export/share_safe.h"
#include "export/stack_times.h"

namespace xlatrace::exporter {
namespace {

std::string Hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

// FIPS 180-4's example, and RFC 4231's second case.
TEST(Sha256, DigestsEqualThePublishedOnes) {
  EXPECT_EQ(Hex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Hex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Lanes, IntervalsThatOverlapInPartGetLanesOfTheirOwn) {
  Lanes lanes;
  EXPECT_EQ(lanes.Place(0, 10, false), 0u);
  EXPECT_EQ(lanes.Place(5, 20, false), 1u);
  EXPECT_EQ(lanes.Place(10, 12, false), 0u);  // Touching is not overlapping.
  EXPECT_EQ(lanes.Place(11, 13, false), 2u);
  EXPECT_EQ(lanes.Place(20, 20, false), 0u);
}

TEST(Lanes, NestedIntervalsShareALane) {
  Lanes lanes;
  EXPECT_EQ(lanes.Place(0, 10, true), 0u);
  EXPECT_EQ(lanes.Place(2, 5, true), 0u);
  EXPECT_EQ(lanes.Place(3, 6, true), 1u);  // Inside the first, but not inside the second.
  EXPECT_EQ(lanes.Place(1, 2, true), 2u);  // Came late.
}

TEST(ByStart, RowsAreOrderedByStartAndLongerFirst) {
  struct Row {
    int64_t start_ns, duration_ns;
  };
  std::vector<int64_t> durations;
  const std::function<Status(const Row&)> out = [&](const Row& row) {
    durations.push_back(row.duration_ns);
    return Status();
  };
  ByStart<Row> rows(out, 2);
  for (const Row& row : {Row{5, 1}, Row{3, 2}, Row{3, 9}, Row{8, 4}}) ASSERT_TRUE(rows.Add(row));
  ASSERT_TRUE(rows.Finish());
  EXPECT_EQ(durations, (std::vector<int64_t>{9, 2, 1, 4}));
}

TEST(OpNameComponents, ParenthesesAreNotDivided) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(OpNameComponents("jit(f)/transpose(jvp(g/h))/mul"),
            (Parts{"jit(f)", "transpose(jvp(g/h))", "mul"}));
  EXPECT_EQ(OpNameComponents("/a//b/"), (Parts{"a", "b"}));
  EXPECT_EQ(OpNameComponents(""), Parts{});
}

TEST(JsonText, JsonTextIsEscapedAndRepaired) {
  EXPECT_EQ(JsonText("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
  EXPECT_EQ(JsonText("\xff"), "\"\xEF\xBF\xBD\"");
}

TEST(Fingerprint, FingerprintIsReadFromTextAndProto) {
  EXPECT_EQ(FingerprintBeforeScheduling("HloModule m, frontend_attributes={"
                                        "fingerprint_before_lhs=\"00ff\"}"),
            "00ff");
  EXPECT_EQ(FingerprintBeforeScheduling("xx\x0a\x16"
                                        "fingerprint_before_lhs\x12\x04"
                                        "12ab"
                                        "yy"),
            "12ab");
  EXPECT_EQ(FingerprintBeforeScheduling("fingerprint_before_lhs\x12"), "");
  EXPECT_EQ(FingerprintBeforeScheduling("nothing"), "");
}

TEST(ShareSafe, ShareSafeNamesKeepStructureAndLibraries) {
  const store::RenameText rename = ShareSafeNames("0123456789abcdef");
  using store::TextKind;
  const std::string path = rename(TextKind::kPath, "decoder/layer_7/attn");
  EXPECT_EQ(path.size(), 3u * 12 + 2);
  EXPECT_EQ(path.substr(0, 13), rename(TextKind::kPath, "decoder/layer_8").substr(0, 13));
  EXPECT_NE(path.substr(13, 12), rename(TextKind::kPath, "decoder/layer_8").substr(13, 12));
  EXPECT_TRUE(rename(TextKind::kName, "fusion.12").ends_with(".12"));
  EXPECT_EQ(rename(TextKind::kName, "fusion.12").substr(0, 12),
            rename(TextKind::kName, "fusion.3").substr(0, 12));
  EXPECT_EQ(rename(TextKind::kKernel, "sm90_xmma_gemm_f32"), "sm90_xmma_gemm_f32");
  EXPECT_NE(rename(TextKind::kKernel, "loop_add_fusion"), "loop_add_fusion");
  EXPECT_EQ(rename(TextKind::kCall, "cuLaunchKernelEx"), "cuLaunchKernelEx");
  for (const char* name : {"my_secret_call", "customer 17: secret model",
                           "cuda graph of customer/17", "nccl-secret", "hip:secret"}) {
    EXPECT_NE(rename(TextKind::kCall, name), name);
  }
}

}  // namespace
}  // namespace xlatrace::exporter
