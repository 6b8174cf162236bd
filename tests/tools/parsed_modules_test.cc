// SPDX-License-Identifier: Apache-2.0

// Each module of a run is parsed once for all readers, within the memory limit.

#include "tools/parsed_modules.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/written_analysis.h"

namespace xlatrace::tools {
namespace {

using Format = model::ModuleBlob::Format;

std::string Text(const std::string& name) {
  return "HloModule " + name +
         ", is_scheduled=true\n\n"
         "ENTRY main {\n"
         "  p = f32[8]{0} parameter(0)\n"
         "  add.1 = f32[8]{0} add(p, p), metadata={op_name=\"jit(f)/layer_0/add\"}\n"
         "  ROOT multiply.2 = f32[8]{0} multiply(add.1, p)\n"
         "}\n";
}

// A run of modules as they are stored, which counts who comes.
class Stored {
 public:
  model::Id Add(std::string text, std::string thunks = {}) {
    modules_.push_back({Format::kHloText, std::move(text), std::move(thunks), {}});
    return static_cast<model::Id>(modules_.size());
  }
  ParsedModules::Reader Reader() {
    return [this](model::Id id) -> Result<store::RunDb::ModuleBytes> {
      ++reads[id];
      if (static_cast<size_t>(id) > modules_.size()) return MakeError("no such module");
      return modules_[static_cast<size_t>(id) - 1];
    };
  }
  std::map<model::Id, int> reads;

 private:
  std::vector<store::RunDb::ModuleBytes> modules_;
};

TEST(ParsedModules, OneParsedCopyIsSharedByAll) {
  Stored stored;
  const model::Id id = stored.Add(Text("jit_f"));
  ParsedModules modules(stored.Reader());
  const auto correlated = modules.ForCorrelator()(id);
  const auto analysed = modules.ForAnalysis()(id);
  const auto again = modules.ForAnalysis()(id);
  ASSERT_TRUE(correlated && analysed && again);
  EXPECT_EQ((*correlated)->hlo.name, "jit_f");
  EXPECT_EQ(*analysed, &(*correlated)->hlo);
  EXPECT_EQ(*again, *analysed);
  EXPECT_EQ(stored.reads[id], 1);
  EXPECT_EQ(modules.parses(), 1);
}

TEST(ParsedModules, EqualModulesWithDifferentThunkListsAreKeptApart) {
  Stored stored;
  const model::Id first = stored.Add(Text("jit_f"));
  const model::Id copy = stored.Add(Text("jit_f"));
  const model::Id listed = stored.Add(Text("jit_f"), "000: kKernel add_1\n");
  const model::Id other = stored.Add(Text("jit_g"));
  ParsedModules modules(stored.Reader());
  const auto of = [&](model::Id id) { return modules.Load(id).value().get(); };
  EXPECT_EQ(of(first), of(copy));
  EXPECT_NE(of(first), of(listed));
  EXPECT_EQ(of(other)->hlo.name, "jit_g");
  EXPECT_EQ(modules.parses(), 3);
}

TEST(ParsedModules, ModulesBeyondTheLimitAreParsedAgain) {
  Stored stored;
  const model::Id first = stored.Add(Text("jit_f"));
  const model::Id second = stored.Add(Text("jit_g"));
  // Room for one and a half.
  const auto alone = ParsedModules(stored.Reader()).Load(first);
  ASSERT_TRUE(alone);
  const size_t bytes = MemoryBytes(**alone);
  ASSERT_GT(bytes, Text("jit_f").size());
  stored.reads.clear();
  ParsedModules modules(stored.Reader(), bytes + bytes / 2);
  for (int round = 1; round <= 3; ++round) {
    for (const model::Id id : {first, second}) {
      const auto module = modules.ForAnalysis()(id);
      ASSERT_TRUE(module);
      EXPECT_EQ((*module)->name, id == first ? "jit_f" : "jit_g");
    }
    EXPECT_EQ(stored.reads[first], 1);
    EXPECT_EQ(stored.reads[second], round);
  }
}

TEST(ParsedModules, ModuleBeyondTheLimitIsReleasedAfterUse) {
  Stored stored;
  const model::Id first = stored.Add(Text("jit_f"));
  const model::Id second = stored.Add(Text("jit_g"));
  ParsedModules modules(stored.Reader(), 0);
  const std::weak_ptr<const correlator::LoadedModule> lent = modules.Load(first).value();
  EXPECT_TRUE(lent.expired());
  const auto load = modules.ForAnalysis();
  ASSERT_TRUE(load(first) && load(second));
  EXPECT_EQ(load(first).value()->name, "jit_f");
  EXPECT_EQ(modules.parses(), 4);
}

TEST(ParsedModules, UnreadableModuleIsTriedOnce) {
  Stored stored;
  const model::Id broken = stored.Add("HloModule broken\n\nENTRY main {\n  p = f32[\n");
  constexpr model::Id kAbsent = 7;
  ParsedModules modules(stored.Reader());
  for (const model::Id id : {broken, kAbsent}) {
    const auto first = modules.Load(id);
    const auto second = modules.ForAnalysis()(id);
    ASSERT_FALSE(first);
    ASSERT_FALSE(second);
    EXPECT_EQ(first.error().message, second.error().message);
    EXPECT_EQ(stored.reads[id], 1);
  }
  EXPECT_EQ(modules.parses(), 1);
}

TEST(ParsedModules, CorrelatorLabelsAndFindingsShareParsedModules) {
  store::RunBuilder run("");
  run.AddProcess({.pid = 9});
  run.AddDevice({.process_id = 1});
  const model::Id lane = run.AddLane({.device_id = 1, .stream_id = 7});
  for (const std::string name : {"jit_f", "jit_g"}) {
    const std::string text = Text(name);
    run.AddModule({.process_id = 1, .name = name, .format = Format::kHloText, .bytes = text});
    for (int64_t k = 0; k < 4; ++k) {
      run.AddActivity({.lane_id = lane,
                       .config_id = run.AddLaunchConfig({.symbol = "add_1", .name = "add_1"}),
                       .hint_id = run.AddHint({.module_name = name, .instruction = "add.1"}),
                       .start_ns = 1000 * (k + (name == "jit_g" ? 10 : 0)),
                       .end_ns = 1000 * (k + (name == "jit_g" ? 10 : 0)) + 900});
    }
  }
  int64_t reads = 0;
  ParsedModules modules([&](model::Id id) {
    ++reads;
    return run.ReadModule(id);
  });
  auto attribution = correlator::Attribute(run.tables(), modules.ForCorrelator());
  ASSERT_TRUE(attribution);
  ASSERT_EQ(attribution->instructions.size(), 6u);
  run.AddResults(*attribution);
  const model::AnalysisTables analysis = AnalyzeWritten(run, *attribution, modules);
  EXPECT_FALSE(analysis.op_times.empty());
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(modules.parses(), 2);
}

}  // namespace
}  // namespace xlatrace::tools
