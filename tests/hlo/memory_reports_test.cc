// SPDX-License-Identifier: Apache-2.0

// Buffer assignments, live ranges and memory usage reports.

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/compress.h"
#include "dumps/dump_dir.h"
#include "hlo/artefacts/buffer_assignment.h"
#include "hlo/artefacts/live_ranges.h"
#include "hlo/artefacts/memory_usage.h"
#include "hlo/proto/proto_reader.h"
#include "tests/golden_text/golden_text.h"
#include "tests/hlo/proto_builder.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAssignment[] = R"(BufferAssignment:
allocation 0: size 400, output shape is |f32[100]|, maybe-live-out:
 value: <6 add.1{0} @0> (size=400,offset=0): f32[100]{0}
allocation 1: 0x7f12, size 80, color 1, parameter 2, shape |f32[20]| at ShapeIndex {}:
 value: <4 p, q @0> (size=80,offset=0): f32[20]{0}
allocation 2: size 8, constant:
 value: <2 c @0> (size=8,offset=0): f32[2]{0}
allocation 3: size 2, thread-local:
 value: <1 x @0> (size=2,offset=0): bf16[]
allocation 4: size 192, preallocated-temp:
 value: <7 a @0> (size=128,offset=0): f32[32]{0}
 value: <8 b{1} @0> (size=64,offset=128): f32[16]{0}
 value: <9 d @0> (size=128,offset=0): s32[32]{0}
 value: <10 e @0> (size=128,offset=0): f32[32]{0}

Total bytes used: 682 (682B)

Used values:
<0 x @0>
)";

// a and e share a place and overlap at 2 (e takes a's memory over); b is alive with them.
constexpr char kRanges[] = R"(HloLiveRange (max 6):
  InstructionSequence:
    0:p, q
    1:a
    2:e
    3:d:1
    4:add.1
  BufferLiveRange:
    p, q{}:0-5
    a{}:1-2
    e{}:2-2
    b{1}:2-3
    d{}:4-4
  Live ranges at 2 (peak):
    a{}: 128 bytes (cumulative: 128 bytes)
    b{1}: 64 bytes (cumulative: 192 bytes)
  Stack trace breakdown for peak usage: 192 bytes
    main (100.0%, total: 192 bytes, current: 0 bytes, remaining: 192 bytes)
      ├── jit(f)/mul (x) (66.7%, total: 1 128 bytes, current: 128 bytes, remaining: 64 bytes)
      │   └── inner (66.7%, total: 128 bytes, current: 28 bytes, remaining: 64 bytes)
      └── b (33.3%, total: 64 bytes, current: 64 bytes, remaining: 0 bytes)
)";

TEST(BufferAssignment, ReadsThePurposeOfEachAllocation) {
  auto assignment = ReadBufferAssignment(kAssignment);
  ASSERT_TRUE(assignment) << assignment.error().message;
  ASSERT_EQ(assignment->allocations.size(), 5u);
  const auto& a = assignment->allocations;
  EXPECT_TRUE(a[0].maybe_live_out);
  EXPECT_EQ(a[0].values[0].instruction, "add.1");
  EXPECT_EQ(a[0].values[0].shape_index, "{0}");
  EXPECT_EQ(a[0].values[0].shape, "f32[100]{0}");
  EXPECT_EQ(a[1].parameter_number, 2);
  EXPECT_EQ(a[1].color, 1);
  EXPECT_EQ(a[1].size_bytes, 80);
  EXPECT_EQ(a[1].values[0].instruction, "p, q");
  EXPECT_TRUE(a[2].is_constant);
  EXPECT_TRUE(a[3].is_thread_local);
  EXPECT_TRUE(a[4].is_temp);
  EXPECT_EQ(a[4].values[1].offset_bytes, 128);
  EXPECT_EQ(assignment->TotalBytes(), 400 + 80 + 8 + 2 + 192);
  EXPECT_EQ(assignment->ParameterBytes(), 80);
  EXPECT_EQ(assignment->OutputBytes(), 400);
  EXPECT_EQ(assignment->ConstantBytes(), 8);
  EXPECT_EQ(assignment->TempBytes(), 2 + 192);
}

