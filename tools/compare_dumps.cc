// SPDX-License-Identifier: Apache-2.0
#include "tools/compare_dumps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "compare/instruction_match.h"
#include "compare/op_identity.h"
#include "dumps/dump_dir.h"
#include "hlo/cost/cost.h"
#include "hlo/cost/weights.h"
#include "hlo/module_origin.h"
#include "hlo/module_summary.h"

namespace xlatrace::tools {
namespace {

using compare::ProgramMatch;
using compare::UnitGroup;
using model::HloModule;
using Json = nlohmann::ordered_json;

Result<std::vector<HloModule>> ReadModules(const std::string& path, const std::string& wanted) {
  std::vector<HloModule> modules;
  if (!IsDirectory(path)) {
    XLATRACE_ASSIGN(HloModule module, dumps::ReadHloFile(path));
    modules.push_back(std::move(module));
    return modules;
  }
  XLATRACE_ASSIGN(const dumps::DumpDir dir, dumps::ListDumpDir(path));
  Error first;
  for (const dumps::DumpModule& listed : dir.modules) {
    if (!wanted.empty() && listed.name.find(wanted) == std::string::npos) continue;
    auto loaded = dumps::LoadDumpModule(listed);
    if (!loaded) {
      if (first.message.empty()) first = std::move(loaded).error();
      continue;
    }
    modules.push_back(std::move(loaded->module));
  }
  if (!modules.empty()) return modules;
  if (!first.message.empty()) return tl::unexpected<Error>(std::move(first));
  return MakeError(fmt::format("no module{} in '{}'",
                               wanted.empty() ? "" : fmt::format(" named '{}'", wanted), path),
                   fmt::format("xlatrace modules {}", ShellWord(path)));
}

struct Pair {
  const HloModule* base;
  const HloModule* now;
  ProgramMatch match;
};

// Modules of one function, those with most in common first.
std::vector<Pair> PairUp(const std::vector<HloModule>& base, const std::vector<HloModule>& now) {
  std::vector<Pair> pairs;
  std::map<std::string, std::pair<std::vector<const HloModule*>, std::vector<const HloModule*>>>
      functions;
  const bool single = base.size() == 1 && now.size() == 1;
  const auto key = [&](const HloModule& module) {
    return single ? std::string("one") : hlo::OriginOfModule(module.name).function;
  };
  for (const HloModule& module : base) functions[key(module)].first.push_back(&module);
  for (const HloModule& module : now) functions[key(module)].second.push_back(&module);
  for (const auto& [name, sides] : functions) {
    // If many programs have one name, pairs of similar size are compared first, until both limits
    // are reached.
    constexpr size_t kMinTriedCount = 16;
    constexpr size_t kMaxTriedInstructions = 500'000;
    std::vector<std::pair<const HloModule*, const HloModule*>> candidates;
    for (const HloModule* b : sides.first) {
      for (const HloModule* n : sides.second) candidates.emplace_back(b, n);
    }
    const auto distance = [](const auto& pair) {
      return std::abs(static_cast<int64_t>(pair.first->instructions.size()) -
                      static_cast<int64_t>(pair.second->instructions.size()));
    };
    // Ties are ordered by content, so that swapping the folders only swaps the sides of each pair.
    const auto tie = [](const HloModule* x, const HloModule* y) {
      const auto content = [](const HloModule* module) {
        return std::tuple(module->content_hash, std::string_view(module->name));
      };
      return content(x) < content(y) ? std::pair(content(x), content(y))
                                     : std::pair(content(y), content(x));
    };
    std::stable_sort(candidates.begin(), candidates.end(), [&](const auto& x, const auto& y) {
      if (distance(x) != distance(y)) return distance(x) < distance(y);
      return tie(x.first, x.second) < tie(y.first, y.second);
    });
    std::vector<Pair> tried;
    size_t instructions = 0;
    for (const auto& [b, n] : candidates) {
      if (tried.size() >= kMinTriedCount && instructions > kMaxTriedInstructions) break;
      instructions += b->instructions.size() + n->instructions.size();
      tried.push_back({b, n, compare::MatchPrograms(*b, *n)});
    }
    std::stable_sort(tried.begin(), tried.end(), [&](const Pair& x, const Pair& y) {
      // The same program first: others may have everything in common with it, too.
      const auto same = [](const Pair& pair) {
        return pair.base->content_hash == pair.now->content_hash;
      };
      if (same(x) != same(y)) return same(x);
      if (x.match.similarity != y.match.similarity) {
        return x.match.similarity > y.match.similarity;
      }
      return tie(x.base, x.now) < tie(y.base, y.now);
    });
    std::vector<const HloModule*> taken;
    for (Pair& pair : tried) {
      const auto is_taken = [&](const HloModule* module) {
        return std::find(taken.begin(), taken.end(), module) != taken.end();
      };
      if (is_taken(pair.base) || is_taken(pair.now)) continue;
      taken.push_back(pair.base);
      taken.push_back(pair.now);
      pairs.push_back(std::move(pair));
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    return x.base->instructions.size() > y.base->instructions.size();
  });
  return pairs;
}

std::string NameOf(const HloModule& module, uint32_t i) {
  const model::Instruction& instruction = module.instructions[i];
  const std::string name = compare::CanonicalOpName(instruction.metadata.op_name);
  return name.empty() ? std::string(instruction.name)
                      : fmt::format("{} ({})", instruction.name, name);
}

std::string NamesOf(const HloModule& module, const std::vector<uint32_t>& units) {
  std::string text = NameOf(module, units.front());
  if (units.size() > 1) text += fmt::format(" and {} more", units.size() - 1);
  return text;
}

std::string Change(double a, double b) {
  if (a == b) return "the same";
  return a == 0 ? "was 0" : fmt::format("{:+.1f}%", 100 * (b - a) / a);
}

class Writer {
 public:
  Writer(const Pair& pair, size_t rows)
      : pair_(pair), rows_(rows), old_(*pair.base), new_(*pair.now) {}

