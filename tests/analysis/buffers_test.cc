// SPDX-License-Identifier: Apache-2.0

// Owner, line, live range and part of the peak of each buffer: programs worked by hand.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/memory/module_buffers.h"
#include "analysis/memory/peak_memory.h"
#include "analysis/module_labels.h"
#include "hlo/artefacts/buffer_assignment.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::analysis {
namespace {

using model::BufferOwner;
using model::BufferRow;

// A training step: w is updated by way of m. One array is 262,144 bytes.
constexpr std::string_view kTraining = R"(
HloModule jit_step, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }

ENTRY e {
  w = f32[256,256]{1,0} parameter(0), metadata={op_name="state['params']['w']"}
  m = f32[256,256]{1,0} parameter(1), metadata={op_name="state['mu']['w']"}
  x = f32[256,256]{1,0} parameter(2), metadata={op_name="x"}
  wt = f32[256,256]{0,1} copy(w)
  h = f32[256,256]{1,0} dot(x, wt), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp(layer)/dot_general" source_file="a.py" source_line=3}
  a = f32[256,256]{1,0} tanh(h), metadata={op_name="jit(step)/jvp(layer)/tanh" source_file="a.py" source_line=4}
  b = f32[256,256]{1,0} multiply(a, h), metadata={op_name="jit(step)/transpose(jvp(layer))/mul" source_file="a.py" source_line=4}
  g = f32[256,256]{1,0} dot(x, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/transpose(jvp(layer))/dot_general" source_file="a.py" source_line=3}
  m2 = f32[256,256]{1,0} add(m, g), metadata={op_name="jit(step)/add" source_file="a.py" source_line=9}
  w2 = f32[256,256]{1,0} subtract(w, m2), metadata={op_name="jit(step)/sub" source_file="a.py" source_line=10}
  ROOT r = (f32[256,256]{1,0}, f32[256,256]{1,0}) tuple(w2, m2)
}
)";
constexpr std::string_view kTrainingBuffers = R"(BufferAssignment:
allocation 0: size 262144, parameter 0, shape |f32[256,256]| at ShapeIndex {}, maybe-live-out:
 value: <0 w @0> (size=262144,offset=0): f32[256,256]{1,0}
 value: <9 w2 @0> (size=262144,offset=0): f32[256,256]{1,0}
allocation 1: size 262144, parameter 1, shape |f32[256,256]| at ShapeIndex {}, maybe-live-out:
 value: <1 m @0> (size=262144,offset=0): f32[256,256]{1,0}
 value: <8 m2 @0> (size=262144,offset=0): f32[256,256]{1,0}
allocation 2: size 262144, parameter 2, shape |f32[256,256]| at ShapeIndex {}:
 value: <2 x @0> (size=262144,offset=0): f32[256,256]{1,0}
allocation 3: size 16, output shape is |(f32[256,256], f32[256,256])|, maybe-live-out:
 value: <10 r{} @0> (size=16,offset=0): (f32[256,256]{1,0}, f32[256,256]{1,0})
allocation 4: size 4, thread-local:
 value: <11 z @0> (size=4,offset=0): f32[]
allocation 5: size 786432, preallocated-temp:
 value: <3 wt @0> (size=262144,offset=0): f32[256,256]{0,1}
 value: <4 h @0> (size=262144,offset=262144): f32[256,256]{1,0}
 value: <5 a @0> (size=262144,offset=0): f32[256,256]{1,0}
 value: <6 b @0> (size=262144,offset=0): f32[256,256]{1,0}
 value: <7 g @0> (size=262144,offset=524288): f32[256,256]{1,0}
)";

class Buffers {
 public:
  Buffers(std::string_view program, std::string_view assignment) {
    auto module = hlo::ReadText(std::make_shared<const std::string>(program));
    EXPECT_TRUE(module) << (module ? "" : module.error().message);
    auto read = hlo::ReadBufferAssignment(assignment);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    if (!module || !read) return;
    module_ = std::move(*module);
    assignment_ = std::move(*read);
    auto buffers = BuffersOf(module_, assignment_, LabelModule(module_));
    EXPECT_TRUE(buffers) << (buffers ? "" : buffers.error().message);
    if (buffers) buffers_ = std::move(*buffers);
  }

  const BufferRow& Of(std::string_view instruction) const {
    static const BufferRow none;
    for (const BufferRow& row : buffers_.rows) {
      if (row.instruction == instruction) return row;
    }
    ADD_FAILURE() << "no buffer of " << instruction;
    return none;
  }
  int32_t LineOf(std::string_view instruction) const {
    const BufferRow& row = Of(instruction);
    if (row.described_by == 0) return 0;
    return module_.instructions[static_cast<size_t>(row.described_by - 1)].metadata.source_line;
  }
  std::map<BufferOwner, int64_t> PeakByOwner() const {
    std::map<BufferOwner, int64_t> owners;
    for (const BufferRow& row : buffers_.rows) {
      if (row.peak_bytes > 0) owners[row.owner] += row.peak_bytes;
    }
    return owners;
  }

  const ModuleBuffers& buffers() const { return buffers_; }
  const model::HloModule& module() const { return module_; }
  const hlo::BufferAssignment& assignment() const { return assignment_; }

 private:
  model::HloModule module_;
  hlo::BufferAssignment assignment_;
  ModuleBuffers buffers_;
};

TEST(Buffers, OwnersOfATrainingStepFollowFromDataflow) {
  const Buffers step(kTraining, kTrainingBuffers);
  EXPECT_EQ(step.Of("w").owner, BufferOwner::kParameters);
  EXPECT_EQ(step.Of("m").owner, BufferOwner::kOptimizerState);
  EXPECT_EQ(step.Of("x").owner, BufferOwner::kInputs);
  EXPECT_EQ(step.Of("wt").owner, BufferOwner::kParameters);  // A copy of w.
  EXPECT_EQ(step.Of("h").owner, BufferOwner::kActivations);
  EXPECT_EQ(step.Of("a").owner, BufferOwner::kActivations);
  EXPECT_EQ(step.Of("g").owner, BufferOwner::kGradients);
  EXPECT_EQ(step.Of("r").owner, BufferOwner::kOutputs);
}

