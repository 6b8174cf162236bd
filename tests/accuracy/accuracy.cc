// SPDX-License-Identifier: Apache-2.0

// How right the attribution is where the truth is known:
//
//   attribution_accuracy [--json] [--show-wrong N] [--simulate] [--grade TEXT] [--damage SEEDS]
//                        [--foreign FILE[,MODULES]] NAME=FILE[,MODULES] ...
//
// Each FILE is a capture whose source names the instruction of its launches (profiler annotations,
// NVTX ranges, graph nodes). That truth is removed in grades (strip.h), and a check makes sure that
// it is gone. The remainder is attributed, and the result is compared with the truth. Figures are
// shares of the device time with a known truth. --simulate: the capture's ranges become launches
// first.
//
// --damage repeats the grades without annotations, with additional random losses (strip.h, Damage).
// It repeats them once per seed, from 1 on. --foreign adds the modules of another capture to the
// capture's own.
//
// A graph-level row is one record of many instructions. Three figures describe its accuracy. The
// overlap of its estimated shares with the true times counts as right. `names` is the right time if
// the shares of the right instructions had the right sizes. It is the smaller of the share of its
// true instructions and of their time. `bound` is the right time of the cost model when the
// instructions of each row, and their counts, are given.
//
// `false exact` is time outside all labelled instructions that has an exact label, in a source that
// labels everything XLA launches (NVTX ranges). It should be 0, too.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "correlator/attribution_check.h"
#include "correlator/correlator.h"
#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/cost/cost.h"
#include "hlo/cost/weights.h"
#include "hlo/text/text_reader.h"
#include "tests/accuracy/strip.h"

namespace xlatrace::accuracy {
namespace {

using model::Confidence;
using model::Id;

struct Score {
  int64_t right_exact = 0;
  int64_t right_inferred = 0;
  int64_t wrong_exact = 0;
  int64_t wrong_inferred = 0;
  int64_t none = 0;         // With a reason.
  int64_t unknown = 0;      // With the reason `unknown`.
  int64_t false_exact = 0;  // See above.
  int64_t names = 0;        // The figure `names` of rows, and all other right time.
  int64_t bound = 0;
  std::map<std::string, int64_t> reasons;
  std::map<std::string, int64_t> wrong;  // "truth -> answer", by time.

  int64_t told() const {
    return right_exact + right_inferred + wrong_exact + wrong_inferred + none + unknown;
  }
};

Result<correlator::LoadedModule> Load(const Capture& capture, const Stripped& stripped, Id id) {
  const StoredModule& stored = capture.modules[stripped.module_from[static_cast<size_t>(id) - 1]];
  correlator::LoadedModule loaded;
  XLATRACE_ASSIGN(loaded.hlo,
                  hlo::ReadAny(std::make_shared<const std::string>(stored.bytes.bytes)));
  if (stripped.no_program_ids) loaded.hlo.program_id = -1;
  if (!stripped.no_thunk_lists && !stored.bytes.thunk_sequence.empty()) {
    auto thunks = hlo::ReadThunks(stored.bytes.thunk_sequence,
                                  stripped.no_metadata ? "" : stored.bytes.thunk_metadata);
    if (thunks) loaded.thunks = std::move(*thunks);
  }
  return loaded;
}

// The cost model's figures for the instructions of a capture's modules.
class Costs {
 public:
  explicit Costs(const Capture& capture) : capture_(capture) {}

  double Of(const Truth& truth) {
    const auto module = static_cast<size_t>(truth.modules.front()) - 1;
    auto [it, fresh] = by_module_.try_emplace(module);
    if (fresh) Read(module, &it->second);
    const auto found = it->second.find(truth.instruction);
    return found == it->second.end() ? 0 : found->second;
  }

 private:
  void Read(size_t module, std::map<std::string, double>* costs) const {
    const auto hlo =
        hlo::ReadAny(std::make_shared<const std::string>(capture_.modules[module].bytes.bytes));
    if (!hlo) return;
    const hlo::CostModel model(
        *hlo, {.kind = hlo::CostKind::kGpu, .count_multiple_input_accesses = false});
    for (const model::Instruction& i : hlo->instructions) {
      (*costs)[std::string(i.name)] = hlo::LaunchNs(*hlo, i, model.Of(i).bytes_accessed);
    }
  }

  const Capture& capture_;
  std::map<size_t, std::map<std::string, double>> by_module_;
};

class Scoring {
 public:
  Scoring(const Capture& capture, const Stripped& stripped, const model::AttributionTables& tables,
          Costs* costs)
      : capture_(capture), stripped_(stripped), tables_(tables), costs_(*costs) {
    for (const model::LabelShareRow& share : tables.label_shares) {
      shares_[share.label_id].push_back(share);
    }
  }

