// SPDX-License-Identifier: Apache-2.0
#include "tools/find_search.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/ordered_work.h"
#include "base/shell_word.h"
#include "dumps/dump_dir.h"
#include "dumps/module_diff.h"
#include "dumps/pass_timeline.h"
#include "hlo/instruction_text.h"
#include "hlo/module_summary.h"
#include "hlo/text/text_reader.h"
#include "hlo/user_line.h"
#include "store/run_db.h"
#include "tools/dump_modules.h"
#include "tools/fold.h"
#include "tools/module_list.h"
#include "tools/user_code_option.h"

namespace xlatrace::tools {
namespace {

// The hits in one file.
struct StageHits {
  std::vector<Found> found;
  int64_t instructions = 0;
  std::string error;
};

void AddContext(const model::HloModule& module, uint32_t hit, size_t lines, Found& found) {
  const model::Computation& computation = module.computations[module.instructions[hit].computation];
  const uint32_t first = computation.first_instruction;
  const uint32_t end = first + computation.instruction_count;
  const uint32_t from = hit - first > lines ? hit - static_cast<uint32_t>(lines) : first;
  const uint32_t to = end - hit > lines ? hit + static_cast<uint32_t>(lines) + 1 : end;
  for (uint32_t i = from; i < to; ++i) {
    if (i == hit) found.context_hit = found.context.size();
    found.context.push_back(hlo::ShortText(module, module.instructions[i]));
  }
}

// Operations rank above parameters and constants, and launched instructions above instructions
// inside fusions and reducers.
int32_t Weighted(const dumps::FindHit& hit, const model::Instruction& instruction, bool inside) {
  int32_t score = hit.score;
  if (!hlo::IsOperation(instruction.opcode)) score -= 8;
  if (inside) score -= 4;
  return score;
}

StageHits SearchModule(const model::HloModule& module, const std::string& file,
                       const dumps::FindPattern& pattern, const FindOptions& options) {
  StageHits hits;
  hits.instructions = static_cast<int64_t>(module.instructions.size());
  const std::vector<dumps::FindHit> raw = pattern.Search(module, options.fields);
  if (raw.empty()) return hits;
  const std::vector<uint32_t> containers = dumps::Containers(module);
  const char* declared = std::getenv(kUserCodeVariable);
  const model::UserCode user_code = hlo::UserCodeOf(module, declared == nullptr ? "" : declared);
  const std::vector<bool> inlined = hlo::InlinedComputations(module);
  // Line numbers in one pass: hits come in the order of the text nearly always.
  for (const dumps::FindHit& hit : raw) {
    const model::Instruction& instruction = module.instructions[hit.instruction];
    const bool inside = containers[hit.instruction] != hit.instruction;
    const hlo::SourceLineOf source = hlo::UserLineOf(module, instruction.metadata, user_code);
    Found found{.name = std::string(instruction.name),
                .opcode = std::string(instruction.opcode),
                .shape = std::string(instruction.shape),
                .op_name = std::string(instruction.metadata.op_name),
                .source_file = std::string(source.file),
                .source_line = source.line,
                .computation = std::string(module.computations[instruction.computation].name),
                .fields = hit.fields,
                .score = Weighted(hit, instruction, inside || inlined[instruction.computation]),
                .file = file};
    if (inside) found.inside = module.instructions[containers[hit.instruction]].name;
    if (options.context > 0) AddContext(module, hit.instruction, options.context, found);
    hits.found.push_back(std::move(found));
  }
  if (const auto line = hlo::LineOf(module, module.instructions[raw.front().instruction]); line) {
    const char* at = module.instructions[raw.front().instruction].name.data();
    int64_t number = *line;
    for (size_t i = 0; i < raw.size(); ++i) {
      const model::Instruction& instruction = module.instructions[raw[i].instruction];
      if (!hlo::LineOf(module, instruction)) continue;
      const char* const here = instruction.name.data();
      if (here >= at) {
        number += std::count(at, here, '\n');
      } else {
        number -= std::count(here, at, '\n');
      }
      at = here;
      hits.found[i].line = number;
    }
  }
  return hits;
}

// Puts what was found in the stages of one module together; later stages win.
class ModuleHits {
 public:
  void Add(int32_t stage, StageHits hits) {
    for (Found& found : hits.found) {
      const auto [at, is_new] = by_name_.try_emplace(found.name, found_.size());
      if (is_new) {
        found.stages = {stage};
        found_.push_back(std::move(found));
        continue;
      }
      Found& known = found_[at->second];
      found.stages = std::move(known.stages);
      if (found.stages.back() != stage) found.stages.push_back(stage);
      found.fields = static_cast<uint8_t>(found.fields | known.fields);
      found.score = std::max(found.score, known.score);
      known = std::move(found);
    }
  }