TEST(BufferAssignment, MemoryOffloadedToTheHostIsNotCounted) {
  const auto assignment = ReadBufferAssignment(R"(BufferAssignment:
allocation 0: size 400, color 5, parameter 0, shape |f32[100]| at ShapeIndex {}:
 value: <6 p @0> (size=400,offset=0): f32[100]{0:S(5)}
allocation 1: size 80, parameter 1, shape |f32[20]| at ShapeIndex {}:
 value: <4 q @0> (size=80,offset=0): f32[20]{0}
)");
  ASSERT_TRUE(assignment) << assignment.error().message;
  EXPECT_EQ(assignment->TotalBytes(), 80);
  EXPECT_EQ(assignment->ParameterBytes(), 80);
}

// Tiled layouts are those of a TPU, where only color 0 is device memory.
TEST(BufferAssignment, MemorySpacesOfTpuCoresAreNotDeviceMemory) {
  const auto assignment = ReadBufferAssignment(R"(BufferAssignment:
allocation 0: size 4096, parameter 0, shape |f32[8,100]| at ShapeIndex {}:
 value: <6 p @0> (size=4096,offset=0): f32[8,100]{1,0:T(8,128)}
allocation 1: size 512, thread-local:
 value: <4 q @0> (size=512,offset=0): f32[]{:T(128)}
allocation 2: size 8192, color 1, preallocated-temp:
 value: <3 f @0> (size=8192,offset=0): f32[16,128]{1,0:T(8,128)S(1)}
allocation 3: size 4, color 2, preallocated-temp:
 value: <2 g @0> (size=4,offset=0): u32[]{:S(2)}
allocation 4: size 64, color 5, parameter 1, shape |f32[16]| at ShapeIndex {}:
 value: <1 h @0> (size=64,offset=0): f32[16]{0:T(128)S(5)}
allocation 5: size 512, color 6, preallocated-temp:
 value: <0 i @0> (size=512,offset=0): u32[]{:T(128)S(6)}
)");
  ASSERT_TRUE(assignment) << assignment.error().message;
  EXPECT_EQ(assignment->TotalBytes(), 4096 + 512);
  EXPECT_EQ(assignment->TempBytes(), 512);
  std::map<std::string, int64_t> spaces;
  for (const SpaceBytes& space : assignment->Spaces()) {
    spaces[MemorySpaceName(assignment->platform, space.color)] = space.bytes;
  }
  EXPECT_EQ(
      spaces,
      (std::map<std::string, int64_t>{
          {"device", 4608}, {"vector", 8192}, {"scalar", 4}, {"host", 64}, {"space 6", 512}}));
}

TEST(BufferAssignment, ErrorsHaveLineAndColumn) {
  std::string errors;
  for (const char* text :
       {"BufferAssignment:\nallocation x:\n", "allocation 0: size 1:\n value: <z>\n"}) {
    const auto damaged = ReadBufferAssignment(text);
    ASSERT_FALSE(damaged) << text;
    EXPECT_THAT(damaged.error().message, HasSubstr("2:1: ")) << text;
    errors += damaged.error().message + "\n";
  }
  const auto other = ReadBufferAssignment("HloModule m");
  ASSERT_FALSE(other);
  EXPECT_GOLDEN_TEXT(errors + other.error().message);
}

