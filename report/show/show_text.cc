// SPDX-License-Identifier: Apache-2.0

// Sheets of `show` as text for a terminal: kernels, modules, findings, layers and source lines.

#include "report/show/show_text.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/launched_in.h"
#include "report/shown_words.h"
#include "report/text_table.h"
#include "report/view_figures.h"
#include "report/word_tables.h"

namespace xlatrace::report {
namespace {

void WriteLaunchPlaces(const Json& places, SheetWriter& out) {
  bool first = true;
  for (const Json& row : places) {
    const std::string how = JsonText(row, "how");
    std::string where = JsonText(row, "path");
    if (how == Text(PlaceKind::kMore)) {
      where = "and " + CountCell(row, "paths") + " more";
    } else if (how != Text(PlaceKind::kPath)) {
      where = PlaceWords(how);
    }
    out.Fact(first ? "launched in" : "",
             fmt::format("{}: {}, {}", where, CountedCell(row, "launches", "launch", "launches"),
                         TimeCell(row, "self_ns")));
    first = false;
  }
}

void WriteKernel(const Json& sheet, SheetWriter& out) {
  const Json& kernel = ValueAt(sheet, "kernel");
  out.Title(fmt::format("{}  {}", JsonText(sheet, "handle"), JsonText(kernel, "kernel_name")));
  if (JsonText(kernel, "kernel_symbol") != JsonText(kernel, "kernel_name")) {
    out.Fact("symbol", JsonText(kernel, "kernel_symbol"));
  }
  out.Fact("whole run", fmt::format("{} in {}", TimeCell(kernel, "self_ns"),
                                    CountedCell(kernel, "launches", "launch", "launches")));
  if (const Json& step = ValueAt(sheet, "per_step"); step.is_object()) {
    const double launches = JsonNumber(step, "launches");
    const std::string count = launches == std::floor(launches)
                                  ? CountedCell(step, "launches", "launch", "launches")
                                  : Significant(launches) + " launches";
    out.Fact("per step",
             fmt::format("{} in {}, {}% of device time (mean of devices, typical steps)",
                         TimeCell(step, "ns"), count,
                         ShareText(JsonNumber(step, "ns"), JsonNumber(step, "device_ns"))));
  }
  WriteLaunchPlaces(ValueAt(sheet, "launched_in"), out);
  WriteHost(ValueAt(sheet, "host"), out);
  WriteLaunches(sheet, /*with_names=*/false, out);
  WriteOps(ValueAt(sheet, "ops"), out);
  for (const Json& row : ValueAt(sheet, "unattributed")) {
    out.Fact("no op", fmt::format("{}, {}: {}", CountedCell(row, "launches", "launch", "launches"),
                                  TimeCell(row, "self_ns"),
                                  ReasonWords(JsonText(row, "unattributed_reason"))));
  }
}

void WritePhases(const Json& phases, double whole, SheetWriter& out) {
  if (!phases.is_array() || phases.empty()) return;
  out.Heading("Phases");
  for (const Json& row : phases) {
    out.Fact(PhaseWords(JsonText(row, "phase")),
             fmt::format("{}  {}%", TimeCell(row, "self_ns"),
                         ShareText(JsonNumber(row, "self_ns"), whole)));
  }
}

// Bytes by owner, and the largest buffers: "activations  attention.py:31  f32[8,16]  fusion.3".
void WriteMemory(const Json& memory, SheetWriter& out) {
  std::string owners;
  for (const Json& owner : ValueAt(memory, "owners")) {
    owners += fmt::format("{}{} {}", owners.empty() ? "" : ", ", Bytes(JsonNumber(owner, "bytes")),
                          JsonText(owner, "owner"));
  }
  if (owners.empty()) {
    owners = fmt::format(
        "{} parameters, {} results, {} constants, {} temporary",
        Bytes(JsonNumber(memory, "parameter_bytes")), Bytes(JsonNumber(memory, "output_bytes")),
        Bytes(JsonNumber(memory, "constant_bytes")), Bytes(JsonNumber(memory, "temporary_bytes")));
  }
  out.Fact("total", Bytes(JsonNumber(memory, "total_bytes")) + ": " + owners);
  out.Fact("during", JsonText(memory, "at_instruction"));
  for (const Json& value : ValueAt(memory, "at_peak")) {
    std::string text = JsonText(value, "owner");
    const auto add = [&](const std::string& part) {
      if (!part.empty()) text += (text.empty() ? "" : "  ") + part;
    };
    add(SourceCell(value));
    const std::string shape = JsonText(value, "shape");
    add(shape.substr(0, shape.find('{')));
    add(JsonText(value, "instruction"));
    add(JsonText(value, "layer"));
    out.Fact(Bytes(JsonNumber(value, "bytes")), text);
  }
}

void WriteModule(const Json& sheet, SheetWriter& out) {
  const Json& module = ValueAt(sheet, "module");
  const Json& time = ValueAt(sheet, "time");
  const Json& runs = ValueAt(sheet, "executions");
  // A number of 64 bits that is looked up, not read.
  const std::string program =
      JsonHas(module, "program_id")
          ? fmt::format("  (program {})", ValueAt(module, "program_id").dump())
          : "";
  out.Title(fmt::format("{}  {}{}", JsonText(sheet, "handle"), JsonText(module, "name"), program));
  out.Fact("role",
           JsonText(module, "role") +
               (JsonHas(module, "role_reason") ? ": " + JsonText(module, "role_reason") : ""));
  out.Fact("fingerprint", JsonText(module, "fingerprint"));
  out.Fact("from", JsonText(module, "source") +
                       (JsonHas(module, "file") ? ": " + JsonText(module, "file") : ""));
  out.Fact("time",
           fmt::format("{} = {}% of device time", TimeCell(time, "self_ns"),
                       ShareText(JsonNumber(time, "self_ns"), JsonNumber(time, "device_ns"))));
  out.Fact("executions", fmt::format("{}, {} each ({} to {})", CountCell(runs, "count"),
                                     TimeCell(runs, "average_ns"), TimeCell(runs, "min_ns"),
                                     TimeCell(runs, "max_ns")));
  out.Fact("instructions", CountCell(module, "instruction_count"));
  if (JsonHas(module, "flops")) {
    out.Fact("one execution",
             fmt::format("{}, {} moved (XLA's cost model)", Flop(JsonNumber(module, "flops")),
                         Bytes(JsonNumber(module, "bytes"))));
  }
  for (const Json& compile : ValueAt(sheet, "compiles")) {
    out.Fact("compiled",
             fmt::format("{} in {}", JsonText(compile, "name"), TimeCell(compile, "duration_ns")));
  }
  if (const Json& memory = ValueAt(sheet, "memory"); memory.is_object()) {
    out.Heading("Memory at its peak");
    WriteMemory(memory, out);
    if (JsonNumber(memory, "more_at_peak") > 0)
      out.Fact("", CountCell(memory, "more_at_peak") + " more");
  } else if (JsonHas(module, "peak_memory_bytes")) {
    out.Fact("peak memory", Bytes(JsonNumber(module, "peak_memory_bytes")));
  }
  WritePhases(ValueAt(sheet, "phases"), JsonNumber(time, "self_ns"), out);
  WriteOps(ValueAt(sheet, "ops"), out);
}

void WriteFinding(const Json& sheet, SheetWriter& out) {
  const Json& finding = ValueAt(sheet, "finding");
  out.Title(fmt::format("{}  {}", JsonText(sheet, "handle"), JsonText(finding, "title")));
  out.Fact("op", JsonText(finding, "where_op"));
  out.Fact("layer", JsonText(finding, "where_layer"));
  out.Fact("source", JsonText(finding, "where_source"));
  const bool of_run = JsonHas(finding, "saves_high_ns_per_run");
  const std::string low = of_run ? "saves_low_ns_per_run" : "saves_low_ns_per_step";
  const std::string high = of_run ? "saves_high_ns_per_run" : "saves_high_ns_per_step";
  if (const char* job = "saves_high_ns_per_job_step"; JsonHas(finding, job)) {
    out.Fact("saves", fmt::format("0 to {} per step of the job, {} in all launches of this file "
                                  "({}, confidence {})",
                                  TimeCell(finding, job), TimeCell(finding, high),
                                  JsonText(finding, "basis"), JsonText(finding, "confidence")));
  } else if (JsonHas(finding, high)) {
    const std::string of_what =
        of_run ? OfRunWords(ValueAt(sheet, "devices").get<int64_t>()) : "per step";
    out.Fact("saves", fmt::format("{} to {} {} ({}, confidence {})",
                                  JsonHas(finding, low) ? TimeCell(finding, low) : "0",
                                  TimeCell(finding, high), of_what, JsonText(finding, "basis"),
                                  JsonText(finding, "confidence")));
  } else {
    out.Fact("confidence", JsonText(finding, "confidence"));
  }
  const Json& evidence = ValueAt(finding, "evidence");
  if (!evidence.empty()) out.Heading("Evidence");
  for (const Json& row : evidence) {
    const std::string unit = JsonText(row, "unit");
    const Json& value = ValueAt(row, "value");
    std::string text = value.is_string() ? value.get<std::string>() : "";
    if (value.is_number()) text = InUnit(value.get<double>(), unit);
    const std::string handle = JsonText(row, "handle");
    std::string of = handle.empty() ? "" : "  [" + handle + "]";
    if (const Json& handles = ValueAt(row, "handles"); handles.is_array() && !handles.empty()) {
      of = "  [";
      constexpr size_t kMaxHandleCount = 6;
      for (size_t i = 0; i < handles.size() && i < kMaxHandleCount; ++i) {
        if (handles[i].is_string()) of += (i == 0 ? "" : " ") + handles[i].get<std::string>();
      }
      of += handles.size() > kMaxHandleCount
                ? fmt::format(" +{}]", handles.size() - kMaxHandleCount)
                : "]";
    }
    out.Paragraph(fmt::format("{}: {}{}", JsonText(row, "text"), text, of));
  }
  out.Heading("What to do");
  out.Paragraph(JsonText(finding, "action"));
  if (JsonHas(finding, "how_to_check")) {
    out.Heading("How to check");
    out.Paragraph(JsonText(finding, "how_to_check"));
  }
}

// Lines around a source line in its call stacks.
void WriteLines(const std::string& heading, const Json& lines, SheetWriter& out) {
  if (!lines.is_array() || lines.empty()) return;
  out.Heading(heading);
  for (const Json& row : lines) {
    out.Fact(TimeCell(row, "inclusive_ns"), SourceCell(row) + " " + JsonText(row, "function"));
  }
}

// Layers and source lines.
void WriteScope(const Json& sheet, const std::string& title, SheetWriter& out) {
  out.Title(title);
  const double self = JsonNumber(sheet, "self_ns");
  std::string text = fmt::format("{} = {}% of device time", Duration(self),
                                 ShareText(self, JsonNumber(sheet, "device_ns")));
  if (JsonNumber(sheet, "estimated_ns") > 0) {
    text += fmt::format("; {} of it are shares of fused kernels, by estimate",
                        TimeCell(sheet, "estimated_ns"));
  }
  out.Fact("whole run", text);
  if (const Json& step = ValueAt(sheet, "per_step"); step.is_object()) {
    out.Fact("per step",
             fmt::format("{} = {}% of device time", TimeCell(step, "ns"),
                         ShareText(JsonNumber(step, "ns"), JsonNumber(step, "device_ns"))));
  }
  if (JsonHas(sheet, "inclusive_ns")) {
    const double inclusive = JsonNumber(sheet, "inclusive_ns");
    out.Fact("with calls", fmt::format("{} = {}% of device time", Duration(inclusive),
                                       Percent(inclusive, JsonNumber(sheet, "device_ns"))));
  }
  WritePhases(ValueAt(sheet, "phases"), self, out);
  WriteLines("Called from, whole run", ValueAt(sheet, "callers"), out);
  WriteLines("Calls, whole run", ValueAt(sheet, "calls"), out);
  if (const Json& alike = ValueAt(sheet, "siblings"); alike.is_object()) {
    out.Heading("Layers alike, per step, without collectives and updates");
    TextTable table({{"layer", false, 60, true, true}, {"time", true}, {"to median", true}});
    const double median = JsonNumber(alike, "median_ns");
    for (const Json& row : ValueAt(alike, "layers")) {
      const double ns = JsonNumber(row, "ns");
      table.Add({JsonText(row, "layer"), Duration(ns),
                 median > 0 ? fmt::format("{:+.1f}%", 100 * (ns - median) / median) : "-"});
    }
    out.Table(table);
  }
  if (const Json& layers = ValueAt(sheet, "layers"); layers.is_array() && layers.size() > 1) {
    out.Heading("Layers, whole run");
    for (const Json& row : layers) {
      out.Fact(TimeCell(row, "self_ns"),
               JsonHas(row, "layer") ? JsonText(row, "layer") : "no layer known");
    }
  }
  WriteOps(ValueAt(sheet, "ops"), out);
  if (const Json& names = ValueAt(sheet, "op_names"); names.is_array() && !names.empty()) {
    out.Heading("op_names");
    constexpr size_t kMaxOpNameCount = 12;
    for (size_t i = 0; i < names.size() && i < kMaxOpNameCount; ++i) {
      out.Fact(TimeCell(names[i], "self_ns"), JsonText(names[i], "op_name"));
    }
  }
  WriteFindings(ValueAt(sheet, "findings"), out);
}

}  // namespace

void WriteOps(const Json& ops, SheetWriter& out) {
  if (!ops.is_array() || ops.empty()) return;
  out.Heading("Ops");
  // Rows that belong to the subject only in part.
  const bool parts = std::any_of(ops.begin(), ops.end(), [](const Json& op) {
    return JsonHas(op, "here_ns") && ValueAt(op, "here_ns") != ValueAt(op, "self_ns");
  });
  constexpr size_t kHereColumnIndex = 1;
  const auto shown = [&](auto cells) {
    if (!parts) cells.erase(cells.begin() + kHereColumnIndex);
    return cells;
  };
  TextTable table(shown(std::vector<TextColumn>{{"op"},
                                                {"here", true},
                                                {"time", true},
                                                {"runs", true},
                                                {"bound", false, 8},
                                                {"% of roof", true},
                                                {"wasted", true},
                                                {"phase", false, 9},
                                                {"instruction", false, 40, false, true},
                                                {"layer", false, 30, true}}));
  for (const Json& op : ops) {
    table.Add(shown(std::vector<std::string>{
        JsonText(op, "handle"), TimeCell(op, "here_ns"), TimeCell(op, "self_ns"),
        JsonHas(op, "occurrences") ? CountCell(op, "occurrences") : CountCell(op, "launches"),
        std::string(BoundWords(JsonText(op, "bound_by"), JsonText(op, "op_kind"))),
        JsonHas(op, "wasted_ns") ? Significant(JsonNumber(op, "utilisation_pct")) : "-",
        TimeCell(op, "wasted_ns"), PhaseWords(JsonText(op, "phase")), JsonText(op, "instruction"),
        JsonText(op, "layer")}));
  }
  out.Table(table);
}

void WriteFindings(const Json& findings, SheetWriter& out) {
  if (!findings.is_array() || findings.empty()) return;
  out.Heading("Findings that name it");
  for (const Json& f : findings) out.Paragraph(JsonText(f, "handle") + "  " + JsonText(f, "title"));
}

std::string SheetText(const Json& sheet, const ShowOptions& options) {
  SheetWriter out(options);
  const std::string kind = JsonText(sheet, "kind");
  if (kind == "op") WriteOp(sheet, out);
  if (kind == "instruction") WriteInstruction(sheet, out);
  if (kind == "kernel") WriteKernel(sheet, out);
  if (kind == "module") WriteModule(sheet, out);
  if (kind == "finding") WriteFinding(sheet, out);
  if (kind == "layer") WriteScope(sheet, "layer  " + JsonText(sheet, "layer"), out);
  if (kind == "source") {
    WriteScope(sheet, "source  " + SourceCell(sheet), out);
  }
  return out.Take();
}

}  // namespace xlatrace::report