  std::vector<Found> Take(size_t module) {
    for (Found& found : found_) found.module = module;
    return std::move(found_);
  }

 private:
  std::unordered_map<std::string, size_t> by_name_;
  std::vector<Found> found_;
};

void RankMatches(FindResult& result) {
  const auto last_stage = [&](const Found& found) {
    const bool is_last =
        static_cast<size_t>(found.stages.back()) + 1 == result.modules[found.module].stages.size();
    return is_last ? 1 : 0;
  };
  std::stable_sort(result.found.begin(), result.found.end(), [&](const Found& a, const Found& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.device_ns.value_or(0) != b.device_ns.value_or(0)) {
      return a.device_ns.value_or(0) > b.device_ns.value_or(0);
    }
    if (last_stage(a) != last_stage(b)) return last_stage(a) > last_stage(b);
    const int64_t size_a = result.modules[a.module].instructions;
    const int64_t size_b = result.modules[b.module].instructions;
    return size_a != size_b ? size_a > size_b : a.module < b.module;
  });
}

bool IsSelected(const dumps::PassStep& step, FindStage stage) {
  switch (stage) {
    case FindStage::kAll:
      return true;
    case FindStage::kBefore:
      return step.pass == "before_optimizations";
    case FindStage::kAfter:
      return step.pass == "after_optimizations";
    case FindStage::kPasses:
      return step.number >= 0;
  }
  return true;
}

Result<FindResult> InFolder(const std::vector<std::string>& paths,
                            const dumps::FindPattern& pattern, const FindOptions& options) {
  XLATRACE_ASSIGN(const dumps::DumpDir dir, dumps::ListDumpDirs(paths));
  const std::string& path = dir.path;
  std::vector<size_t> which(dir.modules.size());
  for (size_t m = 0; m < which.size(); ++m) which[m] = m;
  if (!options.module.empty()) {
    XLATRACE_ASSIGN(which, FindDumpModules(dir, options.module));
  }
  FindResult result{.path = path, .warnings = dir.warnings};
  struct Job {
    size_t module = 0;
    int32_t stage = 0;
    std::string file;
  };
  std::vector<Job> jobs;
  for (const size_t m : which) {
    const dumps::DumpModule& module = dir.modules[m];
    SearchedModule searched{.name = module.name, .subfolder = module.subfolder};
    if (module.program_id >= 0) searched.program_id = module.program_id;
    for (const dumps::PassStep& step : dumps::StepsOf(module)) {
      if (!IsSelected(step, options.stage)) continue;
      jobs.push_back(
          {result.modules.size(), static_cast<int32_t>(searched.stages.size()), step.file});
      searched.stages.push_back(step.number >= 0 ? fmt::format("{} {}", step.number, step.Label())
                                                 : step.pass);
    }
    result.modules.push_back(std::move(searched));
  }
  if (jobs.empty()) {
    return MakeError(fmt::format("'{}' holds no HLO to search", path),
                     "dump with XLA_FLAGS=--xla_dump_to=DIR");
  }
  result.files = jobs.size();
  std::vector<ModuleHits> hits(result.modules.size());
  OrderedWork<StageHits>(
      jobs.size(),
      [&](size_t i) {
        auto module = dumps::ReadHloFile(jobs[i].file);
        if (!module) {
          StageHits failed;
          failed.error = module.error().message;
          return failed;
        }
        return SearchModule(*module, jobs[i].file, pattern, options);
      },
      [&](size_t i, StageHits stage) {
        if (!stage.error.empty()) {
          result.warnings.push_back(std::move(stage.error));
          return true;
        }
        result.modules[jobs[i].module].instructions = stage.instructions;
        hits[jobs[i].module].Add(jobs[i].stage, std::move(stage));
        return true;
      });
  for (size_t m = 0; m < hits.size(); ++m) {
    std::vector<Found> found = hits[m].Take(m);
    std::move(found.begin(), found.end(), std::back_inserter(result.found));
  }
  RankMatches(result);
  return result;
}

// Selects modules by handle, name or number. Without an exact match, by part of the name. An empty
// `asked` selects all.
std::vector<bool> SelectModules(const store::Table& modules, const std::string& asked) {
  std::vector<bool> wanted(modules.rows.size(), asked.empty());
  if (asked.empty()) return wanted;
  bool any = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] =
        asked == modules.Text(i, "handle") || asked == modules.Text(i, "name") ||
        (!modules.IsNull(i, "program_id") && asked == std::to_string(modules.Int(i, "program_id")));
    any = any || wanted[i];
  }
  for (size_t i = 0; !any && i < wanted.size(); ++i) {
    wanted[i] = modules.Text(i, "name").find(asked) != std::string::npos;
  }
  return wanted;
}