TEST(LiveRanges, ReadsAllSections) {
  auto ranges = ReadLiveRanges(kRanges);
  ASSERT_TRUE(ranges) << ranges.error().message;
  EXPECT_THAT(ranges->schedule, ElementsAre("p, q", "a", "e", "d:1", "add.1"));
  ASSERT_EQ(ranges->ranges.size(), 5u);
  EXPECT_EQ(ranges->ranges[3].instruction, "b");
  EXPECT_EQ(ranges->ranges[3].shape_index, "{1}");
  EXPECT_EQ(ranges->ranges[3].end, 3);
  EXPECT_EQ(ranges->peak_position, 2);
  EXPECT_EQ(ranges->peak_bytes, 192);
  ASSERT_EQ(ranges->peak_scopes.size(), 4u);
  EXPECT_EQ(ranges->peak_scopes[1].name, "jit(f)/mul (x)");
  EXPECT_EQ(ranges->peak_scopes[1].total_bytes, 1128);
  EXPECT_EQ(ranges->peak_scopes[1].depth, 1);
  EXPECT_EQ(ranges->peak_scopes[2].name, "inner");
  EXPECT_EQ(ranges->peak_scopes[2].depth, 2);
  EXPECT_EQ(ranges->peak_scopes[2].own_bytes, 28);
  EXPECT_EQ(ranges->peak_scopes[3].depth, 1);
  EXPECT_THAT(ReadLiveRanges("x").error().message, HasSubstr("'HloLiveRange'"));
  EXPECT_THAT(ReadLiveRanges("HloLiveRange (max 1):\n  BufferLiveRange:\n    a:1").error().message,
              HasSubstr("3:1"));
}

TEST(BufferAssignment, PeakConsistsOfTheLiveBuffersOfTheHeap) {
  const auto assignment = ReadBufferAssignment(kAssignment);
  const auto ranges = ReadLiveRanges(kRanges);
  const MemoryPeak peak = PeakOf(*assignment, &*ranges);
  EXPECT_EQ(peak.at_position, 2);
  EXPECT_EQ(peak.at_instruction, "e");
  EXPECT_EQ(peak.bytes, 192);
  ASSERT_EQ(peak.values.size(), 2u);
  EXPECT_EQ(peak.values[0].instruction, "a");
  EXPECT_EQ(peak.values[0].shape, "f32[32]{0}");
  EXPECT_EQ(peak.values[0].allocation, 4);
  EXPECT_EQ(peak.values[1].instruction, "b");
  // Without live ranges: the places of the heap, largest first.
  const MemoryPeak guess = PeakOf(*assignment, nullptr);
  EXPECT_EQ(guess.at_position, -1);
  EXPECT_EQ(guess.bytes, 192);
  ASSERT_EQ(guess.values.size(), 2u);
}

// Two buffers alive together at the third event; d shares c's place.
TEST(BufferAssignment, ProtoGivesPeaksFromItsTraces) {
  const auto buffer = [](int64_t id, int64_t size, int64_t instruction) {
    return Message().Int(1, id).Int(2, size).Nested(3, Message().Int(4, instruction));
  };
  const auto event = [](int64_t kind, int64_t id, int64_t shares = 0) {
    return Message().Int(1, kind).Int(2, id).Int(5, shares);
  };
  Message assignment;
  assignment.Nested(1, buffer(1, 100, 1))
      .Nested(1, buffer(2, 50, 2))
      .Nested(1, buffer(3, 50, 3))
      .Nested(1, buffer(4, 500, 3));
  assignment.Nested(
      3, Message().Int(1, 7).Int(2, 150).Nested(9, Message().Int(1, 2).Int(2, 100).Int(3, 50)));
  assignment.Nested(3, Message().Int(2, 9).Int(3, 1));
  assignment.Nested(3, Message().Int(1, 8).Int(2, 4).Int(5, 1).Int(6, 3));
  Message trace;
  trace.Nested(1, event(0, 1)).Nested(1, event(0, 2)).Nested(1, event(2, 3, 2));
  trace.Nested(1, event(1, 1)).Nested(1, event(1, 2)).Nested(1, event(0, 9));
  assignment.Nested(4, trace.Int(3, 7));
  Message module;
  module.Text(1, "m").Text(2, "main").Int(6, 2);
  module.Nested(3, ComputationProto("main", 2, 3,
                                    {InstructionProto("a", "parameter", 1),
                                     InstructionProto("c", "negate", 2, {1}),
                                     InstructionProto("d", "negate", 3, {2})}));
  auto read = ReadProto(Shared(Message().Nested(1, module).Nested(3, assignment).bytes()));
  ASSERT_TRUE(read) << read.error().message;
  auto out = BufferAssignmentOf(*read);
  ASSERT_TRUE(out) << out.error().message;
  ASSERT_EQ(out->allocations.size(), 3u);
  EXPECT_EQ(out->allocations[0].index, 7);
  EXPECT_TRUE(out->allocations[0].is_temp);
  EXPECT_EQ(out->allocations[0].values[0].instruction, "c");
  EXPECT_EQ(out->allocations[1].index, 0);
  EXPECT_TRUE(out->allocations[1].is_thread_local);
  EXPECT_EQ(out->allocations[2].parameter_number, 3);
  const MemoryPeak peak = PeakOf(*out, nullptr);
  EXPECT_EQ(peak.bytes, 150);
  EXPECT_EQ(peak.at_instruction, "c");
  ASSERT_EQ(peak.values.size(), 2u);
  EXPECT_EQ(peak.values[0].instruction, "a");
  EXPECT_EQ(peak.values[1].instruction, "c");
  EXPECT_EQ(peak.values[1].allocation, 7);
}

