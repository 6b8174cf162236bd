// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/projected_trace.h"

#include <utility>

#include "importers/common/text_fields.h"
#include "importers/nsys_jax/parquet.h"

namespace xlatrace::importers {
namespace {

tl::unexpected<Error> NoTable() {
  return MakeError("the table of projected ranges lacks columns Name, Projected Start or Duration",
                   "make the capture again with nsys-jax, or export the report: nsys export "
                   "--type sqlite");
}

// Numbers of CSV files may be written as reals ("10.0").
std::optional<int64_t> Number(std::string_view text) {
  return ParseInt(text.substr(0, text.find('.')));
}

Status ReadParquet(const std::string& bytes, ProjectedTrace* trace) {
  XLATRACE_ASSIGN(const ParquetFile file, ParquetFile::Open(bytes));
  XLATRACE_ASSIGN(ParquetColumn names, file.Read("Name"));
  XLATRACE_ASSIGN(const ParquetColumn start, file.Read("Projected Start"));
  XLATRACE_ASSIGN(const ParquetColumn duration, file.Read("Projected Duration"));
  XLATRACE_ASSIGN(const ParquetColumn host_start, file.Read("Orig Start"));
  XLATRACE_ASSIGN(const ParquetColumn host_duration, file.Read("Orig Duration"));
  XLATRACE_ASSIGN(const ParquetColumn pid, file.Read("PID"));
  XLATRACE_ASSIGN(const ParquetColumn tid, file.Read("TID"));
  XLATRACE_ASSIGN(const ParquetColumn ops, file.Read("NumGPUOps"));
  XLATRACE_ASSIGN(const ParquetColumn range_id, file.Read("RangeId"));
  XLATRACE_ASSIGN(const ParquetColumn parent_id, file.Read("ParentId"));
  if (!names.is_text() || start.numbers.empty() || duration.numbers.empty()) return NoTable();
  trace->ranges.resize(static_cast<size_t>(file.rows()));
  for (size_t i = 0; i < trace->ranges.size(); ++i) {
    ProjectedRange& range = trace->ranges[i];
    range.name = names.Text(i);
    range.start_ns = start.Number(i);
    range.duration_ns = duration.Number(i);
    range.host_start_ns = host_start.Number(i);
    range.host_duration_ns = host_duration.Number(i);
    range.pid = pid.Number(i).value_or(0);
    range.tid = tid.Number(i).value_or(0);
    range.gpu_ops = ops.Number(i).value_or(0);
    range.range_id = range_id.Number(i);
    range.parent_id = parent_id.Number(i);
  }
  trace->storage = std::move(names.storage);  // A deque keeps its strings where they are.
  return {};
}

Status ReadCsv(std::string_view bytes, ProjectedTrace* trace) {
  bool complete = false;
  ForEachCsvRow(bytes,
                {"Name", "Projected Start", "Projected Duration", "Orig Start", "Orig Duration",
                 "PID", "TID", "NumGPUOps", "RangeId", "ParentId"},
                [&](const std::vector<std::string>& row) {
                  ProjectedRange range;
                  range.name = trace->storage.emplace_back(row[0]);
                  range.start_ns = Number(row[1]);
                  range.duration_ns = Number(row[2]);
                  range.host_start_ns = Number(row[3]);
                  range.host_duration_ns = Number(row[4]);
                  range.pid = Number(row[5]).value_or(0);
                  range.tid = Number(row[6]).value_or(0);
                  range.gpu_ops = Number(row[7]).value_or(0);
                  range.range_id = Number(row[8]);
                  range.parent_id = Number(row[9]);
                  complete |= range.start_ns && range.duration_ns;
                  trace->ranges.push_back(range);
                });
  return complete ? Status() : NoTable();
}

}  // namespace

int64_t ForEachCsvRow(std::string_view bytes, const std::vector<std::string_view>& columns,
                      const std::function<void(const std::vector<std::string>&)>& each) {
  std::vector<size_t> place;  // Place of each cell in `columns`; npos: not requested.
  std::vector<std::string> row(columns.size());
  std::string cell;
  bool is_head = true;
  int64_t damaged = 0;
  size_t column = 0;
  size_t at = 0;
  const auto end_cell = [&] {
    if (is_head) {
      size_t found = std::string::npos;
      for (size_t i = 0; i < columns.size(); ++i) {
        if (columns[i] == cell) found = i;
      }
      place.push_back(found);
    } else if (column < place.size() && place[column] != std::string::npos) {
      row[place[column]] = cell;
    }
    ++column;
    cell.clear();
  };
  while (at < bytes.size()) {
    const char c = bytes[at];
    if (c == '"' && cell.empty()) {
      // Quoted: "" is a quote.
      for (++at; at < bytes.size(); ++at) {
        if (bytes[at] != '"') {
          cell += bytes[at];
        } else if (at + 1 < bytes.size() && bytes[at + 1] == '"') {
          cell += '"';
          ++at;
        } else {
          break;
        }
      }
      ++at;
      continue;
    }
    if (c == ',') {
      end_cell();
    } else if (c == '\n') {
      end_cell();
      if (!is_head) {
        if (column == place.size()) {
          each(row);
        } else {
          ++damaged;
        }
        for (std::string& value : row) value.clear();
      }
      is_head = false;
      column = 0;
    } else if (c != '\r') {
      cell += c;
    }
    ++at;
  }
  if (column > 0 || !cell.empty()) {
    end_cell();
    if (!is_head && column == place.size()) {
      each(row);
    } else if (!is_head) {
      ++damaged;
    }
  }
  return damaged;
}

Result<std::unique_ptr<ProjectedTrace>> ReadProjectedTrace(std::string bytes) {
  auto trace = std::make_unique<ProjectedTrace>();
  if (bytes.starts_with("PAR1")) {
    XLATRACE_TRY(ReadParquet(bytes, trace.get()));
  } else {
    XLATRACE_TRY(ReadCsv(bytes, trace.get()));
  }
  return trace;
}

}  // namespace xlatrace::importers
