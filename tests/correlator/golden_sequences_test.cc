// SPDX-License-Identifier: Apache-2.0

// Launches and programs in, labels out: the cases of golden/*.txt, each a text to read.
//
//   # What the case shows.
//   program jit_f 7           name and program id; lines as golden_program.h has them, up to "end"
//   program jit_g 8 registered    of strings that a process registers: not all of the schedule
//   lost 40 60                records of the first process between these times (ns)
//   thunks jit_f              its list of thunks, up to "end":
//     KIND KERNEL [instruction=] [grid=] [block=] [depth=]
//   launches                  in launch order, up to "end":
//     SYMBOL ; said=jit_f:7 group=1 => jit_f/first exact
//
// SYMBOL is a kernel; "copy", "copy to host", "copy to device", "memset" and "graph" have their
// usual meaning. After the semicolon come facts of the source. The module is `said=NAME[:ID]`,
// op=NAME the instruction, group=N the execution. The launch has device=N, grid=N, block=N (1 and
// 128), at=NS (the start) and bytes=N. "lost" means not recorded; it is only a note for the
// reader. "always ; said=jit_f:7 group=1" holds for all following lines. After the arrow:
// MODULE/INSTRUCTION exact or inferred, or the reason for no label. "not exact" allows a guess,
// because the truth is unknown. "instead of TEXT": the rejected evidence ("nothing": none).
// "because TEXT": the doubt that decided (doubt.cc).

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/correlator/golden_program.h"
#include "tests/correlator/test_builders.h"
#include "tests/source_folder.h"

namespace xlatrace::correlator {
namespace {

namespace fs = std::filesystem;

using Options = std::map<std::string, std::string>;

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

Options ReadOptions(std::istringstream words, Options options = {}) {
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    options[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return options;
}

int64_t Number(const Options& options, const std::string& name, int64_t otherwise) {
  const auto it = options.find(name);
  return it == options.end() ? otherwise : std::stoll(it->second);
}

class GoldenCase {
 public:
  explicit GoldenCase(const fs::path& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line.substr(0, line.find('#')));
      std::string what;
      if (!(words >> what)) continue;
      std::string name;
      words >> name;
      if (what == "program") {
        int64_t id = 0;
        std::string how;
        words >> id >> how;
        registered_.push_back(how == "registered");
        names_.push_back(name);
        ids_.push_back(id);
        texts_.push_back(HloText(name, ReadProgram(file)));
        thunks_.emplace_back();
      } else if (what == "thunks") {
        ReadThunks(file, name);
      } else if (what == "lost") {
        int64_t end = 0;
        EXPECT_TRUE(words >> end) << line;
        run_.AddLoss(std::stoll(name), end);
      } else if (what == "launches") {
        ReadLaunches(file);
      } else {
        ADD_FAILURE() << "not understood: " << line;
      }
    }
  }

  void Check() {
    ASSERT_FALSE(launches_.empty());
    for (size_t m = 0; m < names_.size(); ++m) {
      run_.AddModule(names_[m], ids_[m], [this, m] {
        LoadedModule module;
        auto text = std::make_shared<const std::string>(texts_[m]);
        module.hlo = hlo::ReadText(std::move(text)).value();
        module.thunks = thunks_[m];
        return module;
      });
      if (registered_[m]) run_.SetRegistered();
    }
    for (const Launch& launch : launches_) Add(launch);
    std::vector<Doubt> doubts;
    const model::AttributionTables tables = run_.Attribute(&doubts);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const model::Label& label = LabelOf(tables, rows_[i]);
      const bool exact = label.confidence == model::Confidence::kExact;
      std::string said = Says(run_, tables, rows_[i]);
      if (label.instruction_id != 0) said += exact ? " exact" : " inferred";
      const size_t because = expected_[i].find(" because ");
      std::string wanted = expected_[i].substr(0, because);
      if (const size_t instead = wanted.find(" instead of "); instead != std::string::npos) {
        const std::string lost = wanted.substr(instead + 12);
        EXPECT_EQ(label.losers, lost == "nothing" ? "" : lost) << "launch " << i + 1;
        wanted.resize(instead);
      }
      if (wanted == "not exact") {
        EXPECT_FALSE(exact) << "launch " << i + 1 << ": " << said;
      } else {
        EXPECT_EQ(said, wanted) << "launch " << i + 1;
      }
      if (because == std::string::npos) continue;
      ASSERT_EQ(doubts.size(), run_.run().activities.size());
      EXPECT_EQ(Text(doubts[rows_[i]]), expected_[i].substr(because + 9)) << "launch " << i + 1;
    }
  }

 private:
  struct Launch {
    std::string symbol;
    Options options;
    std::string expected;
  };

