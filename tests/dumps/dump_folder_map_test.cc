// SPDX-License-Identifier: Apache-2.0

// Roles and links of the modules of synthetic folders, whose expected values are known by
// construction, and of recorded folders.

#include "dumps/dump_folder_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dumps/dump_folder.h"
#include "tests/golden_text/golden_text.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::dumps {
namespace {

using hlo::ModuleLink;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Makes two weights out of a seed.
std::string Init(const std::string& name) {
  return "HloModule " + name + R"(
ENTRY e {
  seed = u32[2] parameter(0)
  r = f32[64,64] iota(), iota_dimension=0
  b = f32[64] iota(), iota_dimension=0
  ROOT t = (f32[64,64], f32[64]) tuple(r, b)
}
)";
}

// A training step: a matrix product and its gradient; takes weights and a batch, gives weights.
std::string Step(const std::string& name, int batch = 8) {
  const std::string n = std::to_string(batch);
  return "HloModule " + name + R"(
ENTRY e {
  w = f32[64,64] parameter(0), metadata={op_name="w"}
  b = f32[64] parameter(1), metadata={op_name="b"}
  x = f32[)" +
         n + R"(,64] parameter(2), metadata={op_name="x"}
  y = f32[)" +
         n +
         R"(,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp(layer)/dot_general" source_file="/m/train.py" source_line=7}
  dw = f32[64,64] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/transpose(jvp(layer))/dot_general" source_file="/m/train.py" source_line=9}
  w2 = f32[64,64] subtract(w, dw), metadata={op_name="jit(step)/sub"}
  b2 = f32[64] negate(b), metadata={op_name="jit(step)/neg"}
  ROOT t = (f32[64,64], f32[64]) tuple(w2, b2)
}
)";
}

const char kTiny[] =
    "HloModule jit_add\nENTRY e {\n  a = s32[] parameter(0)\n  ROOT s = s32[] add(a, a)\n}\n";

class DumpFolderMapTest : public DumpFolderTest {
 protected:
  DumpFolderMap Map() {
    auto map = MapDumpFolder(root_.string());
    EXPECT_TRUE(map) << map.error().message;
    return map ? std::move(*map) : DumpFolderMap();
  }
  static const FolderModule& Named(const DumpFolderMap& map, std::string_view name) {
    for (const FolderModule& module : map.modules) {
      if (module.dump.name == name) return module;
    }
    ADD_FAILURE() << "no module " << name;
    static const FolderModule none;
    return none;
  }
};

TEST_F(DumpFolderMapTest, RolesAreMainInitAndHelper) {
  Write("module_0001.jit_init.cpu_after_optimizations.txt", Init("jit_init"));
  Write("module_0004.jit_add.cpu_after_optimizations.txt", kTiny);
  Write("module_0007.jit_step.before_optimizations.txt", Step("jit_step"));
  Write("module_0007.jit_step.cpu_after_optimizations.txt", Step("jit_step"));
  Write("module_0007.jit_step.debug_options", "x");
  const DumpFolderMap map = Map();
  ASSERT_EQ(map.modules.size(), 3u);
  const FolderModule& main = map.modules.front();
  EXPECT_EQ(main.dump.name, "jit_step");
  EXPECT_EQ(main.role, model::ModuleRole::kMain);
  EXPECT_TRUE(main.is_final);
  EXPECT_EQ(main.origin.function, "step");
  ASSERT_TRUE(main.summary);
  // 2 * 8 * 64 * 64 twice, 4096 subtractions, 64 negations.
  EXPECT_EQ(main.summary->flops, 2 * 2 * 8 * 64 * 64 + 4096 + 64);
  EXPECT_EQ(main.summary->parameter_bytes, 4 * (64 * 64 + 64 + 8 * 64));
  EXPECT_EQ(main.summary->source.file, "/m/train.py");
  EXPECT_EQ(main.summary->source.first_line, 7);
  EXPECT_EQ(main.summary->source.last_line, 9);
  EXPECT_EQ(Named(map, "jit_init").role, model::ModuleRole::kInit);
  EXPECT_EQ(Named(map, "jit_add").role, model::ModuleRole::kHelper);
  EXPECT_EQ(map.files, 5u);
  EXPECT_EQ(map.missing_numbers, 4);  // 2, 3, 5, 6.
  EXPECT_GOLDEN_TEXT("jit_step: " + main.role_reason +
                     "\njit_init: " + Named(map, "jit_init").role_reason);

  // The step takes its own weights back, and init's before that; x comes from elsewhere.
  ASSERT_EQ(map.links.size(), 2u);
  for (const ModuleLink& link : map.links) {
    EXPECT_EQ(link.consumer, 0u);
    EXPECT_EQ(link.arrays, 2);
    EXPECT_EQ(link.parameters, 3);
    EXPECT_EQ(link.bytes, 4 * (64 * 64 + 64));
  }
}