  Score Run() {
    const auto& columns = stripped_.run.activities;
    for (size_t i = 0; i < columns.size(); ++i) {
      const model::Label& label = tables_.labels[tables_.label_of[i] - 1];
      if (stripped_.run.ConfigOf(i).kind == model::ActivityKind::kGraph) JudgeCosts(i);
      if (stripped_.truth[i].empty()) {
        if (label.confidence == Confidence::kExact) {
          score_.false_exact += columns.self_ns[i];
          score_.wrong[fmt::format(
              "EXACT, outside any told instruction: {} ({}): {}", stripped_.run.ConfigOf(i).symbol,
              model::Text(label.evidence),
              tables_.instructions[static_cast<size_t>(label.instruction_id) - 1].name)] +=
              columns.self_ns[i];
        }
      } else if (label.instruction_id == 0) {
        int64_t ns = 0;
        for (const TruthPart& part : stripped_.truth[i]) ns += part.ns;
        (label.reason == model::Reason::kUnknown ? score_.unknown : score_.none) += ns;
        score_.reasons[std::string(model::Text(label.reason))] += ns;
        const Truth& truth = capture_.truths[stripped_.truth[i].front().truth];
        score_.wrong[fmt::format(
            "none ({}): {}: {}/{}", model::Text(label.reason), stripped_.run.ConfigOf(i).symbol,
            capture_.run.modules[static_cast<size_t>(truth.modules.front()) - 1].name,
            truth.instruction)] += ns;
      } else if (const auto it = shares_.find(tables_.label_of[i]); it != shares_.end()) {
        JudgeShares(i, it->second);
      } else {
        for (const TruthPart& part : stripped_.truth[i]) {
          const bool right = Is(part.truth, label.instruction_id);
          Count(part, right, label, part.ns, i);
          const bool row = stripped_.run.ConfigOf(i).kind == model::ActivityKind::kGraph;
          if (right) score_.names += part.ns;
          if (right && !row) score_.bound += part.ns;
        }
      }
    }
    return std::move(score_);
  }

 private:
  bool Is(uint32_t truth_id, Id instruction_id) const {
    const Truth& truth = capture_.truths[truth_id];
    const auto& row = tables_.instructions[static_cast<size_t>(instruction_id) - 1];
    if (row.name != truth.instruction) return false;
    const auto number = static_cast<size_t>(row.module_id) - 1;
    if (number < stripped_.module_from.size()) {
      const auto module = static_cast<Id>(stripped_.module_from[number]) + 1;
      return std::find(truth.modules.begin(), truth.modules.end(), module) != truth.modules.end();
    }
    // One that no file holds has the name and number of what ran, and what HLO it has is that of
    // the module that ran.
    const model::AddedModule& added = tables_.added_modules[number - stripped_.module_from.size()];
    return std::any_of(truth.modules.begin(), truth.modules.end(), [&](Id id) {
      const model::ModuleInfo& module = capture_.run.modules[static_cast<size_t>(id) - 1];
      if (added.hlo_module_id != 0) {
        const auto hlo = static_cast<size_t>(added.hlo_module_id) - 1;
        if (static_cast<Id>(stripped_.module_from[hlo]) + 1 != id) return false;
      }
      return module.program_id == added.program_id &&
             module.name.substr(0, module.name.rfind('(')) ==
                 added.name.substr(0, added.name.rfind('('));
    });
  }

  void Count(const TruthPart& part, bool right, const model::Label& label, int64_t ns, size_t i) {
    const bool exact = label.confidence == Confidence::kExact;
    (right ? (exact ? score_.right_exact : score_.right_inferred)
           : (exact ? score_.wrong_exact : score_.wrong_inferred)) += ns;
    if (right && exact) return;
    const Truth& truth = capture_.truths[part.truth];
    const auto& row = tables_.instructions[static_cast<size_t>(label.instruction_id) - 1];
    score_.wrong[fmt::format(
        "{} {} ({}): {}/{} taken for {}/{}",
        right   ? "inferred, right,"
        : exact ? "EXACT"
                : "inferred",
        stripped_.run.ConfigOf(i).symbol, model::Text(label.evidence),
        capture_.run.modules[static_cast<size_t>(truth.modules.front()) - 1].name,
        truth.instruction, NameOf(row.module_id), row.name)] += ns;
  }

  const std::string& NameOf(Id module_id) const {
    const auto number = static_cast<size_t>(module_id) - 1;
    return number < stripped_.run.modules.size()
               ? stripped_.run.modules[number].name
               : tables_.added_modules[number - stripped_.run.modules.size()].name;
  }

