// SPDX-License-Identifier: Apache-2.0
#include "tools/what_if_change.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/findings/evidence_roles.h"
#include "analysis/merged_recompute.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "hlo/shape.h"
#include "model/words.h"

namespace xlatrace::tools {
namespace {

namespace replay = analysis::replay;

bool IsHandle(std::string_view word, char letter) {
  return word.size() > 1 && word.front() == letter &&
         std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

constexpr double kMaxFactor = 1e6;  // Two hours times this still fit 64 bits of nanoseconds.

// "0.5x", "0.5", "50%".
std::optional<double> FactorOf(std::string_view word) {
  double scale = 1;
  if (word.ends_with('x') || word.ends_with('X')) {
    word.remove_suffix(1);
  } else if (word.ends_with('%')) {
    word.remove_suffix(1);
    scale = 0.01;
  }
  double value = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = end == word.data() + word.size() && status == std::errc();
  if (!whole || !std::isfinite(value) || value < 0 || value > kMaxFactor) {
    return std::nullopt;
  }
  return value * scale;
}

class Reader {
 public:
  Reader(store::RunDb& db, const LoadedRun& loaded, const WhatIfWords& words)
      : db_(db), loaded_(loaded), words_(words) {}

  Result<WhatIfChange> Read() {
    for (const std::string& word : words_.ops) {
      XLATRACE_ASSIGN(const auto split, Split("--op", word));
      XLATRACE_TRY(AddOp(split.first, split.second));
    }
    for (const std::string& word : words_.kernels) {
      XLATRACE_ASSIGN(const auto split, Split("--kernel", word));
      XLATRACE_TRY(AddKernel(split.first, split.second));
    }
    for (const std::string& word : words_.without) {
      XLATRACE_TRY(IsHandle(word, 'k') ? AddKernel(word, 0) : AddOp(word, 0));
    }
    if (!words_.gaps.empty()) XLATRACE_TRY(AddGaps());
    if (!words_.collective_bandwidth.empty()) XLATRACE_TRY(AddBandwidth());
    if (!words_.copies.empty()) {
      out_.change.copies =
          words_.copies == "gone" ? replay::CopyChange::kGone : replay::CopyChange::kHidden;
      out_.sentences.push_back("copies " + words_.copies);
    }
    if (words_.early_collectives) {
      out_.change.collectives_early = true;
      out_.sentences.emplace_back("collectives begin when their operands are there");
    }
    if (words_.one_launch) {
      out_.change.one_launch = true;
      out_.sentences.emplace_back("one launch per execution");
    }
    if (words_.no_recompute) XLATRACE_TRY(AddRecompute());
    return std::move(out_);
  }

 private:
  std::string Run() const { return ShellWord(db_.path()); }

  Result<std::pair<std::string, double>> Split(std::string_view option, const std::string& word) {
    const size_t equals = word.rfind('=');
    const auto factor =
        equals == word.npos ? std::nullopt : FactorOf(std::string_view(word).substr(equals + 1));
    if (!factor || equals == 0) {
      const std::string name = word.substr(0, std::min(equals, word.size()));
      return MakeError(
          fmt::format("{} '{}': what is it to take? A name, '=' and a factor of 0 to {:.0f} are "
                      "needed",
                      option, word, kMaxFactor),
          fmt::format("xlatrace what-if {} {} {}=0.5x", Run(), option,
                      name.empty() ? option == "--kernel" ? "k1" : "o1" : ShellWord(name)),
          ErrorCode::kUsage);
    }
    return std::pair(word.substr(0, equals), *factor);
  }

  static std::string Takes(double factor) {
    return factor == 0 ? "is not there" : fmt::format("takes {:.4g} times as long", factor);
  }

  Status AddOp(const std::string& name, double factor) {
    if (name.starts_with("phase:") || name == "recompute") {
      const auto phase = model::PhaseFromText(name == "recompute" ? name : name.substr(6));
      if (!phase) return Unknown("phase", name.substr(6), "summary", "--by phase");
      out_.change.phases[*phase] = factor;
      out_.sentences.push_back(fmt::format("phase {} {}", model::Text(*phase), Takes(factor)));
      return {};
    }
    if (name.starts_with("kind:")) {
      const auto kind = model::OpKindFromText(name.substr(5));
      if (!kind) return Unknown("kind of op", name.substr(5), "summary", "--by op_kind");
      out_.change.op_kinds[*kind] = factor;
      out_.sentences.push_back(fmt::format("every {} {}", model::Text(*kind), Takes(factor)));
      return {};
    }
    if (IsHandle(name, 'o')) {
      XLATRACE_ASSIGN(const store::Table row,
                      db_.Select("SELECT t.instruction_id AS id, i.name FROM x_op_time t JOIN "
                                 "x_instruction i USING (instruction_id) WHERE t.op_id = ?1",
                                 {store::Cell(std::strtoll(name.c_str() + 1, nullptr, 10))}));
      if (row.rows.empty()) return Unknown("op", name, "summary", "--by op");
      out_.change.instructions[static_cast<uint32_t>(row.Int(0, "id"))] = factor;
      out_.sentences.push_back(fmt::format("{} ({}) {}", name, row.Text(0, "name"), Takes(factor)));
      return {};
    }
    return AddInstruction(name, factor);
  }

  // Only instructions that ran. All modules with an instruction of that name are included.
  Status AddInstruction(const std::string& name, double factor) {
    const size_t slash = name.find('/');
    const std::string module = slash == name.npos ? "" : name.substr(0, slash);
    std::string own = slash == name.npos ? name : name.substr(slash + 1);
    if (own.starts_with('%')) own.erase(0, 1);
    XLATRACE_ASSIGN(
        const store::Table rows,
        db_.Select("SELECT i.instruction_id AS id, m.name AS module FROM x_instruction i "
                   "JOIN x_module m USING (module_id) WHERE i.name = ?1 AND EXISTS (SELECT 1 "
                   "FROM x_label b WHERE b.instruction_id = i.instruction_id)",
                   {store::Cell(own)}));
    bool found = false;
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      if (!module.empty() && rows.Text(i, "module") != module) continue;
      out_.change.instructions[static_cast<uint32_t>(rows.Int(i, "id"))] = factor;
      found = true;
    }
    if (!found) {
      // A kernel's name will do as well.
      if (factor == 0 || slash == name.npos) {
        if (Status kernel = AddKernel(name, factor)) return {};
      }
      return Unknown("op that ran", name, "summary", "--by op");
    }
    out_.sentences.push_back(fmt::format("{} {}", name, Takes(factor)));
    return {};
  }

  Status AddKernel(const std::string& name, double factor) {
    const bool handle = IsHandle(name, 'k');
    XLATRACE_ASSIGN(const std::vector<Kernel> kernels, Kernels());
    std::string said;
    if (handle) {
      const int64_t number = std::strtoll(name.c_str() + 1, nullptr, 10);
      if (number < 1 || static_cast<size_t>(number) > kernels.size()) {
        return Unknown("kernel", name, "summary", "--by kernel");
      }
      const Kernel& kernel = kernels[static_cast<size_t>(number - 1)];
      out_.change.kernels[kernel.symbol] = factor;
      said = fmt::format("{} ({})", name, kernel.name);
    } else {
      for (const Kernel& kernel : kernels) {
        if (kernel.symbol == name || kernel.name == name) {
          out_.change.kernels[kernel.symbol] = factor;
          said = "kernel " + name;
        }
      }
      if (said.empty()) return Unknown("kernel", name, "summary", "--by kernel");
    }
    out_.sentences.push_back(fmt::format("{} {}", said, Takes(factor)));
    return {};
  }

  struct Kernel {
    std::string symbol, name;
    int64_t self_ns = 0;
  };

  // In the order of the view `kernel`, so that the handles are its own. The view itself would sort
  // all launches, which takes longer than the replay.
  Result<std::vector<Kernel>> Kernels() {
    XLATRACE_ASSIGN(const store::Table finest,
                    db_.Select("SELECT value FROM run_info WHERE key = 'granularity'", {}));
    const std::string word = finest.rows.empty() ? "" : finest.Text(0, "value");
    const model::ActivityKind kind = word == "kernel" ? model::ActivityKind::kKernel
                                     : word == "op"   ? model::ActivityKind::kOp
                                                      : model::ActivityKind::kRange;
    const model::RunTables& run = loaded_.run;
    std::vector<int64_t> self_ns(run.configs.size() + 1, -1);  // -1: never launched.
    for (size_t i = 0; i < run.activities.size(); ++i) {
      int64_t& sum = self_ns[run.activities.config[i]];
      sum = std::max<int64_t>(sum, 0) + run.activities.self_ns[i];
    }
    std::unordered_map<std::string_view, size_t> place;
    std::vector<Kernel> kernels;
    for (size_t c = 0; c < run.configs.size(); ++c) {
      const model::LaunchConfig& config = run.configs[c];
      if (config.kind != kind || self_ns[c + 1] < 0) continue;
      const auto [known, is_new] = place.emplace(config.symbol, kernels.size());
      if (is_new) kernels.push_back({config.symbol, config.name, 0});
      kernels[known->second].self_ns += self_ns[c + 1];
    }
    std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
      return a.self_ns != b.self_ns ? a.self_ns > b.self_ns : a.symbol < b.symbol;
    });
    return kernels;
  }

