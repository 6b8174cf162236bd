#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/number_format.h"
#include "base/terminal.h"
#include "hlo/dump_dir.h"
#include "store/run_db.h"
#include "tools/commands.h"
#include "tools/console.h"

namespace xlatrace::tools {
namespace {

struct Options {
  std::string path;
  std::string format = "table";
};

// What one row of the list says, from a run or from a dump folder.
struct ModuleLine {
  std::string handle;
  std::string name;
  std::optional<int64_t> program_id;
  std::string role;
  std::string why;
  std::optional<int64_t> device_ns;
  std::optional<int64_t> executions;
  int64_t instructions = 0;
  std::string file;
  std::string error;
};

Result<std::vector<ModuleLine>> FromRun(const std::string& path) {
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(path));
  XLATRACE_ASSIGN(
      const store::Table table,
      db.Select("SELECT m.handle, m.name, m.program_id, m.role, m.role_reason, m.file,"
                "  m.instruction_count,"
                "  (SELECT sum(self_ns) FROM op_time o WHERE o.module_id = m.module_id) AS ns,"
                "  (SELECT count(*) FROM execution e WHERE e.module_id = m.module_id) AS runs"
                " FROM module m ORDER BY CAST(substr(m.handle, 2) AS INT)"));
  std::vector<ModuleLine> lines;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ModuleLine line{.handle = table.Text(i, "handle"),
                    .name = table.Text(i, "name"),
                    .role = table.Text(i, "role"),
                    .why = table.Text(i, "role_reason"),
                    .device_ns = table.Int(i, "ns"),
                    .executions = table.Int(i, "runs"),
                    .instructions = table.Int(i, "instruction_count"),
                    .file = table.Text(i, "file")};
    if (!table.IsNull(i, "program_id")) line.program_id = table.Int(i, "program_id");
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<std::vector<ModuleLine>> FromDumpFolder(const std::string& path) {
  XLATRACE_ASSIGN(const hlo::DumpDir dir, hlo::ListDumpDir(path));
  std::vector<ModuleLine> lines;
  for (const hlo::DumpModule& module : dir.modules) {
    ModuleLine line{.name = module.name};
    if (module.program_id >= 0) line.program_id = module.program_id;
    const auto loaded = hlo::LoadDumpModule(module);
    if (loaded) {
      line.instructions = static_cast<int64_t>(loaded->module.instructions.size());
      line.file = loaded->file;
      line.why = fmt::format("{} files, {} thunks", module.files.size(), loaded->thunks.size());
    } else {
      line.error = loaded.error().message;
    }
    lines.push_back(std::move(line));
  }
  // The training step is the module with the most instructions nearly always.
  std::stable_sort(lines.begin(), lines.end(), [](const ModuleLine& a, const ModuleLine& b) {
    return a.instructions > b.instructions;
  });
  if (lines.empty()) {
    return MakeError(fmt::format("'{}' holds no XLA dump", path),
                     "dump with XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text "
                     "--xla_dump_hlo_as_proto'");
  }
  return lines;
}

// The last column is cut only where a terminal would wrap it.
std::string AsTable(const std::vector<ModuleLine>& lines, const Terminal& terminal) {
  const int width = terminal.width;
  const bool of_run = lines.empty() || lines.front().device_ns.has_value();
  const int name_width = std::clamp(width - 62, 18, 48);
  std::string out =
      fmt::format("{:<5}{}{:>10}{:>9}{:>11}{:>7}  {}\n", of_run ? "id" : "",
                  FitLeft("module", name_width), "program", "instrs", of_run ? "device ms" : "",
                  of_run ? "runs" : "", of_run ? "role" : "what");
  for (const ModuleLine& line : lines) {
    std::string tail = line.error.empty() ? line.role : "cannot be read: " + line.error;
    if (!line.why.empty()) tail += (tail.empty() ? "" : ": ") + line.why;
    std::string row = fmt::format(
        "{:<5}{}{:>10}{:>9}{:>11}{:>7}  ", line.handle, FitLeft(Printable(line.name), name_width),
        line.program_id ? std::to_string(*line.program_id) : "", Thousands(line.instructions),
        line.device_ns ? Milliseconds(static_cast<double>(*line.device_ns)) : "",
        line.executions ? Thousands(*line.executions) : "");
    const int left = width - DisplayWidth(row);
    tail = Printable(tail);
    row += DisplayWidth(tail) <= left || !terminal.is_terminal ? tail
                                                               : FitLeft(tail, std::max(left, 12));
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  return out;
}

std::string AsJson(const std::vector<ModuleLine>& lines) {
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json modules = nlohmann::ordered_json::array();
  for (const ModuleLine& line : lines) {
    modules.push_back({{"handle", line.handle},
                       {"module", line.name},
                       {"program_id", number(line.program_id)},
                       {"role", line.role},
                       {"why", line.why},
                       {"device_ns", number(line.device_ns)},
                       {"executions", number(line.executions)},
                       {"instructions", line.instructions},
                       {"file", line.file},
                       {"error", line.error}});
  }
  const nlohmann::ordered_json document = {{"schema_version", 1}, {"modules", std::move(modules)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<int> Run(const Options& options) {
  XLATRACE_ASSIGN(const std::vector<ModuleLine> lines,
                  IsDirectory(options.path) ? FromDumpFolder(options.path) : FromRun(options.path));
  XLATRACE_TRY(
      PrintResult(options.format == "json" ? AsJson(lines) : AsTable(lines, DetectTerminal())));
  return 0;
}

}  // namespace

void AddModulesCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("modules", "List the XLA modules of a run.db or of a dump folder");
  command->add_option("PATH", options->path, "A run.db or an --xla_dump_to folder")->required();
  command->add_option("--format", options->format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command->footer("Example:\n  xlatrace modules run.db");
  command->callback([options, selected] { *selected = [options] { return Run(*options); }; });
}

}  // namespace xlatrace::tools
