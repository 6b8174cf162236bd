// SPDX-License-Identifier: Apache-2.0

// Hand-labelled op_names of real programs (shared data, `opnames`), judged twice: with the dumps
// they come from, and by the names alone.
//
// Labels `collective` and `data` are no phases and are left out; `mixed(a|b)` is right when one of
// them, or unknown, is answered. A name that occurs several times counts by the majority of its
// instructions.

#include <archive.h>
#include <archive_entry.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/analysis.h"
#include "analysis/module_labels.h"
#include "hlo/text/text_reader.h"
#include "tests/analysis/run_builder.h"
#include "tests/shared_data.h"

namespace xlatrace::analysis {
namespace {

namespace fs = std::filesystem;

struct LabelledName {
  std::string op_name, op_type, label, layer, source;
};

std::vector<LabelledName> ReadLabels() {
  std::vector<LabelledName> names;
  std::ifstream file(SharedData() / "opnames" / "opnames.tsv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::stringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
    if (fields.size() < 5) continue;
    std::string op_name;
    for (const char c : fields[0]) {
      if (c != '\\') op_name += c;
    }
    names.push_back({op_name, fields[1], fields[2], fields[3], fields[4]});
  }
  return names;
}

bool IsRight(const std::string& label, const std::string& answer) {
  const auto same = [&](const std::string& one) {
    return one == answer || (one == "remat" && answer == "recompute");
  };
  if (!label.starts_with("mixed(")) return same(label);
  std::stringstream options(label.substr(6, label.size() - 7));
  for (std::string option; std::getline(options, option, '|');) {
    if (same(option)) return true;
  }
  return answer == "unknown";
}

bool IsPhase(const LabelledName& name) {
  return name.label != "collective" && name.label != "data";
}

// The layer of optimizer work is the parameter's here, not the name's; metrics have none.
bool HasLayerToCompare(const LabelledName& name) {
  return name.label != "optimizer" && name.label != "collective" && name.layer != "metrics" &&
         name.layer.find(' ') == std::string::npos;
}

// "JAX 0.10.2 flax 0.12.8 linen scan+remat" -> folders of the dump archive that it comes from.
struct Origin {
  std::string archive;
  std::vector<std::string> folders;
};

Origin OriginOf(const std::string& source) {
  std::vector<std::string> words;
  std::stringstream stream(source);
  for (std::string word; stream >> word;) words.push_back(word);
  if (words[0] == "JAX") {
    const bool scan = source.find("scan+remat") != std::string::npos;
    return {"jax-eras/jax-" + words[1] + "-dumps.tar.xz",
            {scan ? "linen_remat_scan" : words.back()}};
  }
  static const std::map<std::string, std::vector<std::string>> kFolders = {
      {"AdamW+global_clipnorm+L2", {"x_adamw"}},
      {"LSTM", {"x_lstm"}},
      {"autocluster", {"auto_conv", "auto_tfm"}},
      {"fit(jit_compile)", {"fit_conv", "fit_tfm"}},
      {"tf.function(jit_compile)", {"gt_conv", "gt_tfm"}},
      {"flow+custom_gradient", {"x_ctrl"}},
      {"recompute_grad", {"x_remat"}},
      {"tf.gradients", {"x_v1grad"}}};
  const auto at = kFolders.find(words.back());
  if (words[1] != "2.21.0" || at == kFolders.end()) return {};
  return {"tf-cpu/tf-2.21.0-keras-3.15.1-dumps.tar.xz", at->second};
}

using Votes = std::map<std::string, int>;

std::string Winner(const Votes& votes) {
  std::string winner;
  int most = 0;
  for (const auto& [answer, count] : votes) {
    if (count > most) winner = answer;
    most = std::max(most, count);
  }
  return winner;
}

struct Answers {
  Votes phases;
  Votes layers;
};

// Answers for every op_name of every folder of a dump archive.
using ArchiveAnswers = std::map<std::string, std::map<std::string, Answers>>;

ArchiveAnswers CheckArchive(const fs::path& path, const std::string& file_ending) {
  ArchiveAnswers answers;
  archive* reader = archive_read_new();
  archive_read_support_filter_all(reader);
  archive_read_support_format_tar(reader);
  EXPECT_EQ(archive_read_open_filename(reader, path.c_str(), 1 << 16), ARCHIVE_OK) << path;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
    const std::string name = archive_entry_pathname(entry);
    if (!name.ends_with(file_ending)) continue;
    auto bytes = std::make_shared<std::string>(static_cast<size_t>(archive_entry_size(entry)), ' ');
    EXPECT_EQ(archive_read_data(reader, bytes->data(), bytes->size()),
              static_cast<la_ssize_t>(bytes->size()));
    const auto module = hlo::ReadAny(bytes);
    EXPECT_TRUE(module.has_value()) << name << ": " << (module ? "" : module.error().message);
    if (!module) continue;
    const ModuleLabels labels = LabelModule(*module);
    const std::string folder = fs::path(name).parent_path().filename();
    for (uint32_t i = 0; i < module->instructions.size(); ++i) {
      // A fusion carries the name of its root, which is judged itself.
      if (module->instructions[i].opcode == "fusion") continue;
      const std::string op_name(module->instructions[i].metadata.op_name);
      Answers& of_name = answers[folder][op_name];
      ++of_name.phases[std::string(model::Text(labels.instructions[i].phase))];
      ++of_name.layers[labels.LayerOf(i)];
    }
  }
  archive_read_free(reader);
  return answers;
}

struct Score {
  int right = 0;
  int all = 0;

