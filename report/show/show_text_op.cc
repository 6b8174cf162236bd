// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "compare/statistics.h"
#include "report/show/shape_words.h"
#include "report/show/show_text.h"
#include "report/shown_words.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

void WriteRoofline(const Json& op, SheetWriter& out) {
  out.Heading("Roofline");
  if (!JsonHas(op, "flops") && !JsonHas(op, "bytes")) {
    out.Paragraph("FLOPs and bytes are not known: this op has no cost in XLA's cost model");
    return;
  }
  const double seconds = JsonNumber(op, "self_ns") / 1e9;
  const double flops = JsonNumber(op, "flops");
  const double bytes = JsonNumber(op, "bytes");
  const std::string kind = JsonText(op, "op_kind"), bound_by = JsonText(op, "bound_by");
  const std::string_view bound = BoundWords(bound_by, kind);
  const std::string moved = Bytes(JsonNumber(op, "bytes_per_run"));
  out.Fact("work", flops > 0 ? fmt::format("{} and {} per run; {} FLOP per byte",
                                           Flop(JsonNumber(op, "flops_per_run")), moved,
                                           bytes > 0 ? Significant(flops / bytes) : "-")
                             : moved + " per run, no arithmetic");
  if (seconds > 0) {
    if (flops > 0)
      out.Fact("compute", fmt::format("{}{}", FlopRate(flops / seconds),
                                      JsonHas(op, "compute_utilisation_pct")
                                          ? fmt::format(" = {} of the {} peak",
                                                        PctCell(op, "compute_utilisation_pct"),
                                                        JsonText(op, "compute_type"))
                                          : ""));
    out.Fact("memory",
             fmt::format("{}{}", ByteRate(bytes / seconds),
                         JsonHas(op, "memory_utilisation_pct") && bound != "link" &&
                                 bound != "network" && bound != "waiting"
                             ? " = " + PctCell(op, "memory_utilisation_pct") + " of the bandwidth"
                             : ""));
  }
  if (JsonHas(op, "critical_pct")) {
    std::string line = fmt::format("on the critical path for {}% of its time",
                                   ShareText(JsonNumber(op, "critical_pct"), 100));
    if (JsonHas(op, "slack_ns")) line += "; slack elsewhere " + TimeCell(op, "slack_ns");
    out.Fact("replay", line);
  }
  out.Fact("bound by", std::string(bound));
  if (JsonHas(op, "wasted_ns")) {
    out.Fact("wasted", fmt::format("{} of {} below the nearer roof; a well-made kernel would need "
                                   "about {}",
                                   TimeCell(op, "wasted_ns"), TimeCell(op, "self_ns"),
                                   TimeCell(op, "expected_ns")));
  } else if (JsonText(op, "bound_by") == "hidden") {
    out.Paragraph(
        "no CPU is that fast: threads that the profile does not show do the work, so its time is "
        "not "
        "known");
  } else if (JsonText(op, "bound_by") == "unknown") {
    out.Paragraph(JsonText(op, "device_kind") == "gpu"
                      ? "the peaks of this GPU are not known; --gpu NAME compares with one that is"
                  : JsonHas(op, "memory_utilisation_pct")
                      ? "how fast this device computes is not known"
                      : "the peaks of this device are not known");
  }
}

