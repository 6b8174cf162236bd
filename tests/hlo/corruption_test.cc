// SPDX-License-Identifier: Apache-2.0

// Damaged inputs: cut at many places, bits flipped, pieces repeated. Readers answer with an error
// or a sound module, in time and memory that follow the size of the input.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/text/text_reader.h"
#include "tests/hlo/fuzz/inputs.h"
#include "tests/hlo/proto_builder.h"
#include "tests/hlo/test_data.h"
#include "tests/source_folder.h"

namespace xlatrace::hlo {
namespace {

constexpr char kText[] =
    R"(HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }

FileNames
1 "a.py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=154 end_line=154 column=4 end_column=10}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %z = f32[] add(%x, %y), metadata={op_name="jit(f)/\"add\"" stack_frame_id=1}
}

%fused (a: f32[8,4], b: f32[]) -> (f32[8], f32[8,4]) {
  %a = f32[8,4]{1,0:T(8,128)} parameter(0)
  %c = f32[] constant({...})
  %r = f32[8]{0} reduce(%a, %c), dimensions={1}, to_apply=%add
  %d = f32[8,4]{1,0} dot(%a, %a), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT %t = (f32[8]{0}, /*index=1*/f32[8,4]{1,0}) tuple(%r, %d)
}

ENTRY %main (p: f32[8,4]) -> f32[8] {
  %p = f32[8,4]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
  %f = (f32[8]{0}, f32[8,4]{1,0}) fusion(%p), kind=kInput, calls=%fused, backend_config={"k":"}"}
  ROOT %n = f32[8]{0} negate(%f#0), control-predecessors={%p}
}
)";

constexpr char kSequence[] =
    "000: kCommandBuffer [source | sink] \n"
    "    001: kCustomKernel [source | next=002 (1)] loop_fusion grid: [4, 2, 1] threads: [128, 1, "
    "1]  shared_memory: 1024 bytes\n"
    "kKernel \t, kernel = f, launch dimensions = blocks: {810, 1, 1}, threads/block: {128, 1, 1}\n";

std::string ProtoText() {
  Message frames;
  frames.Text(1, "a.py").Text(2, "f").Nested(3, Message().Int(1, 1).Int(2, 1).Int(3, 5));
  frames.Nested(4, Message().Int(1, 1)).Nested(4, Message().Int(1, 1).Int(2, 1));
  Message metadata;
  metadata.Text(2, "jit(f)/x").Int(15, 2);
  Message fusion =
      InstructionProto("f", "fusion", (int64_t{2} << 32) + 2, {(int64_t{2} << 32) + 1});
  fusion.Text(11, "kLoop").Packed(38, {1}).Nested(7, metadata).Nested(99, Message().Int(2, 0));
  Message sequence;
  sequence.Packed(1, {(int64_t{2} << 32) + 1, (int64_t{2} << 32) + 2});
  Message module;
  module.Text(1, "m").Text(2, "main");
  module.Nested(3, ComputationProto("fused", 1, 2,
                                    {InstructionProto("a", "parameter", 1),
                                     InstructionProto("b", "negate", 2, {1})}));
  module.Nested(
      3, ComputationProto("main", 2, (int64_t{2} << 32) + 2,
                          {InstructionProto("p", "parameter", (int64_t{2} << 32) + 1), fusion}));
  module.Int(5, 3).Int(6, 2);
  module.Nested(7, Message().Nested(1, Message().Int(1, 2).Nested(2, sequence)));
  module.Nested(17, frames).Text(22, "payload");
  Message assignment;
  assignment.Nested(3, Message().Int(1, 0).Int(2, 1000));
  return Message().Nested(1, module).Nested(3, assignment).bytes();
}

std::string Corpus(const char* file) {
  return *ReadFile(SourceFolder() + "/tests/hlo/fuzz/corpus/" + file);
}

class CorruptionTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string Whole() const {
    if (GetParam() == "text") return kText;
    if (GetParam() == "proto") return ProtoText();
    if (GetParam() == "text_proto") return Corpus("text_proto/module.pbtxt");
    if (GetParam() == "reports") return Corpus("reports/memory");
    if (GetParam() == "wire") return Corpus("wire/xspace.pb");
    if (GetParam() == "dump_name")
      return "12.module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt";
    return std::string(kSequence) + '\0' +
           "thunk_metadata { thunk_info { profile_annotation: \"x\" thunk_id: 1 } }";
  }
  void Run(const std::string& bytes) const { RunFuzzInput(GetParam(), bytes); }
};