TEST_F(DumpFolderMapTest, SplitDumpsArePairedByContent) {
  Write("module_0002.jit_step.before_optimizations.txt", Step("jit_step", 8));
  Write("module_0003.jit_step.before_optimizations.txt", Step("jit_step", 16));
  Write("module_0009.jit_step.sm_8.0_gpu_after_optimizations.txt", Step("jit_step", 16));
  Write("module_0011.jit_step.sm_8.0_gpu_after_optimizations.txt", Step("jit_step", 8));
  const DumpFolderMap map = Map();
  ASSERT_EQ(map.modules.size(), 4u);
  const std::map<int64_t, int64_t> halves = {{2, 11}, {3, 9}, {9, 3}, {11, 2}};
  for (const FolderModule& module : map.modules) {
    ASSERT_TRUE(module.other_half) << module.dump.program_id;
    EXPECT_EQ(map.modules[*module.other_half].dump.program_id, halves.at(module.dump.program_id));
    EXPECT_EQ(module.other_half_pct, 100);
  }
}

TEST_F(DumpFolderMapTest, EachHalfHasOnePartner) {
  Write("module_0002.jit_step.before_optimizations.txt", Step("jit_step", 8));
  Write("module_0003.jit_step.before_optimizations.txt", Step("jit_step", 8));
  Write("module_0004.jit_step.before_optimizations.txt", Step("jit_step", 8));
  Write("module_0009.jit_step.sm_8.0_gpu_after_optimizations.txt", Step("jit_step", 8));
  Write("module_0011.jit_step.sm_8.0_gpu_after_optimizations.txt", Step("jit_step", 8));
  const DumpFolderMap map = Map();
  std::map<size_t, size_t> halves;
  for (size_t m = 0; m < map.modules.size(); ++m) {
    if (!map.modules[m].other_half) continue;
    const size_t other = *map.modules[m].other_half;
    EXPECT_TRUE(halves.emplace(m, other).second);
    EXPECT_EQ(map.modules[other].other_half, m);
  }
  EXPECT_EQ(halves.size(), 4u);
}

TEST_F(DumpFolderMapTest, DifferentHalvesAreNotPaired) {
  Write("module_0002.jit_f.before_optimizations.txt", Step("jit_f"));
  Write("module_0009.jit_f.sm_8.0_gpu_after_optimizations.txt", Init("jit_f"));
  for (const FolderModule& module : Map().modules) EXPECT_FALSE(module.other_half);
}

// XLA's autotuner takes fusions out of the module that it compiles (dump of XLA:GPU, 2026).
TEST_F(DumpFolderMapTest, FusionExtractedDuringCompilationIsAutotuning) {
  Write("module_0001.jit_step.before_optimizations.txt", Step("jit_step"));
  Write("module_0022.fused_add.2.0000.cublaslt_rewriter_pipeline.after_pipeline-start.before_x.txt",
        Step("fused_add.2", 4096));
  const DumpFolderMap map = Map();
  ASSERT_EQ(map.modules.size(), 2u);
  EXPECT_EQ(map.modules[0].dump.name, "jit_step");
  EXPECT_EQ(map.modules[1].role, model::ModuleRole::kAutotune);
  EXPECT_THAT(map.modules[1].role_reason, HasSubstr("cublaslt_rewriter_pipeline"));
  EXPECT_THAT(map.links, ::testing::SizeIs(1));  // Only the step with itself.
}