Result<FindResult> InRun(const std::string& path, const dumps::FindPattern& pattern,
                         const FindOptions& options) {
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(path));
  XLATRACE_ASSIGN(const store::Table table,
                  db.Select("SELECT module_id, handle, name, program_id FROM module"
                            " ORDER BY CAST(substr(handle, 2) AS INT)"));
  FindResult result{.path = path, .of_run = true};
  const std::vector<bool> wanted = SelectModules(table, options.module);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (!wanted[i]) continue;
    SearchedModule searched{
        .name = table.Text(i, "name"), .handle = table.Text(i, "handle"), .stages = {"run"}};
    if (!table.IsNull(i, "program_id")) searched.program_id = table.Int(i, "program_id");
    const int64_t module_id = table.Int(i, "module_id");
    const auto fail = [&](const Error& error) {
      result.warnings.push_back(fmt::format("module {}: {}", searched.name, error.message));
    };
    auto stored = db.ReadModule(module_id);
    if (!stored) {
      fail(stored.error());
      continue;
    }
    auto module = hlo::ReadAny(std::make_shared<const std::string>(std::move(stored->bytes)));
    if (!module) {
      fail(module.error());
      continue;
    }
    ++result.files;
    StageHits hits = SearchModule(*module, "", pattern, options);
    searched.instructions = hits.instructions;
    XLATRACE_ASSIGN(
        const store::Table times,
        db.Select("SELECT instruction, sum(self_ns) AS ns FROM op_time"
                  " WHERE module_id = ?1 AND instruction IS NOT NULL GROUP BY instruction",
                  {module_id}));
    std::unordered_map<std::string, int64_t> ns;
    for (size_t t = 0; t < times.rows.size(); ++t) {
      ns.emplace(times.Text(t, "instruction"), times.Int(t, "ns"));
    }
    for (Found& found : hits.found) {
      if (const auto it = ns.find(found.name); it != ns.end()) found.device_ns = it->second;
      found.line.reset();
      found.stages = {0};
      found.module = result.modules.size();
      result.found.push_back(std::move(found));
    }
    result.modules.push_back(std::move(searched));
  }
  if (result.modules.empty() && !options.module.empty()) {
    return MakeError(fmt::format("no module '{}' in '{}'", options.module, path),
                     "xlatrace modules " + ShellWord(path));
  }
  RankMatches(result);
  return result;
}

}  // namespace

Result<FindResult> FindIn(const std::vector<std::string>& paths, const dumps::FindPattern& pattern,
                          const FindOptions& options) {
  const bool of_dumps = paths.size() > 1 || dumps::MayHoldDumps(paths.front());
  if (of_dumps) return InFolder(paths, pattern, options);
  XLATRACE_ASSIGN(const std::string run, FoldedRun(paths.front()));
  return InRun(run, pattern, options);
}

}  // namespace xlatrace::tools