  // Nothing is known but which instructions ran how often: a library's call is one, however many
  // kernels it has.
  void JudgeCosts(size_t i) {
    std::map<uint32_t, double> weights;
    std::map<uint32_t, int64_t> by_truth;
    int64_t told = 0;
    double total = 0;
    uint32_t before = UINT32_MAX;
    for (const TruthPart& part : stripped_.truth[i]) {
      told += part.ns;
      by_truth[part.truth] += part.ns;
      if (part.truth == before) continue;
      before = part.truth;
      const double cost = costs_.Of(capture_.truths[part.truth]);
      weights[part.truth] += cost;
      total += cost;
    }
    if (total <= 0) return;
    for (const auto& [truth, ns] : by_truth) {
      const double share = weights[truth] / total * static_cast<double>(told);
      score_.bound += std::min(ns, static_cast<int64_t>(share));
    }
  }

  // The overlap of estimate and truth is right.
  void JudgeShares(size_t i, const std::vector<model::LabelShareRow>& shares) {
    const model::Label& label = tables_.labels[tables_.label_of[i] - 1];
    int64_t told = 0;
    for (const TruthPart& part : stripped_.truth[i]) told += part.ns;
    std::map<uint32_t, int64_t> by_truth;
    for (const TruthPart& part : stripped_.truth[i]) by_truth[part.truth] += part.ns;
    int64_t held = 0;   // Share of what the row really holds.
    int64_t named = 0;  // Time of what has a share.
    for (const auto& [truth, ns] : by_truth) {
      int64_t estimate = 0;
      for (const model::LabelShareRow& share : shares) {
        if (Is(truth, share.instruction_id)) {
          estimate += static_cast<int64_t>(static_cast<double>(told) * 1e-6 *
                                           static_cast<double>(share.share_ppm));
        }
      }
      held += estimate;
      if (estimate > 0) named += ns;
      const int64_t right = std::min(ns, estimate);
      Count({truth, ns}, true, label, right, i);
      Count({truth, ns}, false, label, ns - right, i);
    }
    score_.names += std::min(held, named);
  }

