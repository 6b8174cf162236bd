// SPDX-License-Identifier: Apache-2.0
#include "report/memory/memory_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_format.h"
#include "report/show/show_sheet.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

using store::Table;

constexpr size_t kDefaultBuffers = 15;
constexpr size_t kMaxLayers = 8;
constexpr size_t kMaxOtherPrograms = 5;
constexpr int kMemorySchemaVersion = 1;

// Programs with buffers: main programs first, then by peak.
Result<Table> Programs(store::RunDb& db) {
  XLATRACE_ASSIGN(
      Table programs,
      db.Select("SELECT m.module_id, m.handle, m.name, m.peak_memory_bytes AS bytes,"
                " (SELECT instruction FROM memory_over_time t WHERE t.module_id = m.module_id"
                "  ORDER BY bytes DESC, position LIMIT 1) AS at_instruction,"
                " (SELECT max(position) FROM x_memory_position t WHERE t.module_id = m.module_id)"
                "  AS last_position"
                " FROM module m WHERE module_id IN (SELECT module_id FROM x_buffer)"
                " ORDER BY m.role <> 'main', m.peak_memory_bytes DESC"));
  if (programs.rows.empty()) {
    return MakeError("this run has no buffer assignment of any program",
                     "record with XLA_FLAGS=--xla_dump_to=DIR, then: xlatrace attach RUN --modules "
                     "DIR; or import a profile that holds HloProtos");
  }
  return programs;
}

std::string Sql(std::string_view columns, int64_t module_id, std::string_view rest) {
  return fmt::format(
      "SELECT {}, sum(peak_bytes) AS bytes, count(*) AS buffers FROM buffer"
      " WHERE module_id = {} AND memory_space = 'device' AND peak_bytes > 0{}"
      " GROUP BY 1, 2 ORDER BY bytes DESC",
      columns, module_id, rest);
}

Result<Table> Owners(store::RunDb& db, int64_t module_id) {
  return db.Select(Sql("owner, NULL AS layer", module_id, ""));
}

Result<Table> Layers(store::RunDb& db, int64_t module_id) {
  return db.Select(Sql("owner, layer_group AS layer", module_id, " AND layer_group IS NOT NULL"));
}

Result<Table> Largest(store::RunDb& db, int64_t module_id, size_t rows) {
  return db.Select(fmt::format(
      "SELECT peak_bytes AS bytes, owner, phase, layer, source_file, source_line, shape,"
      " instruction, shape_index, first_position, last_position, first_use, last_use FROM buffer"
      " WHERE module_id = {} AND memory_space = 'device' AND peak_bytes > 0"
      " ORDER BY peak_bytes DESC, buffer_id LIMIT {}",
      module_id, rows));
}

std::string BytesCell(const Table& table, size_t row) {
  return Bytes(static_cast<double>(table.Int(row, "bytes")));
}

std::string ShareCell(const Table& table, size_t row, int64_t total) {
  return fmt::format("{:.1f}", 100 * static_cast<double>(table.Int(row, "bytes")) /
                                   static_cast<double>(std::max<int64_t>(total, 1)));
}

void Append(const TextTable& table, const MemoryTextOptions& options, std::string& text) {
  for (const std::string& line : table.Lines(options.width, options.ascii)) text += line + "\n";
}

std::string LineOf(const Table& table, size_t row) {
  if (table.IsNull(row, "source_line")) return {};
  const std::string file = table.Text(row, "source_file");
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), table.Int(row, "source_line"));
}

Json Cell(const Table& table, size_t row, std::string_view column, bool number) {
  if (table.IsNull(row, column)) return {};
  return number ? Json(table.Int(row, column)) : Json(table.Text(row, column));
}

