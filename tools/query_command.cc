#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/file.h"
#include "base/terminal.h"
#include "store/run_db.h"
#include "store/run_db_mark.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"

namespace xlatrace::tools {
namespace {

constexpr int kMaxColumnWidth = 60;

struct Options {
  std::string path;
  std::string sql;
  std::string format = "table";
  int64_t time_limit_s = 60;
};

std::string CellText(const store::Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return std::to_string(*value);
  if (const auto* value = std::get_if<double>(&cell)) return fmt::format("{}", *value);
  if (const auto* value = std::get_if<std::string>(&cell)) return *value;
  return {};
}

std::string AsTable(const store::Table& table) {
  std::vector<int> widths;
  std::vector<bool> numeric(table.columns.size(), true);
  for (const std::string& column : table.columns) widths.push_back(DisplayWidth(column));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(Printable(CellText(row[i]))));
      if (std::holds_alternative<std::string>(row[i])) numeric[i] = false;
    }
  }
  std::string out;
  const auto line = [&](auto&& text_of) {
    std::string text;
    for (size_t i = 0; i < widths.size(); ++i) {
      const int width = std::min(widths[i], kMaxColumnWidth);
      const std::string cell = Printable(text_of(i));
      text += numeric[i] ? FitRight(cell, width) : FitLeft(cell, width);
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](size_t i) { return table.columns[i]; });
  for (const auto& row : table.rows) {
    line([&](size_t i) { return CellText(row[i]); });
  }
  return out;
}

std::string CsvCell(const store::Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr ? CsvText(*text) : CellText(cell);
}

std::string AsCsv(const store::Table& table) {
  std::string out;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    out += (i == 0 ? "" : ",") + CsvText(table.columns[i]);
  }
  out += "\r\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + CsvCell(row[i]);
    out += "\r\n";
  }
  return out;
}

std::string AsJson(const store::Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
              object[table.columns[i]] = nullptr;
            } else {
              object[table.columns[i]] = value;
            }
          },
          row[i]);
    }
    rows.push_back(std::move(object));
  }
  const nlohmann::ordered_json document = {{"schema_version", 1}, {"rows", std::move(rows)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<int> Run(Options options) {
  // The other way round is as clear.
  if (!Exists(options.path) && store::LooksLikeRunDb(options.sql)) {
    std::swap(options.sql, options.path);
  }
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  db.SetTimeLimit(options.time_limit_s * 1000);
  auto table = db.Select(options.sql);
  if (!table) {
    Error error = std::move(table).error();
    if (error.message.find("time limit") != std::string::npos) {
      error.hint = fmt::format(
          "it was {} s; narrow it with WHERE or LIMIT, or give more: "
          "--time-limit {}",
          options.time_limit_s, options.time_limit_s * 10);
    }
    if (error.hint.empty()) {
      error.hint = fmt::format(
          "the views and columns: xlatrace query {} \"SELECT name FROM sqlite_master WHERE "
          "type='view'\"",
          options.path);
    }
    return tl::unexpected<Error>(std::move(error));
  }
  XLATRACE_TRY(PrintResult(options.format == "csv"    ? AsCsv(*table)
                           : options.format == "json" ? AsJson(*table)
                                                      : AsTable(*table)));
  return 0;
}

}  // namespace

void AddQueryCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("query", "Run read-only SQL over the views of a run.db (docs/schema.md)");
  command->add_option("RUN", options->path, "A run.db, or the run.rec it comes from")->required();
  command->add_option("SQL", options->sql, "One SELECT statement")->required();
  command->add_option("--format", options->format, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  command->add_option("--time-limit", options->time_limit_s, "Seconds; 0 for none")
      ->type_name("SECONDS")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}))
      ->capture_default_str();
  command->footer(
      "Example:\n  xlatrace query run.db \"SELECT phase, sum(self_ns) FROM op_time GROUP BY "
      "phase\"");
  command->callback([options, selected] { *selected = [options] { return Run(*options); }; });
}

}  // namespace xlatrace::tools