TEST(MemoryUsage, ReadsSlotsOfEachAllocation) {
  auto spaces = ReadMemoryUsage(R"(Memory Space: default (color=0)
Total bytes: 216006678 (206.00MiB)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
  112.00MiB(100%);  112.00MiB;            0;                2; 2×bf16[4096,14336]

  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
   76.00MiB(100%);   76.00MiB;            0;                1; s8[79691776]
   76.00MiB(100%);        16B;     79691776;                1; (bf16[4096,14336], s8[79691776])

Memory Space: host (color=5)
Total bytes: 4 (4B)
)");
  ASSERT_TRUE(spaces) << spaces.error().message;
  ASSERT_EQ(spaces->size(), 2u);
  const MemorySpace& space = (*spaces)[0];
  EXPECT_EQ(space.name, "default");
  EXPECT_EQ(space.total_bytes, 216006678);
  ASSERT_EQ(space.allocations.size(), 2u);
  EXPECT_EQ(space.allocations[0].slots[0].size_bytes, 112 << 20);
  EXPECT_EQ(space.allocations[0].slots[0].values, 2);
  EXPECT_EQ(space.allocations[1].slots[1].size_bytes, 16);
  EXPECT_EQ(space.allocations[1].slots[1].offset_bytes, 79691776);
  EXPECT_EQ(space.allocations[1].slots[1].shapes, "(bf16[4096,14336], s8[79691776])");
  EXPECT_EQ((*spaces)[1].color, 5);
  EXPECT_THAT(ReadMemoryUsage("x").error().message, HasSubstr("'Memory Space:'"));
  EXPECT_THAT(
      ReadMemoryUsage("Memory Space: a (color=0)\n  cumulative_size;\n 1;2").error().message,
      HasSubstr("3:1"));
}

