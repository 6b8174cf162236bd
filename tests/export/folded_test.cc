// SPDX-License-Identifier: Apache-2.0

// Folded stacks (Brendan Gregg's format): one line a stack, frames joined by ';', then a number.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "export/export_format.h"
#include "store/run_db.h"
#include "store/run_saver.h"

namespace xlatrace::exporter {
namespace {

using model::Id;
using model::Phase;
using testing::ElementsAre;
using testing::EndsWith;

class FoldedTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("xlatrace_folded_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    auto saver = store::RunSaver::Create(folder_ / "run.db");
    ASSERT_TRUE(saver);
    saver_.emplace(std::move(*saver));
    run_.emplace(saver_->beside());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Id Lane(int64_t pid) {
    const Id process = run_->AddProcess({.host = "node1", .pid = pid});
    return run_->AddLane({.device_id = run_->AddDevice({.process_id = process}), .stream_id = 7});
  }

  void Launch(Id lane, const std::string& name, const std::string& op_name, Phase phase,
              int64_t ns) {
    if (module_ == 0) {
      module_ = run_->AddModule({.process_id = 1, .name = "jit_f", .bytes = "HLO"});
      attribution_.modules.emplace_back();
    }
    attribution_.instructions.push_back({.module_id = module_, .name = name});
    attribution_.instructions.back().op_name = op_name;
    attribution_.instructions.back().phase = phase;
    attribution_.labels.push_back(
        {.module_id = module_,
         .instruction_id = static_cast<Id>(attribution_.labels.size() + 1),
         .evidence = model::Evidence::kRange,
         .confidence = model::Confidence::kExact,
         .origin = model::Origin::kXla});
    run_->AddActivity({.lane_id = lane,
                       .config_id = run_->AddLaunchConfig({.symbol = name, .name = name}),
                       .start_ns = now_,
                       .end_ns = now_ + ns});
    now_ += ns + 10;
    attribution_.label_of.push_back(static_cast<uint32_t>(attribution_.labels.size()));
    attribution_.execution_of.push_back(0);
  }

  std::vector<std::string> Written() {
    run_->AddResults(attribution_);
    model::AnalysisTables analysis;
    analysis.step_of.resize(attribution_.label_of.size());
    run_->AddResults(analysis);
    EXPECT_TRUE(saver_->Save(*run_, &attribution_, &analysis));
    auto db = store::RunDb::Open(folder_ / "run.db");
    EXPECT_TRUE(db);
    ExportRequest request;
    request.output = folder_ / "out.folded";
    const auto count = FindFormat("folded")->write(*db, request);
    EXPECT_TRUE(count) << (count ? "" : count.error().message);
    std::vector<std::string> lines;
    std::ifstream file(request.output);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    EXPECT_EQ(count->rows, static_cast<int64_t>(lines.size()));
    return lines;
  }

  std::filesystem::path folder_;
  std::optional<store::RunSaver> saver_;
  std::optional<store::RunBuilder> run_;
  model::AttributionTables attribution_;
  Id module_ = 0;
  int64_t now_ = 1000;
};

TEST_F(FoldedTest, LineHasPhaseModuleScopesInstructionAndNanoseconds) {
  const Id lane = Lane(42);
  Launch(lane, "fusion.1", "jit(f)/jvp(Net)/mul", Phase::kForward, 300);
  Launch(lane, "fusion.2", "jit(f)/transpose(jvp(Net))/mul", Phase::kBackward, 500);
  EXPECT_THAT(Written(), ElementsAre("forward;jit_f;jit(f);jvp(Net);mul;fusion.1 300",
                                     "backward;jit_f;jit(f);transpose(jvp(Net));mul;fusion.2 500"));
}

TEST_F(FoldedTest, NamesDoNotBreakTheFormat) {
  Launch(Lane(42), "a;b\nc", "jit(f)/x;y", Phase::kForward, 300);
  EXPECT_THAT(Written(), ElementsAre("forward;jit_f;jit(f);x y;a b c 300"));
}

TEST_F(FoldedTest, LaunchWithoutTimeHasNoStack) {
  const Id lane = Lane(42);
  Launch(lane, "fusion.1", "jit(f)/mul", Phase::kForward, 0);
  Launch(lane, "fusion.2", "jit(f)/mul", Phase::kForward, 7);
  EXPECT_THAT(Written(), ElementsAre("forward;jit_f;jit(f);mul;fusion.2 7"));
}

TEST_F(FoldedTest, EachProcessHasItsOwnRoot) {
  const Id first = Lane(42);
  const Id second = Lane(43);
  Launch(first, "fusion.1", "jit(f)/mul", Phase::kForward, 300);
  Launch(second, "fusion.1", "jit(f)/mul", Phase::kForward, 400);
  const std::vector<std::string> lines = Written();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], EndsWith(";forward;jit_f;jit(f);mul;fusion.1 300"));
  EXPECT_THAT(lines[1], EndsWith(";forward;jit_f;jit(f);mul;fusion.1 400"));
  EXPECT_NE(lines[0].substr(0, lines[0].find(';')), lines[1].substr(0, lines[1].find(';')));
}

}  // namespace
}  // namespace xlatrace::exporter