  std::string Text() {
    const hlo::ModuleSummary a = hlo::Summarize(old_);
    const hlo::ModuleSummary b = hlo::Summarize(new_);
    text_ += fmt::format("{}{}\n", old_.name,
                         old_.name == new_.name ? "" : fmt::format(" -> {}", new_.name));
    if (old_.content_hash == new_.content_hash) {
      return text_ + "  the same program\n";
    }
    const auto line = [&](std::string_view what, std::optional<int64_t> x, std::optional<int64_t> y,
                          bool bytes) {
      if (!x || !y || *x < 0 || *y < 0) return;
      const auto number = [&](int64_t value) {
        return bytes ? Bytes(static_cast<double>(value)) : Thousands(value);
      };
      text_ += fmt::format("  {:<26}{:>14} -> {:>14}   {}\n", what, number(*x), number(*y),
                           Change(static_cast<double>(*x), static_cast<double>(*y)));
    };
    line("launched operations", a.operations, b.operations, false);
    line("fusions", a.fusions, b.fusions, false);
    line("FLOPs (cost model)", a.flops, b.flops, false);
    line("bytes accessed (model)", a.bytes_accessed, b.bytes_accessed, true);
    line("peak memory", a.peak_memory_bytes, b.peak_memory_bytes, true);
    const ProgramMatch& match = pair_.match;
    size_t one = 0;
    std::vector<const UnitGroup*> split, merged, other;
    for (const UnitGroup& group : match.groups) {
      if (group.base.size() == 1 && group.now.size() == 1) {
        ++one;
      } else {
        (group.base.size() == 1 ? split : group.now.size() == 1 ? merged : other).push_back(&group);
      }
    }
    text_ += fmt::format("  {}% of the work has a counterpart: {} instructions one for one\n",
                         Percent(match.similarity, 1), one);
    Groups("split", split);
    Groups("merged", merged);
    Groups("regrouped", other);
    Units("only in BASE", old_, match.only_base);
    Units("only in NEW", new_, match.only_now);
    return text_;
  }