  Status AddGaps() {
    const auto causes = model::Texts<model::GapCause>();
    for (size_t c = 0; c < causes.size(); ++c) {
      if (words_.gaps == "all" || words_.gaps == causes[c]) {
        out_.change.gaps.push_back(static_cast<model::GapCause>(c));
      }
    }
    if (out_.change.gaps.empty()) {
      return MakeError(fmt::format("--no-gaps: there is no cause '{}'", words_.gaps),
                       fmt::format("all, or one of {}", fmt::join(causes, ", ")),
                       ErrorCode::kUsage);
    }
    out_.sentences.push_back(words_.gaps == "all"
                                 ? "the device never waits"
                                 : fmt::format("no gaps of cause {}", words_.gaps));
    return {};
  }

  Status AddBandwidth() {
    const auto factor = FactorOf(words_.collective_bandwidth);
    // The inverse is what collectives take, so it has the same bound.
    if (!factor || *factor < 1 / kMaxFactor) {
      return MakeError(fmt::format("--collective-bandwidth '{}' is no factor of {} to {:.0f}",
                                   words_.collective_bandwidth, 1 / kMaxFactor, kMaxFactor),
                       fmt::format("xlatrace what-if {} --collective-bandwidth 2x", Run()),
                       ErrorCode::kUsage);
    }
    out_.change.collective_bandwidth = *factor;
    out_.sentences.push_back(fmt::format("collectives are {:.4g} times as fast", *factor));
    return {};
  }