TEST_F(DumpFolderMapTest, EveryProcessHasItsMainModule) {
  for (const char* rank : {"rank0", "rank1"}) {
    Write(std::string(rank) + "/module_0001.jit_add.cpu_after_optimizations.txt", kTiny);
    Write(std::string(rank) + "/module_0002.jit_step.cpu_after_optimizations.txt",
          Step("jit_step"));
  }
  // xla_dump_hlo_to_subfolder: the process is in the last folder's name.
  Write("jit_add/host_77/module_0001.jit_add.cpu_after_optimizations.txt", kTiny);
  Write("jit_step/host_77/module_0002.jit_step.cpu_after_optimizations.txt", Step("jit_step"));
  const DumpFolderMap map = Map();
  int mains = 0;
  for (const FolderModule& module : map.modules) {
    if (module.dump.name == "jit_add") {
      EXPECT_EQ(module.role, model::ModuleRole::kHelper);
    }
    if (module.role == model::ModuleRole::kMain) ++mains;
  }
  EXPECT_EQ(mains, 3);
  for (const ModuleLink& link : map.links) EXPECT_EQ(link.producer, link.consumer);
}

TEST_F(DumpFolderMapTest, DamagedModuleIsNamedAndOthersAreUsed) {
  Write("module_0001.jit_step.cpu_after_optimizations.txt", Step("jit_step"));
  Write("module_0002.jit_bad.cpu_after_optimizations.txt", "HloModule jit_bad\nENTRY e {");
  const DumpFolderMap map = Map();
  ASSERT_EQ(map.modules.size(), 2u);
  EXPECT_EQ(map.modules[0].dump.name, "jit_step");
  EXPECT_FALSE(map.modules[1].summary);
  EXPECT_THAT(map.modules[1].error, HasSubstr("module_0002.jit_bad"));
}

TEST_F(DumpFolderMapTest, SameProgramCompiledAgainIsMarked) {
  Write("module_0001.jit_step.cpu_after_optimizations.txt", Step("jit_step"));
  Write("module_0005.jit_step.cpu_after_optimizations.txt", Step("jit_step"));
  const DumpFolderMap map = Map();
  ASSERT_EQ(map.modules.size(), 2u);
  EXPECT_NE(map.modules[0].same_as.has_value(), map.modules[1].same_as.has_value());
  EXPECT_EQ(map.modules[1].role, model::ModuleRole::kMain);
  EXPECT_GOLDEN_TEXT(map.modules[1].role_reason);
}

// Before 2021 the name of the module was not in the file's name.
TEST_F(DumpFolderMapTest, NamesOfOldDumpsComeFromTheHlo) {
  Write("module_0001.before_optimizations.txt", Step("cluster_0__XlaCompiledKernel_true_.7"));
  Write("module_0001.ptx", "x");
  const DumpFolderMap map = Map();
  ASSERT_EQ(map.modules.size(), 1u);
  EXPECT_EQ(map.modules[0].dump.name, "cluster_0__XlaCompiledKernel_true_.7");
  EXPECT_EQ(map.modules[0].origin.Text(), "cluster_0");
  EXPECT_EQ(map.modules[0].dump.files.size(), 2u);
}

// The authors of these recordings documented which module trains.
TEST(DumpFolderMapRecorded, TheMainModuleOfRealFoldersComesFirst) {
  const std::pair<const char*, const char*> folders[] = {
      {"captures/nsys-jax-maxtext-fsdp4-h100/dump", "jit_train_step"},
      {"captures/nsys-jax-pax-fsdp4-a100/proc0/dump", "pjit__wrapped_step_fn"},
      {"own/jax-cpu/dump", "jit_train_step"},
      {"own/jax-sm90/cmdbuf", "jit_train_step"},
  };
  for (const auto& [folder, main] : folders) {
    XLATRACE_SHARED_OR_SKIP(path, folder);
    auto map = MapDumpFolder(path.string());
    ASSERT_TRUE(map) << map.error().message;
    ASSERT_FALSE(map->modules.empty());
    EXPECT_EQ(map->modules[0].dump.name, main) << folder;
    EXPECT_EQ(map->modules[0].role, model::ModuleRole::kMain);
    EXPECT_TRUE(map->modules[0].summary->has_gradient) << folder;
    for (const FolderModule& module : map->modules) EXPECT_EQ(module.error, "") << folder;
  }
}

}  // namespace
}  // namespace xlatrace::dumps