  const Capture& capture_;
  const Stripped& stripped_;
  const model::AttributionTables& tables_;
  Costs& costs_;
  std::map<Id, std::vector<model::LabelShareRow>> shares_;
  Score score_;
};

double Pct(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

struct Options {
  bool json = false;
  bool simulate = false;
  size_t show_wrong = 0;
  uint64_t seeds = 0;
  std::string foreign;
  std::string grade;  // Only those that hold this.
  std::vector<std::string> captures;
};

// The damages tried on top of a grade: none, and those of --damage.
std::vector<std::optional<Damage>> Damages(Grade grade, uint64_t seeds) {
  std::vector<std::optional<Damage>> damages = {std::nullopt};
  const bool tried = grade == Grade::kNoInstruction || grade == Grade::kNoAnnotations ||
                     grade == Grade::kNoMetadata || grade == Grade::kNoThunkLists ||
                     grade == Grade::kNoLaunchCalls;
  if (!tried) return damages;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    damages.push_back(Damage{.seed = seed, .lost_per_1000 = 10});
    damages.push_back(Damage{.seed = seed, .lost_per_1000 = 50});
    damages.push_back(Damage{.seed = seed, .bursts = 3});
    damages.push_back(Damage{.seed = seed, .window = true});
    damages.push_back(Damage{.seed = seed, .modules = true});
    damages.push_back(Damage{.seed = seed, .lost_per_1000 = 10, .window = true, .modules = true});
  }
  return damages;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  int Run() {
    if (!options_.json) {
      fmt::print(
          "| capture | taken away | right, exact | right, inferred | wrong, exact | wrong, "
          "inferred | none | unknown | false exact | names | bound |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|\n");
    }
    for (const std::string& argument : options_.captures) {
      const size_t equals = argument.find('=');
      if (equals == std::string::npos) {
        fmt::print(stderr, "attribution_accuracy: '{}' is not NAME=FILE\n", argument);
        return 2;
      }
      auto capture = Read(argument.substr(0, equals), argument.substr(equals + 1));
      if (capture && options_.simulate) {
        if (Status simulated = SimulateLaunches(&*capture); !simulated) {
          capture = tl::unexpected(simulated.error());
        }
      }
      if (capture && !options_.foreign.empty()) {
        if (auto other = Read("foreign", options_.foreign); other) {
          AddForeignModules(*other, &*capture);
        } else {
          capture = tl::unexpected(other.error());
        }
      }
      if (!capture) {
        fmt::print(stderr, "attribution_accuracy: {}\n", capture.error().message);
        return 1;
      }
      Costs costs(*capture);
      for (const Grade grade : kAllGrades) {
        if (Text(grade).find(options_.grade) == std::string_view::npos) continue;
        if (!Applies(*capture, grade)) continue;
        for (const std::optional<Damage>& damage : Damages(grade, options_.seeds)) {
          if (!Measure(*capture, grade, damage, &costs)) return 1;
        }
      }
    }
    if (options_.json) fmt::print("{}\n", rows_.dump(1));
    return clean_ ? 0 : 1;
  }

 private:
  static Result<Capture> Read(const std::string& name, const std::string& files) {
    const size_t comma = files.find(',');
    return ReadCapture(name, files.substr(0, comma),
                       comma == std::string::npos ? "" : files.substr(comma + 1));
  }

  // False when the capture cannot be attributed at all.
  bool Measure(const Capture& capture, Grade grade, const std::optional<Damage>& damage,
               Costs* costs) {
    Stripped stripped = Strip(capture, grade);
    if (damage) Apply(*damage, &stripped);
    const std::string taken = std::string(Text(grade)) + (damage ? Text(*damage) : "");
    for (const std::string& leak : Leaks(stripped, grade)) {
      fmt::print(stderr, "attribution_accuracy: {}, {}: {}\n", capture.name, taken, leak);
      clean_ = false;
    }
    const auto tables =
        correlator::Attribute(stripped.run, [&](Id id) { return Load(capture, stripped, id); });
    if (!tables) {
      fmt::print(stderr, "attribution_accuracy: {}\n", tables.error().message);
      return false;
    }
    for (const std::string& sentence : correlator::CheckAttribution(stripped.run, *tables)) {
      fmt::print(stderr, "attribution_accuracy: {}, {}: {}\n", capture.name, taken, sentence);
      clean_ = false;
    }
    Score score = Scoring(capture, stripped, *tables, costs).Run();
    const bool ranges = std::any_of(
        capture.run.hints.begin(), capture.run.hints.end(),
        [](const model::Hint& h) { return h.evidence != model::Evidence::kAnnotation; });
    if (!ranges) score.false_exact = 0;  // Such a source does not give the purpose of copies.
    Print(capture.name, taken, score);
    return true;
  }

  void Print(const std::string& name, const std::string& taken, const Score& score) {
    const int64_t told = score.told();
    if (options_.json) {
      rows_.push_back({{"capture", name},
                       {"grade", taken},
                       {"told_ns", told},
                       {"right_exact_ns", score.right_exact},
                       {"right_inferred_ns", score.right_inferred},
                       {"wrong_exact_ns", score.wrong_exact},
                       {"wrong_inferred_ns", score.wrong_inferred},
                       {"none_ns", score.none},
                       {"unknown_ns", score.unknown},
                       {"false_exact_ns", score.false_exact},
                       {"names_ns", score.names},
                       {"bound_ns", score.bound},
                       {"reasons", score.reasons}});
      return;
    }
    fmt::print(
        "| {} | {} | {:.2f} % | {:.2f} % | {:.2f} % | {:.2f} % | {:.2f} % | {:.2f} % "
        "| {:.2f} % | {:.2f} % | {:.2f} % |\n",
        name, taken, Pct(score.right_exact, told), Pct(score.right_inferred, told),
        Pct(score.wrong_exact, told), Pct(score.wrong_inferred, told), Pct(score.none, told),
        Pct(score.unknown, told), Pct(score.false_exact, told), Pct(score.names, told),
        Pct(score.bound, told));
    std::vector<std::pair<int64_t, std::string>> wrong;
    for (const auto& [text, ns] : score.wrong) wrong.emplace_back(ns, text);
    for (const auto& [text, ns] : score.reasons) wrong.emplace_back(ns, "none: " + text);
    std::sort(wrong.rbegin(), wrong.rend());
    std::fflush(stdout);  // Errors follow their row if both go to one place.
    for (size_t k = 0; k < std::min(options_.show_wrong, wrong.size()); ++k) {
      fmt::print(stderr, "    {:.2f} % {}\n", Pct(wrong[k].first, told), wrong[k].second);
    }
  }

  const Options& options_;
  nlohmann::json rows_ = nlohmann::json::array();
  bool clean_ = true;
};

}  // namespace
}  // namespace xlatrace::accuracy

int main(int argc, char** argv) {
  xlatrace::accuracy::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--simulate") {
      options.simulate = true;
    } else if (argument == "--grade" && i + 1 < argc) {
      options.grade = argv[++i];
    } else if (argument == "--show-wrong" && i + 1 < argc) {
      options.show_wrong = std::strtoul(argv[++i], nullptr, 10);
    } else if (argument == "--damage" && i + 1 < argc) {
      options.seeds = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--foreign" && i + 1 < argc) {
      options.foreign = argv[++i];
    } else {
      options.captures.push_back(argument);
    }
  }
  return xlatrace::accuracy::Bench(options).Run();
}