Json Rows(const Table& table, const std::vector<std::string_view>& texts,
          const std::vector<std::string_view>& numbers) {
  Json rows = Json::array();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    Json row;
    for (const std::string_view column : texts)
      row[std::string(column)] = Cell(table, i, column, false);
    for (const std::string_view column : numbers)
      row[std::string(column)] = Cell(table, i, column, true);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Result<std::string> MemoryText(store::RunDb& db, const MemoryTextOptions& options) {
  XLATRACE_ASSIGN(const Table programs, Programs(db));
  const int64_t module_id = programs.Int(0, "module_id");
  const int64_t total = programs.Int(0, "bytes");
  std::string text = fmt::format(
      "{} ({}) reserves {} of device memory. Most of it is in use when {} runs.\n\n",
      Safe(programs.Text(0, "name"), options.ascii), programs.Text(0, "handle"),
      Bytes(static_cast<double>(total)), Safe(programs.Text(0, "at_instruction"), options.ascii));

  XLATRACE_ASSIGN(const Table owners, Owners(db, module_id));
  TextTable by_owner({{.heading = "owner", .flexible = true},
                      {.heading = "bytes", .right = true},
                      {.heading = "%", .right = true},
                      {.heading = "buffers", .right = true}});
  for (size_t i = 0; i < owners.rows.size(); ++i) {
    by_owner.Add({owners.Text(i, "owner"), BytesCell(owners, i), ShareCell(owners, i, total),
                  Thousands(owners.Int(i, "buffers"))});
  }
  Append(by_owner, options, text);

  XLATRACE_ASSIGN(const Table layers, Layers(db, module_id));
  if (!layers.rows.empty()) {
    TextTable by_layer({{.heading = "layer", .path = true, .flexible = true},
                        {.heading = "owner"},
                        {.heading = "bytes", .right = true},
                        {.heading = "%", .right = true},
                        {.heading = "buffers", .right = true}});
    for (size_t i = 0; i < std::min(layers.rows.size(), kMaxLayers); ++i) {
      by_layer.Add({layers.Text(i, "layer"), layers.Text(i, "owner"), BytesCell(layers, i),
                    ShareCell(layers, i, total), Thousands(layers.Int(i, "buffers"))});
    }
    text += "\n";
    Append(by_layer, options, text);
  }

  XLATRACE_ASSIGN(const Table largest,
                  Largest(db, module_id, options.rows == 0 ? kDefaultBuffers : options.rows));
  TextTable buffers({{.heading = "largest buffers", .right = true},
                     {.heading = "%", .right = true},
                     {.heading = "owner"},
                     {.heading = "line", .at_most = 28},
                     {.heading = "alive", .right = true},
                     {.heading = "shape", .at_most = 28},
                     {.heading = "instruction", .at_most = 32},
                     {.heading = "layer", .path = true, .flexible = true}});
  const auto positions = static_cast<double>(programs.Int(0, "last_position") + 1);
  for (size_t i = 0; i < largest.rows.size(); ++i) {
    const int64_t life = largest.Int(i, "last_position") - largest.Int(i, "first_position") + 1;
    const std::string shape = largest.Text(i, "shape");
    buffers.Add({BytesCell(largest, i), ShareCell(largest, i, total), largest.Text(i, "owner"),
                 LineOf(largest, i),
                 fmt::format("{:.0f}%", 100 * static_cast<double>(life) / positions),
                 shape.substr(0, shape.find('{')),
                 largest.Text(i, "instruction") + largest.Text(i, "shape_index"),
                 largest.Text(i, "layer")});
  }
  text += "\n";
  Append(buffers, options, text);

  std::string others;
  for (size_t i = 1; i < std::min(programs.rows.size(), kMaxOtherPrograms + 1); ++i) {
    others += fmt::format("{}{} ({}) {}", others.empty() ? "" : ", ",
                          Safe(programs.Text(i, "name"), options.ascii), programs.Text(i, "handle"),
                          BytesCell(programs, i));
  }
  if (programs.rows.size() > kMaxOtherPrograms + 1) {
    others += fmt::format(" and {} more", programs.rows.size() - kMaxOtherPrograms - 1);
  }
  if (!others.empty()) text += "\nother programs: " + others + "\n";
  return text;
}

Result<std::string> MemoryJson(store::RunDb& db, const MemoryTextOptions& options) {
  XLATRACE_ASSIGN(const Table programs, Programs(db));
  Json json = {{"schema_version", kMemorySchemaVersion}, {"programs", Json::array()}};
  for (size_t i = 0; i < programs.rows.size(); ++i) {
    const int64_t module_id = programs.Int(i, "module_id");
    XLATRACE_ASSIGN(const Table owners, Owners(db, module_id));
    XLATRACE_ASSIGN(const Table layers, Layers(db, module_id));
    XLATRACE_ASSIGN(const Table largest,
                    Largest(db, module_id, options.rows == 0 ? kDefaultBuffers : options.rows));
    json["programs"].push_back(
        {{"handle", programs.Text(i, "handle")},
         {"name", programs.Text(i, "name")},
         {"total_bytes", programs.Int(i, "bytes")},
         {"peak_instruction", Cell(programs, i, "at_instruction", false)},
         {"owners", Rows(owners, {"owner"}, {"bytes", "buffers"})},
         {"layers", Rows(layers, {"layer", "owner"}, {"bytes", "buffers"})},
         {"buffers", Rows(largest,
                          {"owner", "phase", "layer", "source_file", "shape", "instruction",
                           "shape_index", "first_use", "last_use"},
                          {"bytes", "source_line", "first_position", "last_position"})}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::report