  // A value that is not recomputed must be kept, so memory grows by at most the bytes of its
  // results.
  Status AddRecompute() {
    const std::vector<model::InstructionRow>& rows = loaded_.attribution.instructions;
    std::vector<bool> ran(rows.size() + 1, false);
    for (const model::Label& label : loaded_.attribution.labels) {
      ran[static_cast<size_t>(label.instruction_id)] = true;
    }
    const std::vector<bool> merged = analysis::FindMergedRecompute(rows);
    int64_t bytes = 0, once = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].phase != model::Phase::kRecompute) continue;
      if (merged[i]) {
        once += ran[i + 1] ? 1 : 0;
        continue;
      }
      out_.change.instructions[static_cast<uint32_t>(i + 1)] = 0;
      if (ran[i + 1]) bytes += std::max<int64_t>(0, hlo::ByteSize(rows[i].shape));
    }
    XLATRACE_TRY(ReadMemory());
    out_.sentences.push_back(
        out_.memory
            ? fmt::format("nothing is recomputed; memory of the program: {} now, at most {} then",
                          Bytes(static_cast<double>(out_.memory->now_bytes)),
                          Bytes(static_cast<double>(out_.memory->at_most_bytes)))
            : fmt::format("nothing is recomputed; at most {} more are kept",
                          Bytes(static_cast<double>(bytes))));
    if (once > 0) {
      out_.sentences.push_back(fmt::format(
          "{} ops that are named as recomputation stay: XLA computes them once, for forward too",
          once));
    }
    return {};
  }

  // The memory figures of the finding, because its rule has read the module's schedule.
  Status ReadMemory() {
    std::optional<int64_t> more;
    MemoryChange memory;
    XLATRACE_TRY(db_.ForEach(
        "SELECT evidence FROM finding WHERE id = 'recompute'", [&](const store::Statement& row) {
          const auto evidence = nlohmann::json::parse(row.Text(0), nullptr, false);
          if (!evidence.is_array()) return true;
          for (const auto& item : evidence) {
            if (!item.is_object()) continue;
            const auto role = item.find("role"), value = item.find("value");
            if (role == item.end() || !role->is_string() || value == item.end() ||
                !value->is_number_integer()) {
              continue;
            }
            namespace findings = analysis::findings;
            const auto what = role->get<std::string>();
            if (what == findings::kRoleMemoryMore) more = value->get<int64_t>();
            const bool assigned = what == findings::kRoleMemoryAssigned;
            memory.from_assignment = memory.from_assignment || assigned;
            if (assigned || what == findings::kRoleMemoryByRanges) {
              memory.now_bytes = value->get<int64_t>();
            }
          }
          return true;
        }));
    if (!more || *more < 0 || memory.now_bytes <= 0) return {};
    if (__builtin_add_overflow(memory.now_bytes, *more, &memory.at_most_bytes)) return {};
    out_.memory = memory;
    return {};
  }

  tl::unexpected<Error> Unknown(std::string_view what, std::string_view name,
                                std::string_view command, std::string_view option) const {
    return MakeError(fmt::format("there is no {} '{}' in '{}'", what, name, db_.path()),
                     fmt::format("xlatrace {} {} {}", command, Run(), option), ErrorCode::kFailed);
  }

  store::RunDb& db_;
  const LoadedRun& loaded_;
  const WhatIfWords& words_;
  WhatIfChange out_;
};

}  // namespace

Result<WhatIfChange> ReadChange(store::RunDb& db, const LoadedRun& loaded,
                                const WhatIfWords& words) {
  return Reader(db, loaded, words).Read();
}

}  // namespace xlatrace::tools
