// SPDX-License-Identifier: Apache-2.0
#include "tools/module_list.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "analysis/memory/peak_memory.h"
#include "dumps/dump_folder_map.h"
#include "hlo/text/text_reader.h"
#include "store/run_db.h"

namespace xlatrace::tools {
namespace {

// A program is compiled again for new shapes. Two compilations may belong to two devices or modes.
constexpr size_t kMinCompilations = 3;

// Modules of one process: what is compiled in each of them is no repetition. `groups` as in `list`.
void AddRecompiled(const std::vector<std::string>& groups, ModuleList& list) {
  std::vector<hlo::CompiledModule> modules;
  for (size_t m = 0; m < list.modules.size(); ++m) {
    const ListedModule& module = list.modules[m];
    const bool counts = module.summary && module.role != "autotune";
    modules.push_back({groups[m], module.ShortName(), counts ? &*module.summary : nullptr});
  }
  for (hlo::Recompiled& one : hlo::FindRecompiled(modules)) {
    if (one.modules.size() >= kMinCompilations) list.recompiled.push_back(std::move(one));
  }
}

Result<ModuleList> OfRun(const std::string& path) {
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(path));
  XLATRACE_ASSIGN(
      const store::Table table,
      db.Select("SELECT m.module_id, m.handle, m.name, m.program_id, m.role, m.role_reason, m.file,"
                "  m.instruction_count, m.peak_memory_bytes,"
                "  (SELECT sum(self_ns) FROM op_time o WHERE o.module_id = m.module_id) AS ns,"
                "  (SELECT count(*) FROM execution e WHERE e.module_id = m.module_id) AS runs,"
                "  (SELECT min(start_ns) FROM execution e WHERE e.module_id = m.module_id) AS first"
                " FROM module m ORDER BY CAST(substr(m.handle, 2) AS INT)"));
  ModuleList list{.path = path, .of_run = true};
  std::vector<std::pair<int64_t, size_t>> by_start;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ListedModule module;
    module.handle = table.Text(i, "handle");
    module.module_id = table.Int(i, "module_id");
    module.name = table.Text(i, "name");
    module.role = table.Text(i, "role");
    module.why = table.Text(i, "role_reason");
    module.device_ns = table.Int(i, "ns");
    module.executions = table.Int(i, "runs");
    module.file = table.Text(i, "file");
    if (!table.IsNull(i, "program_id")) module.program_id = table.Int(i, "program_id");
    module.origin = hlo::OriginOfModule(module.name);
    auto stored = db.ReadModule(table.Int(i, "module_id"));
    if (stored) {
      auto hlo = hlo::ReadAny(std::make_shared<const std::string>(std::move(stored->bytes)));
      if (hlo) {
        module.summary = hlo::Summarize(*hlo);
        if (hlo->peak_memory_bytes >= 0) {
          if (const auto buffers = hlo::BufferAssignmentOf(*hlo)) {
            module.memory = analysis::PeakMemory(*hlo, *buffers, nullptr);
          }
        }
        module.has_after = true;
        if (module.summary->peak_memory_bytes < 0 && !table.IsNull(i, "peak_memory_bytes")) {
          module.summary->peak_memory_bytes = table.Int(i, "peak_memory_bytes");
        }
      } else {
        module.error = hlo.error().message;
      }
    } else {
      module.error = stored.error().message;
    }
    // Modules that did not run in the recording come first, because they were compiled, and perhaps
    // run, earlier.
    by_start.emplace_back(table.IsNull(i, "first") ? INT64_MIN : table.Int(i, "first"), i);
    list.modules.push_back(std::move(module));
  }
  AddRecompiled(std::vector<std::string>(list.modules.size()), list);
  // Shapes match producers and consumers in the order of the first execution.
  std::stable_sort(by_start.begin(), by_start.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const hlo::ModuleSummary*> summaries;
  for (const auto& [start, i] : by_start) {
    summaries.push_back(list.modules[i].summary ? &*list.modules[i].summary : nullptr);
  }
  list.links = hlo::InferLinks(summaries);
  for (hlo::ModuleLink& link : list.links) {
    link.producer = by_start[link.producer].second;
    link.consumer = by_start[link.consumer].second;
  }
  std::stable_sort(list.links.begin(), list.links.end(), [](const auto& a, const auto& b) {
    return a.consumer != b.consumer ? a.consumer < b.consumer : a.bytes > b.bytes;
  });
  return list;
}

std::string SkippedText(const std::map<std::string, size_t>& skipped) {
  std::string text;
  for (const auto& [reason, count] : skipped) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, reason);
  }
  return text;
}

