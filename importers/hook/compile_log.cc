// SPDX-License-Identifier: Apache-2.0
#include "importers/hook/compile_log.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace xlatrace::importers {
namespace {

using model::CompileStage;
using nlohmann::json;

// The hook writes at most 16 MiB.
constexpr uint64_t kMaxLogBytes = 64ULL << 20;

std::string TextOf(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<int64_t> IntOf(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return std::nullopt;
  return it->get<int64_t>();
}

bool BoolOf(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

std::optional<CompileStage> StageOf(std::string_view text) {
  size_t value = 0;
  for (const std::string_view known : model::Texts<CompileStage>()) {
    if (known == text) return static_cast<CompileStage>(value);
    ++value;
  }
  return std::nullopt;
}

void AddDetails(const json& line, const std::set<std::string>& differences,
                model::CompileFacts& facts) {
  const auto details = line.find("details");
  if (details == line.end() || !details->is_array()) return;
  for (const json& detail : *details) {
    if (!detail.is_object()) continue;
    model::CompileDetail& added = facts.details.emplace_back();
    added.kind = TextOf(detail, "kind");
    added.name = TextOf(detail, "name");
    added.before = TextOf(detail, "before");
    added.after = TextOf(detail, "after");
    added.value = IntOf(detail, "value");
    added.source_file = TextOf(detail, "file");
    added.source_line = IntOf(detail, "line");
    added.is_difference = differences.contains(added.kind);
  }
}

class Parser {
 public:
  CompileLog Parse(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) ReadLine(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(log_);
  }

 private:
  void ReadLine(std::string_view text) {
    const json line = json::parse(text, nullptr, false);
    if (!line.is_object()) {
      ++log_.damaged_lines;
      return;
    }
    const std::string stage = TextOf(line, "stage");
    if (stage == "dropped") {
      log_.dropped_lines = std::max(log_.dropped_lines, IntOf(line, "count").value_or(0));
      return;
    }
    const std::optional<int64_t> start = IntOf(line, "start");
    const std::optional<int64_t> end = IntOf(line, "end");
    log_.last_unix_ns = std::max({log_.last_unix_ns, start.value_or(0), end.value_or(0)});
    if (stage == "process") {
      log_.process_start_unix_ns = start;
      if (start && end) {
        Add(CompileStage::kImport, "python", *start, *end);
      }
      return;
    }
    const std::optional<CompileStage> known = StageOf(stage);
    if (!known || !start || (end && *end < *start)) {
      ++log_.damaged_lines;
      return;
    }
    const int64_t id = IntOf(line, "id").value_or(0);
    if (const auto begun = begun_.find({id, stage}); end && begun != begun_.end()) {
      CompileLog::Entry& entry = log_.entries[begun->second];
      entry.start_unix_ns = *start;
      entry.end_unix_ns = end;
      AddDetails(line, {}, *entry.facts);
      begun_.erase(begun);
      return;
    }
    Add(*known, TextOf(line, "name"), *start, end);
    if (!end) begun_[{id, stage}] = log_.entries.size() - 1;
    model::CompileFacts& facts = *log_.entries.back().facts;
    facts.compilation = id;
    facts.source_file = TextOf(line, "file");
    facts.source_line = IntOf(line, "line");
    if (const auto function = line.find("function");
        function != line.end() && function->is_object()) {
      facts.function_file = TextOf(*function, "file");
      facts.function_line = IntOf(*function, "line");
      facts.is_library = BoolOf(*function, "library");
      facts.is_operation = BoolOf(*function, "operation");
    }
    std::set<std::string> differences;
    if (const auto again = line.find("again"); again != line.end() && again->is_array()) {
      facts.is_again = true;
      for (const json& kind : *again) {
        if (kind.is_string()) differences.insert(kind.get<std::string>());
      }
    }
    AddDetails(line, differences, facts);
  }

  void Add(CompileStage stage, std::string name, int64_t start, std::optional<int64_t> end) {
    log_.entries.push_back(
        {stage, std::move(name), start, end, std::make_shared<model::CompileFacts>()});
  }

  CompileLog log_;
  std::map<std::pair<int64_t, std::string>, size_t> begun_;  // By id and stage.
};

// XLA names the module of `f` jit_f; characters that no identifier has become "_".
std::string ModuleNameOf(std::string_view function) {
  std::string name = "jit_";
  for (const char c : function) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '-';
    name.push_back(kept ? c : '_');
  }
  return name;
}

// XLA numbers modules as they are compiled. If a process has as many modules of a name as
// compilations, they belong together in this order.
std::map<const CompileLog::Entry*, model::Id> ModulesInOrder(
    const CompileLog& log, const std::vector<NamedModule>& modules) {
  std::map<std::string, std::vector<const CompileLog::Entry*>> compilations;
  for (const CompileLog::Entry& entry : log.entries) {
    if (entry.stage == CompileStage::kCompile) {
      compilations[ModuleNameOf(entry.name)].push_back(&entry);
    }
  }
  std::map<std::string, std::vector<std::pair<int64_t, model::Id>>> of_name;
  for (const NamedModule& module : modules) {
    if (module.program_id) of_name[module.name].emplace_back(*module.program_id, module.id);
  }
  std::map<const CompileLog::Entry*, model::Id> found;
  for (const auto& [name, entries] : compilations) {
    auto known = of_name.find(name);
    if (known == of_name.end() || known->second.size() != entries.size()) continue;
    std::sort(known->second.begin(), known->second.end());
    for (size_t k = 0; k < entries.size(); ++k) found[entries[k]] = known->second[k].second;
  }
  return found;
}

}  // namespace

CompileLog ParseCompileLog(std::string_view text) { return Parser().Parse(text); }

Result<CompileLog> ReadCompileLog(const std::string& path) {
  if (!IsRegularFile(path)) return CompileLog();
  XLATRACE_ASSIGN(const std::string text, ReadFile(path, kMaxLogBytes));
  return ParseCompileLog(text);
}

void AddCompileLog(const CompileLog& log, const std::vector<HeldCompile>& profile,
                   const std::vector<NamedModule>& modules, model::Id process_id,
                   std::optional<int64_t> ended_unix_ns, model::EventSink& sink) {
  const std::optional<int64_t> run_start = sink.start_unix_ns();
  if (!run_start && !log.entries.empty()) return;
  const auto in_order = ModulesInOrder(log, modules);
  // Compilations of the log by start: each may hold one of the profile.
  std::vector<const CompileLog::Entry*> compilations;
  for (const CompileLog::Entry& entry : log.entries) {
    if (entry.stage == CompileStage::kCompile) compilations.push_back(&entry);
  }
  std::stable_sort(compilations.begin(), compilations.end(), [](const auto* a, const auto* b) {
    return a->start_unix_ns < b->start_unix_ns;
  });
  const int64_t open_until = std::max(ended_unix_ns.value_or(0), log.last_unix_ns);
  std::map<const CompileLog::Entry*, model::Id> module_of;
  std::vector<HeldCompile> rest;
  for (const HeldCompile& held : profile) {
    const int64_t start = held.compile.start_ns + run_start.value_or(0);
    const int64_t end = held.compile.end_ns + run_start.value_or(0);
    auto after = std::upper_bound(
        compilations.begin(), compilations.end(), start,
        [](int64_t time, const CompileLog::Entry* entry) { return time < entry->start_unix_ns; });
    const CompileLog::Entry* around = nullptr;
    if (after != compilations.begin()) {
      const CompileLog::Entry* before = *std::prev(after);
      if (end <= before->end_unix_ns.value_or(open_until)) around = before;
    }
    if (around != nullptr && held.compile.module_id != 0) {
      module_of.try_emplace(around, held.compile.module_id);
    }
    if (around != nullptr && held.compile.stage == CompileStage::kCompile) continue;
    rest.push_back(held);
  }
  for (const CompileLog::Entry& entry : log.entries) {
    model::Compile compile{.process_id = process_id,
                           .name = entry.name,
                           .start_ns = entry.start_unix_ns - *run_start,
                           .end_ns = entry.end_unix_ns.value_or(open_until) - *run_start,
                           .stage = entry.stage,
                           .facts = entry.facts};
    compile.end_ns = std::max(compile.end_ns, compile.start_ns);
    if (!entry.end_unix_ns) {
      auto facts = std::make_shared<model::CompileFacts>(*entry.facts);
      facts->is_unfinished = true;
      compile.facts = std::move(facts);
    }
    if (const auto known = module_of.find(&entry); known != module_of.end()) {
      compile.module_id = known->second;
    } else if (const auto ordered = in_order.find(&entry); ordered != in_order.end()) {
      compile.module_id = ordered->second;
    }
    sink.AddCompile(compile);
  }
  for (HeldCompile& held : rest) {
    held.compile.name = held.name;
    sink.AddCompile(held.compile);
  }
  if (log.damaged_lines > 0) {
    sink.AddRunStat({.name = "compile_log_damaged",
                     .severity = model::Severity::kNotice,
                     .source = "compile.jsonl",
                     .value = log.damaged_lines,
                     .advice = "lines of the log of compilations that cannot be read"});
  }
  if (log.dropped_lines > 0) {
    sink.AddRunStat({.name = "compile_log_full",
                     .severity = model::Severity::kDataLoss,
                     .source = "compile.jsonl",
                     .value = log.dropped_lines,
                     .advice = "compilations beyond the limit of the log; they are not explained"});
  }
}

}  // namespace xlatrace::importers