void WriteSteps(const Json& sheet, int64_t devices, SheetWriter& out) {
  const Json& steps = ValueAt(sheet, "steps");
  if (!steps.is_array() || steps.size() < 2) return;
  std::vector<double> times;
  for (const Json& step : steps) times.push_back(JsonNumber(step, "ns_per_device"));
  const double most = *std::max_element(times.begin(), times.end());
  const std::string_view marks = out.options().ascii ? "_.-=#" : "";
  static constexpr std::array<std::string_view, 8> kBlocks = {
      "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  std::string line;
  const size_t shown = std::min(times.size(), static_cast<size_t>(out.options().width - 20));
  for (size_t i = 0; i < shown; ++i) {
    const double share = most > 0 ? times[i] / most : 0;
    if (!marks.empty()) {
      line += marks[static_cast<size_t>(share * 4)];
    } else {
      line += kBlocks[static_cast<size_t>(share * 7)];
    }
  }
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  out.Fact("by step", line);
  const auto all = static_cast<size_t>(JsonNumber(sheet, "ran_in_steps"));
  const std::string over = all > sorted.size() ? fmt::format("the first {} of {}", sorted.size(),
                                                             Thousands(static_cast<int64_t>(all)))
                                               : fmt::format("{}", sorted.size());
  out.Fact("", fmt::format("median {}, least {}, most {} over {} steps{}",
                           Duration(compare::Median(sorted)), Duration(sorted.front()),
                           Duration(sorted.back()), over,
                           devices > 1 ? fmt::format(", mean of {} devices", devices) : ""));
}

// The whole shape if the caller requested all of the HLO.
std::string ResultCell(const Json& row, const SheetWriter& out) {
  const std::string shape = JsonText(row, "shape");
  return out.options().whole_hlo ? shape : ShortShape(shape);
}

void WriteNeighbours(const Json& rows, std::string_view heading, SheetWriter& out) {
  if (!rows.is_array() || rows.empty()) return;
  out.Heading(heading);
  TextTable table(
      {{"op"}, {"time", true}, {"instruction", false, 44}, {"shape", false, 60, false, true}});
  for (const Json& row : rows) {
    std::string name = JsonText(row, "instruction");
    if (const Json& through = ValueAt(row, "through"); through.is_array() && !through.empty()) {
      name += " via " + through.back().get<std::string>();
    }
    table.Add({JsonText(row, "handle"), JsonHas(row, "self_ns") ? TimeCell(row, "self_ns") : "",
               name, ShortShape(JsonText(row, "shape"))});
  }
  out.Table(table);
}

// Identity of the op: names, kind, shapes, place.
void WriteIdentity(const Json& sheet, const Json& op, SheetWriter& out) {
  out.Title(fmt::format("{}  {}  ({}, {})", JsonText(sheet, "handle"), JsonText(op, "instruction"),
                        KindWords(JsonText(op, "op_kind")), JsonText(op, "category")));
  out.Fact("module", fmt::format("{} {}", JsonText(op, "module_handle"), JsonText(op, "module")));
  out.Fact("phase", PhaseWords(JsonText(op, "phase")) +
                        (JsonNumber(op, "mixed") > 0 ? " (largest share)" : ""));
  out.Fact("layer", JsonText(op, "layer"));
  const std::string library = SourceCell(Json{{"source_file", ValueAt(op, "library_file")},
                                              {"source_line", ValueAt(op, "library_line")}});
  out.Fact("source", SourceCell(op) + (library.empty() ? "" : " via " + library));
  const std::string method = JsonText(op, "op_name_method");
  const bool borrowed = method == "user" || method == "operand";
  out.Fact("op_name", JsonText(op, "op_name") + (borrowed ? " (from its " + method + ")" : ""));
  out.Fact("result", ResultCell(op, out));
}

// For ops that only some devices run: the time on those devices.
void WriteWhereItRan(const Json& op, int64_t devices, SheetWriter& out) {
  if (!JsonHas(op, "steady_ns_per_step_there")) return;
  const Json& names = ValueAt(op, "ran_on");
  std::string where;
  for (const Json& name : names) where += (where.empty() ? "" : ", ") + name.get<std::string>();
  const auto ran = static_cast<size_t>(JsonNumber(op, "ran_on_devices"));
  if (ran > names.size()) where += fmt::format(" and {} more", ran - names.size());
  out.Fact("", fmt::format("{} on the {} of {} devices that {} it: {}",
                           TimeCell(op, "steady_ns_per_step_there"), Thousands(int64_t(ran)),
                           Thousands(devices), ran == 1 ? "runs" : "run", where));
}

// The time of the row that `summary` shows for this op and its copies.
void WriteAlike(const Json& alike, SheetWriter& out) {
  if (!alike.is_object()) return;
  const bool steady = JsonHas(alike, "steady_ns_per_step");
  const Json& handles = ValueAt(alike, "handles");
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(handles.size(), 8); ++i) {
    names += (i == 0 ? "" : ", ") + handles[i].get<std::string>();
  }
  if (handles.size() > 8) names += fmt::format(" and {} more", handles.size() - 8);
  out.Fact("with alike",
           fmt::format("{} {} for all {}{} that summary shows as one: {}",
                       TimeCell(alike, steady ? "steady_ns_per_step" : "self_ns"),
                       steady ? "per step" : "in the whole run", CountCell(alike, "instructions"),
                       ValueAt(alike, "instructions") == handles.size() ? "" : " of all processes",
                       names));
}

// `devices`: in typical steps.
void WriteOpTime(const Json& op, int64_t devices, SheetWriter& out) {
  out.Heading("Time");
  // Percentages as summary and the page write them.
  out.Fact("whole run",
           fmt::format("{} = {}% of its device time; {}, {} each ({} to {})",
                       TimeCell(op, "self_ns"), ShareText(JsonNumber(op, "self_pct"), 100),
                       CountedCell(op, "occurrences", "run", "runs"), TimeCell(op, "average_ns"),
                       TimeCell(op, "min_ns"), TimeCell(op, "max_ns")));
  if (JsonHas(op, "steady_ns_per_step")) {
    // The divisor of steps on devices, because sums over ops are per step of one device.
    const std::string steps = CountedCell(op, "steady_steps", "typical step", "typical steps");
    const std::string over =
        devices > 1 ? fmt::format("{} devices, {} in all", Thousands(devices), steps) : steps;
    out.Fact("per step",
             fmt::format("{} = {}% of device time (mean of {})", TimeCell(op, "steady_ns_per_step"),
                         ShareText(JsonNumber(op, "steady_ns"), JsonNumber(op, "steady_device_ns")),
                         over));
  }
  WriteWhereItRan(op, devices, out);
  WriteAlike(ValueAt(op, "alike"), out);
}