  void ReadThunks(std::istream& file, const std::string& module) {
    const auto at = std::find(names_.begin(), names_.end(), module) - names_.begin();
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line.substr(0, line.find('#')));
      model::Thunk thunk;
      if (!(words >> thunk.kind)) continue;
      if (thunk.kind == "end") return;
      words >> thunk.kernel;
      if (thunk.kernel == "-") thunk.kernel.clear();
      const Options options = ReadOptions(std::move(words));
      if (options.contains("instruction")) thunk.instruction = options.at("instruction");
      thunk.depth = static_cast<int32_t>(Number(options, "depth", 0));
      thunk.grid[0] = Number(options, "grid", 0);
      thunk.block[0] = Number(options, "block", 0);
      for (const int d : {1, 2}) {
        thunk.grid[d] = thunk.grid[0] != 0 ? 1 : 0;
        thunk.block[d] = thunk.block[0] != 0 ? 1 : 0;
      }
      thunks_.at(static_cast<size_t>(at)).push_back(thunk);
    }
  }

  void ReadLaunches(std::istream& file) {
    Options always;
    for (std::string line; std::getline(file, line);) {
      line = line.substr(0, line.find('#'));
      if (Trimmed(line).empty()) continue;
      if (Trimmed(line) == "end") return;
      const size_t arrow = line.find("=>");
      const size_t semicolon = std::min(line.find(';'), arrow);
      Launch launch;
      launch.symbol = Trimmed(line.substr(0, semicolon));
      if (semicolon < arrow) {
        launch.options = ReadOptions(
            std::istringstream(line.substr(semicolon + 1, arrow - semicolon - 1)), always);
      } else {
        launch.options = always;
      }
      if (launch.symbol == "always") {
        always = ReadOptions(std::istringstream(line.substr(semicolon + 1)));
        continue;
      }
      if (arrow == std::string::npos) {
        EXPECT_TRUE(launch.options.contains("lost")) << "no arrow: " << line;
        continue;
      }
      launch.expected = Trimmed(line.substr(arrow + 2));
      launches_.push_back(launch);
    }
  }

  uint32_t ConfigOf(const Launch& launch) {
    using model::ActivityKind;
    using model::CopyKind;
    static const std::map<std::string, CopyKind> kCopies = {
        {"copy", CopyKind::kDeviceToDevice},
        {"copy to host", CopyKind::kDeviceToHost},
        {"copy to device", CopyKind::kHostToDevice}};
    if (kCopies.contains(launch.symbol)) {
      return run_.Copy(kCopies.at(launch.symbol));
    }
    if (launch.symbol == "memset") return run_.Config(ActivityKind::kMemset, "Memset");
    if (launch.symbol == "graph") return run_.Config(ActivityKind::kGraph, "graph");
    // Launches of one kernel in one size are of one kind, as in every run.
    const int64_t grid = Number(launch.options, "grid", 1);
    const int64_t block = Number(launch.options, "block", 128);
    uint32_t& kernel = kernels_[{launch.symbol, grid, block}];
    if (kernel == 0) kernel = run_.Kernel(launch.symbol, grid, block);
    return kernel;
  }

  void Add(const Launch& launch) {
    const auto device = static_cast<uint32_t>(Number(launch.options, "device", 1));
    while (run_.run().devices.size() < device) {
      run_.AddDevice();
      run_.AddLane(static_cast<model::Id>(run_.run().devices.size()));
    }
    uint32_t hint = 0;
    if (launch.options.contains("said") || launch.options.contains("op")) {
      const std::string said =
          launch.options.contains("said") ? launch.options.at("said") : std::string();
      const std::string op = launch.options.contains("op") ? launch.options.at("op") : "";
      uint32_t& known = hints_[said + " " + op];
      if (known == 0) {
        const size_t colon = said.find(':');
        std::optional<int64_t> id;
        if (colon != std::string::npos) id = std::stoll(said.substr(colon + 1));
        known = run_.Annotation(said.substr(0, colon), id, op);
      }
      hint = known;
    }
    std::optional<int64_t> start;
    if (launch.options.contains("at")) start = Number(launch.options, "at", 0);
    rows_.push_back(run_.Activity(ConfigOf(launch), hint,
                                  static_cast<uint32_t>(Number(launch.options, "group", 0)), device,
                                  start));
    if (launch.options.contains("bytes")) run_.SetBytes(Number(launch.options, "bytes", -1));
    expected_.push_back(launch.expected);
  }

  RunBuilder run_;
  std::vector<std::string> names_;
  std::vector<int64_t> ids_;
  std::vector<bool> registered_;
  std::vector<std::string> texts_;
  std::vector<std::vector<model::Thunk>> thunks_;
  std::vector<Launch> launches_;
  std::map<std::string, uint32_t> hints_;
  std::map<std::tuple<std::string, int64_t, int64_t>, uint32_t> kernels_;
  std::vector<size_t> rows_;
  std::vector<std::string> expected_;
};

class GoldenSequence : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenSequence, LabelsOfALaunchSequenceEqualItsFile) {
  GoldenCase(fs::path(SourceFolder() + "/tests/correlator/golden") / (GetParam() + ".txt")).Check();
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(SourceFolder() + "/tests/correlator/golden")) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Golden, GoldenSequence, ::testing::ValuesIn(Names()),
                         [](const auto& run) { return run.param; });

}  // namespace
}  // namespace xlatrace::correlator
