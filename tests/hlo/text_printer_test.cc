// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/text_printer.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/compress.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/text/text_reader.h"
#include "tests/hlo/proto_builder.h"
#include "tests/hlo/recorded_files.h"
#include "tests/hlo/same_model.h"
#include "tests/hlo/test_data.h"
#include "tests/tiers.h"

namespace xlatrace::hlo {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

model::HloModule Read(std::string text) {
  auto module = ReadText(Shared(std::move(text)));
  EXPECT_TRUE(module) << module.error().message;
  return module ? std::move(*module) : model::HloModule();
}

// Printing, reading and printing again must end in the same model and the same text.
void ExpectRoundTrip(const model::HloModule& module) {
  const std::string printed = PrintText(module);
  auto again = ReadText(Shared(printed));
  ASSERT_TRUE(again) << again.error().message;
  ExpectSameModel(module, *again);
  EXPECT_EQ(PrintText(*again), printed);
}

TEST(TextPrinter, PrintsTheLongForm) {
  const model::HloModule module = Read(R"(HloModule m, is_scheduled=true, replica_count=2
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY e {
  p = f32[8,4]{1,0:T(8,128)} parameter(0), sharding={replicated}
  c = f32[] constant( -1.5 )
  ROOT r = f32[8]{0} reduce(p, c), dimensions={1}, to_apply=add, metadata={op_name="a\"b"}
})");
  EXPECT_EQ(PrintText(module), R"(HloModule m, is_scheduled=true, replica_count=2

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %z = f32[] add(%x, %y)
}

ENTRY %e (p: f32[8,4]{1,0:T(8,128)}) -> f32[8]{0} {
  %p = f32[8,4]{1,0:T(8,128)} parameter(0), sharding={replicated}
  %c = f32[] constant(-1.5)
  ROOT %r = f32[8]{0} reduce(%p, %c), dimensions={1}, to_apply=add, metadata={op_name="a\"b"}
}
)");
  ExpectRoundTrip(module);
}

TEST(TextPrinter, InlineComputationsBecomeNamedOnes) {
  const model::HloModule module = Read(R"(ENTRY e {
  p = f32[8] parameter(0)
  c = f32[] constant(0)
  ROOT r = f32[] reduce(p, c), dimensions={0},
    to_apply={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }, metadata={op_name="}"}
})");
  const std::string printed = PrintText(module);
  EXPECT_THAT(printed, HasSubstr("%r.to_apply (x: f32[], y: f32[]) -> f32[] {"));
  EXPECT_THAT(printed, HasSubstr("to_apply=%r.to_apply, metadata={op_name=\"}\"}"));
  ExpectRoundTrip(module);
}

