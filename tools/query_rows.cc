// SPDX-License-Identifier: Apache-2.0
#include "tools/query_rows.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/terminal.h"

namespace xlatrace::tools {
namespace {

using store::Cell;

constexpr int kMaxColumnWidth = 60;
constexpr size_t kMeasuredRows = 1000;

// Names of an object's members: the second "ns" becomes "ns:1", as SQLite names columns of a
// subquery.
std::vector<std::string> DistinctNames(std::vector<std::string> names) {
  std::set<std::string> known(names.begin(), names.end());
  std::set<std::string> used;
  for (std::string& name : names) {
    if (used.insert(name).second) continue;
    std::string distinct;
    for (size_t number = 1; distinct.empty() || known.contains(distinct); ++number) {
      distinct = fmt::format("{}:{}", name, number);
    }
    known.insert(distinct);
    used.insert(distinct);
    name = std::move(distinct);
  }
  return names;
}

std::string CellText(const Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return std::to_string(*value);
  if (const auto* value = std::get_if<double>(&cell)) return fmt::format("{}", *value);
  if (const auto* value = std::get_if<std::string>(&cell)) return *value;
  return {};
}

class TableRows : public QueryRows {
 public:
  explicit TableRows(std::vector<std::string> columns)
      : columns_(std::move(columns)), numeric_(columns_.size(), true) {
    for (const std::string& column : columns_) widths_.push_back(DisplayWidth(Printable(column)));
  }

  void Add(const std::vector<Cell>& cells) override {
    std::vector<std::string> texts;
    texts.reserve(cells.size());
    for (size_t i = 0; i < cells.size(); ++i) {
      texts.push_back(Printable(CellText(cells[i])));
      if (begun_) continue;
      widths_[i] = std::max(widths_[i], DisplayWidth(texts[i]));
      if (std::holds_alternative<std::string>(cells[i])) numeric_[i] = false;
    }
    if (begun_) return Line(texts);
    first_.push_back(std::move(texts));
    if (first_.size() == kMeasuredRows) Begin();
  }

  void End() override {
    if (!begun_) Begin();
  }

 private:
  void Begin() {
    begun_ = true;
    std::vector<std::string> names;
    for (const std::string& column : columns_) names.push_back(Printable(column));
    Line(names);
    for (const auto& texts : first_) Line(texts);
    first_.clear();
  }

  void Line(const std::vector<std::string>& texts) {
    std::string line;
    for (size_t i = 0; i < texts.size(); ++i) {
      // Cells of columns without a measured width, and numbers, are never cut.
      const bool measured = !first_.empty() && !numeric_[i];
      const int width = std::min(widths_[i], kMaxColumnWidth);
      if (!measured && DisplayWidth(texts[i]) > width) {
        line += texts[i];
      } else {
        line += numeric_[i] ? FitRight(texts[i], width) : FitLeft(texts[i], width);
      }
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + "\n";
  }

  std::vector<std::string> columns_;
  std::vector<bool> numeric_;
  std::vector<int> widths_;
  std::vector<std::vector<std::string>> first_;
  bool begun_ = false;
};

class CsvRows : public QueryRows {
 public:
  explicit CsvRows(const std::vector<std::string>& columns) {
    for (size_t i = 0; i < columns.size(); ++i) out_ += (i == 0 ? "" : ",") + CsvText(columns[i]);
    out_ += "\r\n";
  }
  void Add(const std::vector<Cell>& cells) override {
    for (size_t i = 0; i < cells.size(); ++i) {
      const auto* text = std::get_if<std::string>(&cells[i]);
      out_ += (i == 0 ? "" : ",") + (text != nullptr ? CsvText(*text) : CellText(cells[i]));
    }
    out_ += "\r\n";
  }
  void End() override {}
};

class JsonRows : public QueryRows {
 public:
  explicit JsonRows(std::vector<std::string> columns)
      : columns_(DistinctNames(std::move(columns))) {
    out_ = "{\n  \"schema_version\": 1,\n  \"rows\": [";
  }
  void Add(const std::vector<Cell>& cells) override {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (size_t i = 0; i < cells.size(); ++i) {
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
              object[columns_[i]] = nullptr;
            } else {
              object[columns_[i]] = value;
            }
          },
          cells[i]);
    }
    out_ += any_ ? ",\n" : "\n";
    any_ = true;
    // As nlohmann's dump(2) of the whole document would have it.
    const std::string text = object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    out_ += "    ";
    for (const char c : text) {
      out_ += c;
      if (c == '\n') out_ += "    ";
    }
  }
  void End() override { out_ += any_ ? "\n  ]\n}\n" : "]\n}\n"; }

 private:
  std::vector<std::string> columns_;
  bool any_ = false;
};

}  // namespace

std::unique_ptr<QueryRows> MakeQueryRows(std::string_view format,
                                         std::vector<std::string> columns) {
  if (format == "csv") return std::make_unique<CsvRows>(columns);
  if (format == "json") return std::make_unique<JsonRows>(std::move(columns));
  return std::make_unique<TableRows>(std::move(columns));
}

}  // namespace xlatrace::tools