// The same assignment as XLA printed and serialised it.
TEST(BufferAssignment, RecordedTextAndProtoAgree) {
  XLATRACE_SHARED_OR_SKIP(root, "own");
  for (const char* stem :
       {"jax-cpu/dump/module_0052.jit_train_step.cpu_after_optimizations",
        "jax-sm90/cmdbuf/module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations"}) {
    SCOPED_TRACE(stem);
    const std::string path = (root / stem).string();
    auto text = ReadBufferAssignment(*ReadFileInflated(path + "-buffer-assignment.txt.xz"));
    ASSERT_TRUE(text) << text.error().message;
    auto module = dumps::ReadHloFile(path + ".hlo.pb.xz");
    ASSERT_TRUE(module) << module.error().message;
    auto proto = BufferAssignmentOf(*module);
    ASSERT_TRUE(proto) << proto.error().message;
    ASSERT_EQ(text->allocations.size(), proto->allocations.size());
    for (size_t i = 0; i < text->allocations.size(); ++i) {
      const BufferAllocation& a = text->allocations[i];
      const BufferAllocation& b = proto->allocations[i];
      EXPECT_EQ(a.index, b.index);
      EXPECT_EQ(a.size_bytes, b.size_bytes) << i;
      EXPECT_EQ(a.parameter_number, b.parameter_number) << i;
      EXPECT_EQ(a.is_thread_local, b.is_thread_local) << i;
      EXPECT_EQ(a.is_constant, b.is_constant) << i;
      EXPECT_EQ(a.maybe_live_out, b.maybe_live_out) << i;
      EXPECT_EQ(a.is_temp, b.is_temp) << i;
      std::multimap<std::string, std::tuple<int64_t, int64_t, std::string>> values_a;
      std::multimap<std::string, std::tuple<int64_t, int64_t, std::string>> values_b;
      for (const AssignedValue& v : a.values) {
        values_a.emplace(v.instruction + v.shape_index,
                         std::tuple(v.size_bytes, v.offset_bytes, v.shape));
      }
      for (const AssignedValue& v : b.values) {
        values_b.emplace(v.instruction + v.shape_index,
                         std::tuple(v.size_bytes, v.offset_bytes, v.shape));
      }
      EXPECT_EQ(values_a, values_b) << i;
    }
    EXPECT_EQ(text->TotalBytes(), module->peak_memory_bytes);
    EXPECT_EQ(proto->TotalBytes(), text->ParameterBytes() + text->OutputBytes() +
                                       text->ConstantBytes() + text->TempBytes());
    // The values alive at the peak fit into the heap; no larger set of values may be alive.
    const MemoryPeak peak = PeakOf(*proto, nullptr);
    EXPECT_GT(peak.values.size(), 1u);
    EXPECT_LE(peak.bytes, proto->TempBytes());
    EXPECT_GE(peak.bytes, proto->TempBytes() * 9 / 10);
  }
}

TEST(MemoryReports, RecordedReportsOfOneModuleAgree) {
  XLATRACE_SHARED_OR_SKIP(root, "dumps/mi300x-2026-08");
  int modules = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string path = entry.path().string();
    const size_t at = path.find("-memory-usage-report.txt");
    if (at == std::string::npos) continue;
    SCOPED_TRACE(path);
    const std::string stem = path.substr(0, at);
    const auto spaces = ReadMemoryUsage(*ReadFileInflated(path));
    const auto assignment =
        ReadBufferAssignment(*ReadFileInflated(stem + "-buffer-assignment.txt"));
    const auto ranges = ReadLiveRanges(*ReadFileInflated(stem + "-live-range.txt"));
    ASSERT_TRUE(spaces);
    ASSERT_TRUE(assignment);
    ASSERT_TRUE(ranges);
    ASSERT_EQ(spaces->size(), 1u);
    EXPECT_EQ((*spaces)[0].total_bytes, assignment->TotalBytes());
    EXPECT_EQ((*spaces)[0].allocations.size(), assignment->allocations.size());
    ASSERT_FALSE(ranges->at_peak.empty());
    const auto module = dumps::ReadHloFile(stem + ".txt");
    ASSERT_TRUE(module);
    EXPECT_EQ(ranges->schedule.size(), module->computations[module->entry].instruction_count);
    ++modules;
  }
  EXPECT_EQ(modules, 7);
}

// XLA names what it leaves out of a long table (a dump of 2026).
TEST(MemoryUsage, RowThatXlaOmitsEndsATable) {
  auto spaces = ReadMemoryUsage(
      "Memory Space: default (color=0)\nTotal bytes: 1048600 (1.0MiB)\n\n"
      "  cumulative_size; total_size - cumulative_size; size; offset; used_by_n_values; "
      "shapes_list\n"
      "  ------------------------------------------------------------\n"
      "  The rest 9 values are less than 5% of the total size and not shown.\n\n"
      "  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n"
      "   256.0KiB(100%);   256.0KiB;            0;                2; f32[512,128]\n");
  ASSERT_TRUE(spaces) << spaces.error().message;
  ASSERT_EQ(spaces->size(), 1u);
  ASSERT_EQ((*spaces)[0].allocations.size(), 2u);
  EXPECT_EQ((*spaces)[0].allocations[1].slots.size(), 1u);
}

}  // namespace
}  // namespace xlatrace::hlo