  void Count(bool is_right, const std::string& what) {
    ++all;
    right += is_right ? 1 : 0;
    if (!is_right) wrong += "\n  " + what;
  }
  double Share() const { return all == 0 ? 0 : static_cast<double>(right) / all; }
  std::string wrong;
};

void ScoreDumps(const std::string& file_ending, Score& phases, Score& layers) {
  std::map<std::string, ArchiveAnswers> archives;
  for (const LabelledName& name : ReadLabels()) {
    const Origin origin = OriginOf(name.source);
    const fs::path archive = SharedData() / "own" / origin.archive;
    if (origin.archive.empty() || !fs::exists(archive)) continue;
    if (!archives.contains(origin.archive)) {
      archives[origin.archive] = CheckArchive(archive, file_ending);
    }
    Answers answers;
    for (const std::string& folder : origin.folders) {
      const auto& of_folder = archives[origin.archive][folder];
      const auto at = of_folder.find(name.op_name);
      if (at == of_folder.end()) continue;
      for (const auto& [answer, count] : at->second.phases) answers.phases[answer] += count;
      for (const auto& [answer, count] : at->second.layers) answers.layers[answer] += count;
    }
    if (answers.phases.empty()) continue;  // Optimised away, or from a release not at hand.
    const std::string what = name.source + " " + name.op_name;
    const std::string phase = Winner(answers.phases);
    if (IsPhase(name)) phases.Count(IsRight(name.label, phase), what + ": " + phase);
    const std::string layer = Winner(answers.layers);
    if (HasLayerToCompare(name)) layers.Count(layer == name.layer, what + ": " + layer);
  }
}

void Print(const Score& phases, const Score& layers) {
  std::cout << "phases " << phases.right << " of " << phases.all << ", layers " << layers.right
            << " of " << layers.all << phases.wrong << layers.wrong << "\n";
}

TEST(LabelledNames, LabelledNamesMatchModulesAfterOptimisation) {
  XLATRACE_SHARED_OR_SKIP(labels, "opnames/opnames.tsv");
  Score phases;
  Score layers;
  ScoreDumps("cpu_after_optimizations.hlo.pb", phases, layers);
  Print(phases, layers);
  ASSERT_GT(phases.all, 120);
  EXPECT_GE(phases.Share(), 0.96) << phases.wrong;  // Measured: 136 of 138.
  EXPECT_GE(layers.Share(), 0.94) << layers.wrong;  // Measured: 114 of 118.
}

TEST(LabelledNames, LabelledNamesMatchModulesBeforeOptimisation) {
  XLATRACE_SHARED_OR_SKIP(labels, "opnames/opnames.tsv");
  Score phases;
  Score layers;
  ScoreDumps("before_optimizations.txt", phases, layers);
  Print(phases, layers);
  ASSERT_GT(phases.all, 140);
  EXPECT_GE(phases.Share(), 0.96) << phases.wrong;  // Measured: 154 of 156.
  EXPECT_GE(layers.Share(), 0.94) << layers.wrong;  // Measured: 129 of 134.
}

TEST(LabelledNames, LabelledNamesMatchWithoutModules) {
  XLATRACE_SHARED_OR_SKIP(labels, "opnames/opnames.tsv");
  const std::vector<LabelledName> names = ReadLabels();
  ASSERT_FALSE(names.empty());
  std::map<std::string, std::vector<LabelledName>> by_source;
  for (const LabelledName& name : names) by_source[name.source].push_back(name);
  Score phases;
  for (const auto& [source, of_source] : by_source) {
    RunBuilder b;
    const auto module = b.AddModule();
    if (source.starts_with("TF")) b.run.modules[0].name = "a_inference_step_1__.1";
    for (const LabelledName& name : of_source) {
      b.AddInstruction(module, model::Phase::kUnknown);
      b.attribution.instructions.back().op_name = name.op_name;
      b.attribution.instructions.back().op_type = name.op_type;
    }
    Analyze(b.run, b.attribution, [](model::Id) { return MakeError("none"); });
    for (size_t i = 0; i < of_source.size(); ++i) {
      if (!IsPhase(of_source[i])) continue;
      const std::string phase(model::Text(b.attribution.instructions[i].phase));
      phases.Count(IsRight(of_source[i].label, phase),
                   source + " " + of_source[i].op_name + ": " + phase);
    }
  }
  Print(phases, {});
  EXPECT_GE(phases.Share(), 0.75) << phases.wrong;
}

}  // namespace
}  // namespace xlatrace::analysis