// Estimate for the GPU in `--gpu`.
void WriteOtherGpu(const Json& op, const Json& other, SheetWriter& out) {
  if (!other.is_object()) return;
  std::string text = JsonText(other, "gpu") + ": bound by " + JsonText(other, "bound_by");
  if (ValueAt(other, "is_this_run") == true) {
    text += fmt::format(
        "; the recording names no GPU, so this is taken to be it: {} of the {} "
        "peak, {} of the bandwidth",
        PctCell(other, "compute_utilisation_pct"), JsonText(other, "compute_type"),
        PctCell(other, "memory_utilisation_pct"));
  } else if (JsonHas(other, "estimated_ns")) {
    text += fmt::format("; about {} instead of {} when it comes as close to the roof as here",
                        TimeCell(other, "estimated_ns"), TimeCell(op, "self_ns"));
  }
  out.Fact("other GPU", text);
}

// The op_names of an op and their parts of its time.
void WriteInside(const Json& shares, SheetWriter& out) {
  if (!shares.is_array() || shares.size() <= 1) return;
  out.Heading("Parts of this op (time by the cost model)");
  TextTable table({{"share", true},
                   {"phase", false, 9},
                   {"op_name", false, 200, true, true},
                   {"source", false, 30}});
  for (const Json& share : shares) {
    table.Add({Significant(JsonNumber(share, "share") * 100) + "%",
               PhaseWords(JsonText(share, "phase")), JsonText(share, "op_name"),
               SourceCell(share)});
  }
  out.Table(table);
}

void WriteEvidence(const Json& evidence, SheetWriter& out) {
  if (!evidence.is_array() || evidence.empty()) return;
  out.Heading("Why its launches belong to it");
  for (const Json& row : evidence) {
    const std::string losers = JsonText(row, "losing_evidence");
    out.Paragraph(fmt::format(
        "{}: {}, {}, {}{}", JsonText(row, "confidence"), EvidenceWords(JsonText(row, "evidence")),
        CountedCell(row, "activities", "activity", "activities"), TimeCell(row, "self_ns"),
        losers.empty() ? "" : "; against: " + losers));
  }
}

void WriteHlo(const Json& sheet, SheetWriter& out) {
  if (!JsonHas(sheet, "hlo")) return;
  out.Heading("HLO");
  out.Code(ValueAt(sheet, "hlo"));
}

}  // namespace

void WriteOp(const Json& sheet, SheetWriter& out) {
  const Json& op = ValueAt(sheet, "op");
  const auto devices = static_cast<int64_t>(JsonNumber(op, "steady_devices"));
  WriteIdentity(sheet, op, out);
  WriteOpTime(op, devices, out);
  WriteSteps(sheet, devices, out);
  WriteHost(ValueAt(sheet, "host"), out);
  WriteRoofline(op, out);
  WriteOtherGpu(op, ValueAt(sheet, "other_gpu"), out);
  WriteLaunches(sheet, /*with_names=*/true, out);
  WriteInside(ValueAt(sheet, "shares"), out);
  WriteNeighbours(ValueAt(sheet, "operands"), "Operands", out);
  WriteNeighbours(ValueAt(sheet, "users"), "Users", out);
  WriteEvidence(ValueAt(sheet, "evidence"), out);
  WriteFindings(ValueAt(sheet, "findings"), out);
  WriteProvenance(ValueAt(sheet, "provenance"), out);
  WriteHlo(sheet, out);
}

void WriteInstruction(const Json& sheet, SheetWriter& out) {
  const Json& row = ValueAt(sheet, "instruction");
  out.Title(fmt::format("{}  ({}, {})", JsonText(row, "instruction"),
                        KindWords(JsonText(row, "op_kind")), JsonText(row, "opcode")));
  out.Fact("module", fmt::format("{} {}", JsonText(row, "module_handle"), JsonText(row, "module")));
  out.Fact("computation", JsonText(row, "computation"));
  out.Fact("phase", PhaseWords(JsonText(row, "phase")));
  out.Fact("layer", JsonText(row, "layer"));
  out.Fact("source", SourceCell(row));
  out.Fact("op_name", JsonText(row, "op_name"));
  out.Fact("result", ResultCell(row, out));
  out.Heading("Time");
  const Json& ops = ValueAt(sheet, "ops");
  if (ops.is_array() && !ops.empty()) {
    for (const Json& op : ops) {
      out.Fact("inside of", fmt::format("{}  {}, {} in the whole run", JsonText(op, "handle"),
                                        JsonText(op, "instruction"), TimeCell(op, "self_ns")));
    }
  } else {
    out.Paragraph("none of its own: nothing in this run was launched by it");
  }
  WriteNeighbours(ValueAt(sheet, "operands"), "Operands", out);
  WriteNeighbours(ValueAt(sheet, "users"), "Users", out);
  WriteProvenance(ValueAt(sheet, "provenance"), out);
  WriteHlo(sheet, out);
}

}  // namespace xlatrace::report