Result<ModuleList> OfFolder(const std::vector<std::string>& paths) {
  XLATRACE_ASSIGN(dumps::DumpFolderMap map, dumps::MapDumpFolder(paths, {}, analysis::PeakMemory));
  const std::string& path = map.path;
  if (map.modules.empty()) {
    std::string skipped = SkippedText(map.skipped);
    if (!map.warnings.empty()) {
      skipped += (skipped.empty() ? "" : "; ") + map.warnings.front();
    }
    return MakeError(fmt::format("'{}' holds no XLA dump{}", path,
                                 skipped.empty() ? "" : " (not looked at: " + skipped + ")"),
                     map.skipped.contains("archives inside")
                         ? "name an archive itself: xlatrace modules ARCHIVE"
                         : "dump with XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text "
                           "--xla_dump_hlo_as_proto'");
  }
  ModuleList list{.path = path,
                  .links = std::move(map.links),
                  .others = std::move(map.others),
                  .skipped = std::move(map.skipped),
                  .warnings = std::move(map.warnings),
                  .files = map.files,
                  .size_bytes = map.size_bytes,
                  .missing_numbers = map.missing_numbers};
  std::vector<std::string> groups;
  for (dumps::FolderModule& from : map.modules) {
    groups.emplace_back(dumps::ProcessOf(from));
    ListedModule module;
    module.loose_file = std::move(from.dump.loose_file);
    module.name = std::move(from.dump.name);
    module.subfolder = std::move(from.dump.subfolder);
    module.role = model::Text(from.role);
    module.why = std::move(from.role_reason);
    module.origin = std::move(from.origin);
    module.summary = std::move(from.summary);
    module.memory = std::move(from.memory);
    module.pass_dumps = from.pass_dumps;
    module.thunks = from.thunks;
    module.files = std::move(from.dump.files);
    module.size_bytes = from.size_bytes;
    module.other_half = from.other_half;
    module.other_half_pct = from.other_half_pct;
    module.same_as = from.same_as;
    module.file = std::move(from.summary_file);
    module.error = std::move(from.error);
    module.warnings = std::move(from.warnings);
    module.has_before = !from.dump.before_proto.empty() || !from.dump.before_text.empty();
    module.has_after = !from.dump.after_proto.empty() || !from.dump.after_text.empty();
    if (from.dump.program_id >= 0) module.program_id = from.dump.program_id;
    list.modules.push_back(std::move(module));
  }
  AddRecompiled(groups, list);
  return list;
}

}  // namespace

std::string ListedModule::Label() const {
  if (!handle.empty()) return fmt::format("{} ({})", ShortName(), handle);
  if (program_id) return fmt::format("{} ({})", ShortName(), *program_id);
  return ShortName();
}

std::string ListedModule::ShortName() const {
  return origin.how == "tf.function" || origin.how == "cluster" ? origin.function : name;
}

std::string ListedModule::Place() const {
  return subfolder + (subfolder.empty() || loose_file.empty() ? "" : "/") + loose_file;
}

Result<ModuleList> ListModules(const std::vector<std::string>& paths) {
  const bool of_dumps = paths.size() > 1 || dumps::MayHoldDumps(paths.front());
  return of_dumps ? OfFolder(paths) : OfRun(paths.front());
}

Result<std::vector<size_t>> SelectModules(const ModuleList& list, const std::string& wanted) {
  std::vector<size_t> found;
  const auto collect = [&](const auto& matches) {
    for (size_t m = 0; m < list.modules.size() && found.size() < list.modules.size(); ++m) {
      if (matches(list.modules[m])) found.push_back(m);
    }
    return !found.empty();
  };
  int64_t number = -1;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  const bool is_number = error == std::errc() && end == wanted.data() + wanted.size();
  if (collect([&](const ListedModule& m) { return m.handle == wanted; })) return found;
  if (is_number && collect([&](const ListedModule& m) { return m.program_id == number; })) {
    return found;
  }
  if (collect([&](const ListedModule& m) { return m.name == wanted; })) return found;
  if (collect([&](const ListedModule& m) { return m.origin.function == wanted; })) return found;
  if (collect([&](const ListedModule& m) {
        return m.name.find(wanted) != std::string::npos ||
               m.Place().find(wanted) != std::string::npos;
      })) {
    return found;
  }
  std::string known;
  for (size_t m = 0; m < std::min<size_t>(list.modules.size(), 4); ++m) {
    known += (m == 0 ? "" : ", ") + list.modules[m].Label();
  }
  if (list.modules.size() > 4) known += fmt::format(" and {} more", list.modules.size() - 4);
  return MakeError(fmt::format("no module '{}' in '{}'", wanted, list.path), "there are " + known);
}

}  // namespace xlatrace::tools
