// SPDX-License-Identifier: Apache-2.0
#include "report/page/page_context.h"

#include <algorithm>
#include <iterator>

namespace xlatrace::report {

using store::Cell;
using store::RunDb;
using store::Statement;
using store::Table;

Status StepIndex::Load(RunDb& db) {
  XLATRACE_ASSIGN(const Table rows,
                  db.Select("SELECT device_id, step, start_ns, end_ns, typical FROM step"
                            " ORDER BY device_id, start_ns"));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const Span span{rows.Int(i, "start_ns"), rows.Int(i, "end_ns"), rows.Int(i, "step"),
                    rows.Int(i, "typical") != 0};
    spans_[rows.Int(i, "device_id")].push_back(span);
    steady_[{rows.Int(i, "device_id"), span.step}] = span.steady;
  }
  return {};
}

bool StepIndex::IsSteady(int64_t device_id, int64_t step) const {
  const auto found = steady_.find({device_id, step});
  return found != steady_.end() && found->second;
}

const StepIndex::Span* StepIndex::At(int64_t device_id, int64_t time_ns) const {
  const auto found = spans_.find(device_id);
  if (found == spans_.end()) return nullptr;
  const std::vector<Span>& spans = found->second;
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), time_ns,
                       [](int64_t time, const Span& span) { return time < span.start_ns; });
  if (after == spans.begin()) return nullptr;
  const Span& span = *std::prev(after);
  return time_ns < span.end_ns ? &span : nullptr;
}

std::string OpKey(int64_t module_id, std::string_view instruction) {
  std::string key = std::to_string(module_id);
  key += '\n';
  return key.append(instruction);
}

void SetCell(PageTable& table, size_t column, const Cell& cell, const IdRows* ref) {
  using Type = PageTable::Type;
  const Type type = table.TypeOf(column);
  if (const auto* text = std::get_if<std::string>(&cell)) {
    // In files from others, SQLite may have text where a number is expected; such a value is
    // unknown.
    if (type == Type::kText || type == Type::kWord) table.SetText(column, *text);
    return;
  }
  if (const auto* real = std::get_if<double>(&cell)) {
    if (type == Type::kReal) table.SetReal(column, *real);
    return;
  }
  const auto* value = std::get_if<int64_t>(&cell);
  if (value == nullptr) return;
  if (type == Type::kReal) {
    table.SetReal(column, static_cast<double>(*value));
  } else if (type == Type::kRef) {
    const auto found = ref->find(*value);
    if (found != ref->end()) table.Set(column, found->second);
  } else if (type == Type::kInt) {
    table.Set(column, *value);
  } else {
    table.SetText(column, std::to_string(*value));
  }
}

void SetRow(PageTable& table, const Statement& row, const std::vector<const IdRows*>& refs) {
  size_t ref = 0;
  for (size_t c = 0; c < table.column_count(); ++c) {
    const PageTable::Type type = table.TypeOf(c);
    const IdRows* rows = type == PageTable::Type::kRef ? refs[ref++] : nullptr;
    const int column = static_cast<int>(c);
    switch (row.ColumnType(column)) {
      case Statement::Type::kNull:
        break;
      case Statement::Type::kInteger:
        SetCell(table, c, row.Int64(column), rows);
        break;
      case Statement::Type::kReal:
        SetCell(table, c, row.Real(column), rows);
        break;
      default:
        if (type == PageTable::Type::kText || type == PageTable::Type::kWord) {
          table.SetText(c, row.Text(column));
        }
    }
  }
  table.EndRow();
}

Status FillTable(RunDb& db, std::string_view sql, PageTable& table,
                 const std::vector<const IdRows*>& refs) {
  return db.ForEach(sql, [&](const Statement& row) {
    SetRow(table, row, refs);
    return true;
  });
}

}  // namespace xlatrace::report