std::vector<std::string> InstructionNames(const model::HloModule& module) {
  std::vector<std::string> names;
  for (const model::Instruction& instruction : module.instructions) {
    names.emplace_back(instruction.name);
  }
  return names;
}

// XLA was killed while it wrote. The reader reports that the text is incomplete, and the part
// before the end is available.
TEST(DamagedText, TruncatedTextIsAnErrorWithItsSoundPart) {
  const std::string text = kText;
  const auto whole = ReadText(Shared(text));
  ASSERT_TRUE(whole) << whole.error().message;
  const std::vector<std::string> names = InstructionNames(*whole);
  ASSERT_EQ(names.size(), 12U);  // %f#0 is one of its own.
  size_t most = 0, between = 0;
  for (size_t size = 0; size < text.find_last_of('}'); ++size) {
    SCOPED_TRACE(size);
    const auto cut = ReadText(Shared(text.substr(0, size)));
    if (cut) {
      // Between two computations: as in a text without ENTRY, the last one is taken for it.
      EXPECT_EQ(text.substr(0, size).find_last_not_of(" \n"), text.rfind('}', size - 1));
      EXPECT_TRUE(cut->instructions.size() == 3U || cut->instructions.size() == 8U);
      ++between;
      continue;
    }
    EXPECT_FALSE(cut.error().message.empty());
    const auto partial = ReadTextPartial(Shared(text.substr(0, size)));
    if (!partial) {
      EXPECT_FALSE(partial.error().message.empty());
      EXPECT_EQ(most, 0U) << "a longer piece gives less";
      continue;
    }
    EXPECT_FALSE(partial->damage.empty());
    const std::vector<std::string> kept = InstructionNames(partial->module);
    ASSERT_LE(kept.size(), names.size());
    EXPECT_EQ(kept, std::vector<std::string>(names.begin(), names.begin() + kept.size()));
    // An instruction is whole at its operands, and broken again in the middle of an attribute.
    EXPECT_GE(kept.size() + 1, most) << "a longer piece gives less";
    most = std::max(most, kept.size());
  }
  EXPECT_LE(between, 6U) << "behind two braces and the two line ends after each";
  EXPECT_EQ(most, names.size()) << "without its last brace it has lost no instruction";
}

// A proto has no end mark: cut between two of its fields it is a whole one. Anywhere else the
// length of the field that is cut is larger than what is left.
TEST(DamagedProto, TruncatedProtoIsAnErrorUnlessBetweenFields) {
  const std::string whole = ProtoText();
  ASSERT_TRUE(ReadProto(Shared(whole)));
  std::vector<size_t> read;
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto cut = ReadProto(Shared(whole.substr(0, size)));
    if (cut) {
      read.push_back(size);
      EXPECT_EQ(cut->instructions.size(), 4U);
    } else {
      EXPECT_FALSE(cut.error().message.empty()) << size;
    }
  }
  // This length ends after the module and before the buffer assignment. The buffer assignment has a
  // tag, a length, and a message of 7 bytes. The message has another tag and length, then field 1
  // (0, a varint of 1 byte) and field 2 (1000, a varint of 2 bytes).
  EXPECT_EQ(read, std::vector<size_t>{whole.size() - 9});
}

TEST_P(CorruptionTest, CutAnywhereDoesNotCrash) {
  const std::string whole = Whole();
  for (size_t size = 0; size <= whole.size(); ++size) Run(whole.substr(0, size));
}

TEST_P(CorruptionTest, FlippedBitsDoNotCrash) {
  const std::string whole = Whole();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      Run(damaged);
    }
  }
}

TEST_P(CorruptionTest, MovedPiecesDoNotCrash) {
  const std::string whole = Whole();
  std::mt19937 random(20260101);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    const size_t from = random() % whole.size();
    const size_t size = random() % (whole.size() - from);
    const size_t to = random() % whole.size();
    if (i % 2 == 0) {
      damaged.insert(to, whole.substr(from, size));
    } else {
      damaged.erase(from, size);
    }
    Run(damaged);
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, CorruptionTest,
                         ::testing::Values("text", "proto", "thunks", "dump_name", "text_proto",
                                           "reports", "wire"),
                         [](const auto& reader) { return reader.param; });

}  // namespace
}  // namespace xlatrace::hlo