  Json ToJson() const {
    Json json;
    json["base"] = old_.name;
    json["new"] = new_.name;
    json["same_program"] = old_.content_hash == new_.content_hash;
    json["similarity"] = pair_.match.similarity;
    json["groups"] = Json::array();
    const auto names = [](const HloModule& module, const std::vector<uint32_t>& units) {
      Json list = Json::array();
      for (const uint32_t i : units) list.push_back(module.instructions[i].name);
      return list;
    };
    for (const UnitGroup& group : pair_.match.groups) {
      json["groups"].push_back({{"base", names(old_, group.base)},
                                {"new", names(new_, group.now)},
                                {"common", group.common}});
    }
    json["only_base"] = names(old_, pair_.match.only_base);
    json["only_new"] = names(new_, pair_.match.only_now);
    const hlo::ModuleSummary a = hlo::Summarize(old_);
    const hlo::ModuleSummary b = hlo::Summarize(new_);
    const auto both = [](auto x, auto y) {
      return Json{{"base", x ? Json(*x) : Json()}, {"new", y ? Json(*y) : Json()}};
    };
    json["operations"] = {{"base", a.operations}, {"new", b.operations}};
    json["fusions"] = {{"base", a.fusions}, {"new", b.fusions}};
    json["flops"] = both(a.flops, b.flops);
    json["bytes_accessed"] = both(a.bytes_accessed, b.bytes_accessed);
    return json;
  }

 private:
  void Groups(std::string_view what, std::vector<const UnitGroup*> groups) {
    if (groups.empty()) return;
    std::stable_sort(groups.begin(), groups.end(), [&](const UnitGroup* x, const UnitGroup* y) {
      return WeightOf(old_, x->base) > WeightOf(old_, y->base);
    });
    text_ += fmt::format("  {}: {}\n", what, groups.size());
    for (size_t i = 0; i < std::min(groups.size(), rows_); ++i) {
      text_ += fmt::format("    {} -> {}\n", Printable(NamesOf(old_, groups[i]->base)),
                           Printable(NamesOf(new_, groups[i]->now)));
    }
    if (groups.size() > rows_) text_ += fmt::format("    and {} more\n", groups.size() - rows_);
  }

  void Units(std::string_view what, const HloModule& module, std::vector<uint32_t> units) {
    if (units.empty()) return;
    std::stable_sort(units.begin(), units.end(), [&](uint32_t x, uint32_t y) {
      return WeightOf(module, {x}) > WeightOf(module, {y});
    });
    text_ += fmt::format("  {}: {}\n", what, units.size());
    for (size_t i = 0; i < std::min(units.size(), rows_); ++i) {
      text_ += fmt::format("    {} {}\n", Printable(NameOf(module, units[i])),
                           Printable(hlo::WithoutLayout(module.instructions[units[i]].shape)));
    }
    if (units.size() > rows_) text_ += fmt::format("    and {} more\n", units.size() - rows_);
  }

  static double WeightOf(const HloModule& module, const std::vector<uint32_t>& units) {
    double sum = 0;
    for (const uint32_t i : units) sum += hlo::Weight(module, module.instructions[i]);
    return sum;
  }

  const Pair& pair_;
  size_t rows_;
  const HloModule& old_;
  const HloModule& new_;
  std::string text_;
};

}  // namespace

Result<std::string> CompareDumps(const std::string& base, const std::string& now,
                                 const CompareDumpsOptions& options) {
  XLATRACE_ASSIGN(const std::vector<HloModule> ours, ReadModules(base, options.module));
  XLATRACE_ASSIGN(const std::vector<HloModule> theirs, ReadModules(now, options.module));
  const std::vector<Pair> pairs = PairUp(ours, theirs);
  if (pairs.empty()) {
    return MakeError(
        fmt::format("no module of '{}' was compiled from a function of '{}'", now, base),
        "name one HLO file of each to compare them anyway");
  }
  if (options.json) {
    Json json;
    json["schema_version"] = 1;
    json["measured"] = false;
    json["modules"] = Json::array();
    for (const Pair& pair : pairs) json["modules"].push_back(Writer(pair, 0).ToJson());
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  const bool same = std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.base->content_hash == pair.now->content_hash;
  });
  std::string text =
      same ? "The same programs.\n" : "By structure and cost model; no time was measured.\n";
  const size_t alone = ours.size() + theirs.size() - 2 * pairs.size();
  if (alone > 0) text += fmt::format("{} modules have no counterpart.\n", alone);
  for (const Pair& pair : pairs) {
    text += "\n" + Writer(pair, options.rows == 0 ? 12 : options.rows).Text();
  }
  return text;
}

}  // namespace xlatrace::tools