TEST(Buffers, AnInputHasTheLineOfItsFirstReader) {
  const Buffers step(kTraining, kTrainingBuffers);
  EXPECT_EQ(step.LineOf("w"), 3);
  EXPECT_EQ(step.LineOf("m"), 9);
  EXPECT_EQ(step.LineOf("x"), 3);
  EXPECT_EQ(step.LineOf("wt"), 3);
  EXPECT_EQ(step.LineOf("a"), 4);
}

TEST(Buffers, PartsOfThePeakSumToTheTotal) {
  const Buffers step(kTraining, kTrainingBuffers);
  // In use while b runs: h, and b in the place of a. While g runs: b and g. The first counts.
  EXPECT_EQ(step.buffers().total_bytes, 3 * 262144 + 16 + 4 + 786432);
  EXPECT_EQ(step.buffers().bytes_at[static_cast<size_t>(step.buffers().peak_position)],
            3 * 262144 + 16 + 4 + 2 * 262144);
  const auto owners = step.PeakByOwner();
  int64_t sum = 0;
  for (const auto& [owner, bytes] : owners) sum += bytes;
  EXPECT_EQ(sum, step.buffers().total_bytes);
  EXPECT_EQ(owners.at(BufferOwner::kUnused), 262144);
  EXPECT_EQ(owners.at(BufferOwner::kOutputs), 16);
}

TEST(Buffers, AResultInTheMemoryOfItsOperandReplacesIt) {
  const Buffers step(kTraining, kTrainingBuffers);
  // Positions: w 0, m 1, x 2, wt 3, h 4, a 5, b 6, g 7.
  EXPECT_EQ(step.Of("a").first, 5);
  EXPECT_EQ(step.Of("a").last, 5);
  EXPECT_EQ(step.Of("b").first, 6);
  EXPECT_EQ(step.Of("b").last, 7);
  EXPECT_EQ(step.Of("h").last, 6);
}

TEST(Buffers, PeakMemoryListsTheLargestBuffersWithOwnerAndLine) {
  const Buffers step(kTraining, kTrainingBuffers);
  const hlo::ModuleMemory memory = PeakMemory(step.module(), step.assignment(), nullptr);
  int64_t owners = 0;
  for (const hlo::OwnerBytes& owner : memory.owners) owners += owner.bytes;
  EXPECT_EQ(owners, memory.total_bytes);
  ASSERT_FALSE(memory.at_peak.empty());
  EXPECT_EQ(memory.at_peak[0].size_bytes, 262144);
  EXPECT_EQ(memory.at_peak[0].owner, "parameters");
  EXPECT_EQ(memory.at_peak[0].source_file, "a.py");
  EXPECT_EQ(memory.at_peak[0].source_line, 3);
}

// Without gradients, a product shows which input is a weight: its other operand is computed.
TEST(Buffers, WeightsOfAnInferenceProgramAreParameters) {
  const Buffers infer(R"(
HloModule jit_f, is_scheduled=true

ENTRY e {
  v = f32[64,64]{1,0} parameter(0), metadata={op_name="p['v']"}
  c = f32[64]{0} parameter(1), metadata={op_name="p['c']"}
  x = f32[64,64]{1,0} parameter(2), metadata={op_name="x"}
  s = f32[64,64]{1,0} sine(x), metadata={op_name="jit(f)/sin" source_file="a.py" source_line=1}
  y = f32[64,64]{1,0} dot(s, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/dot_general" source_file="a.py" source_line=2}
  k = f32[64,64]{1,0} broadcast(c), dimensions={1}, metadata={op_name="jit(f)/add" source_file="a.py" source_line=3}
  ROOT r = f32[64,64]{1,0} add(y, k), metadata={op_name="jit(f)/add" source_file="a.py" source_line=3}
}
)",
                      R"(BufferAssignment:
allocation 0: size 16384, parameter 0, shape |f32[64,64]| at ShapeIndex {}:
 value: <0 v @0> (size=16384,offset=0): f32[64,64]{1,0}
allocation 1: size 256, parameter 1, shape |f32[64]| at ShapeIndex {}:
 value: <1 c @0> (size=256,offset=0): f32[64]{0}
allocation 2: size 16384, parameter 2, shape |f32[64,64]| at ShapeIndex {}:
 value: <2 x @0> (size=16384,offset=0): f32[64,64]{1,0}
allocation 3: size 16384, output shape is |f32[64,64]|, maybe-live-out:
 value: <6 r @0> (size=16384,offset=0): f32[64,64]{1,0}
allocation 4: size 32768, preallocated-temp:
 value: <3 s @0> (size=16384,offset=0): f32[64,64]{1,0}
 value: <4 y @0> (size=16384,offset=16384): f32[64,64]{1,0}
 value: <5 k @0> (size=16384,offset=0): f32[64,64]{1,0}
)");
  EXPECT_EQ(infer.Of("v").owner, BufferOwner::kParameters);
  EXPECT_EQ(infer.Of("c").owner, BufferOwner::kParameters);  // A sibling of v.
  EXPECT_EQ(infer.Of("x").owner, BufferOwner::kInputs);
  EXPECT_EQ(infer.Of("s").owner, BufferOwner::kActivations);
  EXPECT_EQ(infer.Of("r").owner, BufferOwner::kOutputs);
}

}  // namespace
}  // namespace xlatrace::analysis