TEST(TextPrinter, CompactTupleElementsStayCompact) {
  const model::HloModule module = Read(R"(HloModule m
ENTRY e {
  %p = (f32[2], (s32[], f32[3])) parameter(0)
  %n = f32[3] negate(%p#1#1)
  ROOT %a = f32[3] add(%n, %p#1#1)
})");
  EXPECT_THAT(PrintText(module), HasSubstr("%n = f32[3] negate(%p#1#1)"));
  ExpectRoundTrip(module);
}

TEST(TextPrinter, StackFramesAndThreadsArePrinted) {
  const model::HloModule module = Read(R"(HloModule m

FileNames
1 "/a/\"b\".py"

FunctionNames
1 "main"
2 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=10 end_line=11 column=4 end_column=9}
2 {file_name_id=1 function_name_id=2 line=20 end_line=21 column=4 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

%async (p: f32[]) -> f32[] {
  ROOT %p = f32[] parameter(0), metadata={op_name="x" stack_frame_id=2}
}, execution_thread="worker"

ENTRY %e (q: f32[]) -> f32[] {
  %q = f32[] parameter(0)
  %s = ((f32[]), f32[]) async-start(%q), async_execution_thread="worker", calls=%async
  ROOT %d = f32[] async-done(%s)
})");
  EXPECT_EQ(module.computations[0].execution_thread, "worker");
  const std::string printed = PrintText(module);
  EXPECT_THAT(printed, HasSubstr("}, execution_thread=\"worker\""));
  EXPECT_THAT(printed, HasSubstr("2 {file_location_id=2 parent_frame_id=2}"));
  ExpectRoundTrip(module);
}

TEST(TextPrinter, PrintsAProtoFromItsFields) {
  Message conv = InstructionProto("c", "convolution", 3, {1, 2});
  const Message dim = Message().Int(1, 3).Int(2, 2).Int(3, 1).Int(4, 1).Int(5, 1).Int(6, 1);
  conv.Nested(15, Message().Nested(1, dim));
  conv.Nested(16, Message()
                      .Int(7, 0)
                      .Int(8, 2)
                      .Packed(11, {1})
                      .Int(3, 1)
                      .Int(4, 2)
                      .Packed(6, {0})
                      .Int(9, 0)
                      .Int(10, 2)
                      .Packed(12, {1}));
  conv.Nested(7, Message().Text(2, "jit(f)/conv\n").Text(3, "a.py").Int(4, 7));
  conv.Text(43, "not json");
  Message module;
  module.Text(1, "m").Text(2, "main");
  module.Nested(3, ComputationProto("main", 2, 3,
                                    {InstructionProto("a", "parameter", 1),
                                     InstructionProto("b c", "parameter", 2).Int(9, 1), conv}));
  auto read = ReadProto(Shared(Message().Nested(1, module.Int(6, 2)).bytes()));
  ASSERT_TRUE(read) << read.error().message;
  const std::string printed = PrintText(*read);
  EXPECT_THAT(printed, HasSubstr("convolution(%a, %b_c), window={size=3 stride=2 pad=1_1}, "
                                 "dim_labels=b0f_0io->b0f, "
                                 "metadata={op_name=\"jit(f)/conv\\n\" source_file=\"a.py\" "
                                 "source_line=7}, backend_config=\"not json\""));
  EXPECT_TRUE(ReadText(Shared(printed)));
}

// A reader takes a last colon for that of a name token, "m:".
TEST(TextPrinter, ModuleNameThatEndsInColonsRoundTrips) {
  const model::HloModule module =
      Read("HloModule m:::\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n");
  EXPECT_EQ(module.name, "m::");
  ExpectRoundTrip(module);
}

TEST(TextPrinter, ModuleNameThatBeginsWithASignRoundTrips) {
  const model::HloModule module =
      Read("HloModule %\xff\xfe.1\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n");
  EXPECT_EQ(module.name, "\xff\xfe.1");
  ExpectRoundTrip(module);
}

// Every HLO file of the recorded data: how many there are is known from listing the folders.
TEST(TextPrinter, AllRecordedTextRoundTrips) {
  XLATRACE_SHARED_OR_SKIP(root, "hlo");
  int files = 0;
  for (const char* folder : {"cover", "before_optimizations"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().string();
      if (!entry.is_regular_file() || path.ends_with(".json") || path.ends_with(".md")) continue;
      SCOPED_TRACE(path);
      auto module = ReadAny(Shared(*ReadFileInflated(path)));
      ASSERT_TRUE(module) << module.error().message;
      ExpectRoundTrip(*module);
      ++files;
    }
  }
  EXPECT_EQ(files, 373 + 4);
}

// 107 files of folders, 178 of archives: counted with find and tar.
TEST(TextPrinter, AllRecordedDumpsRoundTrip) {
  XLATRACE_SHARED_OR_SKIP(root, "captures");
  int files = 0;
  VisitRecordedDumps(
      [&](const std::string& path, std::string bytes) {
        SCOPED_TRACE(path);
        auto module = ReadAny(Shared(std::move(bytes)));
        ASSERT_TRUE(module) << module.error().message;
        ExpectRoundTrip(*module);
        ++files;
      },
      Stride(4));
  if (IsLongTier()) {
    EXPECT_EQ(files, 37 + 70 + 178);
  } else {
    EXPECT_GE(files, 40);
  }
}

}  // namespace
}  // namespace xlatrace::hlo
