// Sheets of `show` as text for a terminal.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/terminal.h"
#include "report/labels.h"
#include "report/show_sheet.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

const Json kNull;

const Json& At(const Json& json, std::string_view key) {
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}
std::string TextOf(const Json& json, std::string_view key) { return JsonText(json, key); }
double Number(const Json& json, std::string_view key) { return JsonNumber(json, key); }
bool Has(const Json& json, std::string_view key) { return JsonHas(json, key); }

std::string Time(const Json& json, std::string_view key) {
  return Has(json, key) ? Duration(Number(json, key)) : "-";
}
std::string Count(const Json& json, std::string_view key) {
  return Has(json, key) ? Thousands(static_cast<int64_t>(Number(json, key))) : "-";
}
std::string Pct(const Json& json, std::string_view key) {
  return Has(json, key) ? Significant(Number(json, key)) + "%" : "-";
}
std::string Rate(double per_s, std::string_view unit) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kPrefixes = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1, ""}}};
  for (const auto& [size, prefix] : kPrefixes) {
    if (per_s >= size || size == 1) {
      return fmt::format("{} {}{}", Significant(per_s / size), prefix, unit);
    }
  }
  return {};
}

// "layers.py:88" of a row.
std::string Source(const Json& row) {
  const Json& line = At(row, "source_line");
  return SourceLine(TextOf(row, "source_file"),
                    line.is_number() ? std::optional<int64_t>(line.get<int64_t>()) : std::nullopt);
}

class Writer {
 public:
  explicit Writer(const ShowOptions& options) : options_(options) {}

  void Title(const std::string& text) {
    for (const std::string& line : Wrap(Safe(text, options_.ascii), options_.width)) {
      out_ += options_.color ? "\x1b[1m" + line + "\x1b[0m\n" : line + "\n";
    }
  }
  void Heading(std::string_view text) {
    out_ +=
        options_.color ? fmt::format("\n\x1b[1m{}\x1b[0m\n", text) : fmt::format("\n{}\n", text);
  }
  // "  name      value", wrapped; nothing for an empty value.
  void Fact(std::string_view name, const std::string& value) {
    if (value.empty()) return;
    constexpr int kName = 14;
    const std::vector<std::string> lines =
        Wrap(Safe(value, options_.ascii), std::max(options_.width - kName - 2, 20));
    for (size_t i = 0; i < lines.size(); ++i) {
      out_ += fmt::format("  {:<{}}{}\n", i == 0 ? name : "", kName, lines[i]);
    }
  }
  void Paragraph(const std::string& text) {
    for (const std::string& line : Wrap(Safe(text, options_.ascii), options_.width - 2)) {
      out_ += "  " + line + "\n";
    }
  }
  void Table(const TextTable& table) {
    for (const std::string& line : table.Lines(options_.width - 2, options_.ascii)) {
      out_ += "  " + line + "\n";
    }
  }
  // Long lines are broken, at blanks where there are any, so that nothing is lost: these are for
  // reading and copying.
  void Code(const Json& lines) {
    for (const Json& line : lines) {
      if (!line.is_string()) continue;
      std::string rest = Safe(line.get<std::string>(), options_.ascii);
      std::string indent = "  ";
      while (!rest.empty()) {
        const size_t room = static_cast<size_t>(options_.width) - indent.size();
        size_t cut = rest.size();
        if (rest.size() > room) {
          cut = rest.rfind(' ', room);
          if (cut == std::string::npos || cut < room / 2) cut = room;
          while (cut > 1 && (static_cast<unsigned char>(rest[cut]) & 0xC0) == 0x80) --cut;
        }
        out_ += indent + rest.substr(0, cut) + "\n";
        rest.erase(0, rest.size() > cut && rest[cut] == ' ' ? cut + 1 : cut);
        indent = "      ";
      }
    }
  }
  std::string Take() { return std::move(out_); }
  const ShowOptions& options() const { return options_; }

 private:
  const ShowOptions& options_;
  std::string out_;
};

void WriteOps(const Json& ops, Writer& out) {
  if (!ops.is_array() || ops.empty()) return;
  out.Heading("Ops");
  TextTable table({{"op"},
                   {"time", true},
                   {"runs", true},
                   {"bound", false, 8},
                   {"% of roof", true},
                   {"wasted", true},
                   {"phase", false, 9},
                   {"instruction", false, 40, false, true},
                   {"layer", false, 30, true}});
  for (const Json& op : ops) {
    table.Add({TextOf(op, "handle"), Time(op, "self_ns"),
               Has(op, "occurrences") ? Count(op, "occurrences") : Count(op, "launches"),
               TextOf(op, "bound_by"),
               Has(op, "wasted_ns") ? Significant(Number(op, "utilisation_pct")) : "-",
               Time(op, "wasted_ns"), TextOf(op, "phase"), TextOf(op, "instruction"),
               TextOf(op, "layer")});
  }
  out.Table(table);
}

void WriteFindings(const Json& findings, Writer& out) {
  if (!findings.is_array() || findings.empty()) return;
  out.Heading("Findings that name it");
  for (const Json& f : findings) out.Paragraph(TextOf(f, "handle") + "  " + TextOf(f, "title"));
}

std::string Shape(const Json& row, std::string_view what) {
  const std::string name(what);
  if (!Has(row, name + "_x")) return {};
  return fmt::format("{}x{}x{}", Number(row, name + "_x"), Number(row, name + "_y"),
                     Number(row, name + "_z"));
}

std::string StepsText(const Json& steps, std::string_view what, bool bytes) {
  std::string text;
  if (!steps.is_array()) return text;
  for (size_t i = 0; i < steps.size() && i < 3; ++i) {
    const double limit = Number(steps[i], "at_most");
    text += fmt::format("{}{} <= {} gives {}%", text.empty() ? "" : "; ", what,
                        bytes ? Bytes(limit) : fmt::format("{}", limit),
                        Significant(Number(steps[i], "theoretical_occupancy_pct")));
  }
  return text;
}

void WriteLaunches(const Json& launches, bool with_names, Writer& out) {
  if (!launches.is_array() || launches.empty()) return;
  out.Heading("Launches");
  constexpr size_t kMost = 6;
  for (size_t i = 0; i < launches.size() && i < kMost; ++i) {
    const Json& row = launches[i];
    const std::string handle = TextOf(row, "handle");
    const std::string name = with_names ? TextOf(row, "kernel_name") + ": " : std::string();
    out.Paragraph(fmt::format("{}{}{} launches, {}", handle.empty() ? "" : handle + "  ", name,
                              Count(row, "launches"), Time(row, "self_ns")));
    if (Has(row, "block_x")) {
      out.Fact("grid",
               fmt::format(
                   "{} blocks of {} threads{}", Shape(row, "grid"), Shape(row, "block"),
                   Number(row, "cluster_x") > 1 ? ", clusters of " + Shape(row, "cluster") : ""));
      out.Fact("uses",
               fmt::format("{} registers per thread, {} shared memory ({} static, {} "
                           "dynamic){}",
                           Count(row, "registers_per_thread"),
                           Bytes(Number(row, "shared_memory_static_bytes") +
                                 Number(row, "shared_memory_dynamic_bytes")),
                           Bytes(Number(row, "shared_memory_static_bytes")),
                           Bytes(Number(row, "shared_memory_dynamic_bytes")),
                           Number(row, "local_memory_per_thread_bytes") > 0
                               ? fmt::format(", {} local memory per thread (spills)",
                                             Bytes(Number(row, "local_memory_per_thread_bytes")))
                               : ""));
    }
    if (Has(row, "theoretical_occupancy_pct")) {
      std::string text = Pct(row, "theoretical_occupancy_pct");
      if (Has(row, "occupancy_limiter")) {
        text += fmt::format(", limited by {}; {} blocks per SM", TextOf(row, "occupancy_limiter"),
                            Count(row, "blocks_per_sm"));
      }
      if (Has(row, "waves")) text += fmt::format("; {} waves", Significant(Number(row, "waves")));
      if (Number(row, "tail_loss_pct") >= 10) {
        text +=
            fmt::format(", the last one leaves {} of the time unused", Pct(row, "tail_loss_pct"));
      }
      out.Fact("occupancy", text);
    }
    out.Fact("", StepsText(At(row, "register_steps"), "registers", false));
    out.Fact("", StepsText(At(row, "shared_memory_steps"), "shared memory", true));
    if (const Json& other = At(row, "other_gpu"); other.is_object()) {
      const std::string note =
          Has(other, "note")
              ? TextOf(other, "note")
              : fmt::format("{}, limited by {}; {} waves", Pct(other, "theoretical_occupancy_pct"),
                            TextOf(other, "occupancy_limiter"),
                            Significant(Number(other, "waves")));
      out.Fact("other GPU", TextOf(other, "gpu") + ": " + note);
    }
  }
  const Json& first = launches[0];
  if (Has(first, "registers_per_thread") && !Has(first, "theoretical_occupancy_pct") &&
      !Has(first, "other_gpu")) {
    out.Paragraph("occupancy is not known: no NVIDIA GPU is named; --gpu NAME takes one");
  }
  if (launches.size() > kMost) {
    out.Paragraph(
        fmt::format("... {} more configurations: --format json", launches.size() - kMost));
  }
}

void WriteRoofline(const Json& op, Writer& out) {
  out.Heading("Roofline");
  if (!Has(op, "flops") && !Has(op, "bytes")) {
    out.Paragraph("what it computes and moves is not known: it has no cost in XLA's model");
    return;
  }
  const double seconds = Number(op, "self_ns") / 1e9;
  const double flops = Number(op, "flops");
  const double bytes = Number(op, "bytes");
  const std::string moved = Bytes(Number(op, "bytes_per_run"));
  out.Fact("work", flops > 0 ? fmt::format("{} and {} per run; {} FLOP per byte",
                                           Rate(Number(op, "flops_per_run"), "FLOP"), moved,
                                           bytes > 0 ? Significant(flops / bytes) : "-")
                             : moved + " per run, no arithmetic");
  if (seconds > 0) {
    if (flops > 0)
      out.Fact("compute", fmt::format("{}{}", Rate(flops / seconds, "FLOP/s"),
                                      Has(op, "compute_utilisation_pct")
                                          ? fmt::format(" = {} of the {} peak",
                                                        Pct(op, "compute_utilisation_pct"),
                                                        TextOf(op, "compute_type"))
                                          : ""));
    out.Fact("memory",
             fmt::format("{}{}", Rate(bytes / seconds, "B/s"),
                         Has(op, "memory_utilisation_pct")
                             ? " = " + Pct(op, "memory_utilisation_pct") + " of the bandwidth"
                             : ""));
  }
  out.Fact("bound by", TextOf(op, "bound_by"));
  if (Has(op, "wasted_ns")) {
    out.Fact("wasted",
             fmt::format("{} of {} below the nearer roof; a well-made kernel would need "
                         "about {}",
                         Time(op, "wasted_ns"), Time(op, "self_ns"), Time(op, "expected_ns")));
  } else if (TextOf(op, "bound_by") == "hidden") {
    out.Paragraph(
        "no CPU is that fast: threads that the profile does not show do the work, so its time is "
        "not "
        "known");
  } else if (TextOf(op, "bound_by") == "unknown") {
    out.Paragraph(TextOf(op, "device_kind") == "gpu"
                      ? "the peaks of this GPU are not known; --gpu NAME compares with one that is"
                      : "the peaks of this device are not known");
  }
}

void WriteSteps(const Json& steps, Writer& out) {
  if (!steps.is_array() || steps.size() < 2) return;
  std::vector<double> times;
  for (const Json& step : steps) times.push_back(Number(step, "ns_per_device"));
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
  out.Fact("", fmt::format("median {}, least {}, most {} over {} steps, of one device",
                           Duration(sorted[sorted.size() / 2]), Duration(sorted.front()),
                           Duration(sorted.back()), sorted.size()));
}

// How long the device took to begin what the host had called for.
void WriteHost(const Json& host, Writer& out) {
  if (!host.is_object()) return;
  std::string text = fmt::format(
      "{} from host call to start on the device (median; {} in one of ten), {} of it queued",
      Time(host, "latency_p50_ns"), Time(host, "latency_p90_ns"), Time(host, "queued_p50_ns"));
  if (Has(host, "outstanding_p50")) {
    text += fmt::format("; the host is {} launches ahead of its device",
                        Count(host, "outstanding_p50"));
  }
  out.Fact("launched", text);
}

void WriteNeighbours(const Json& rows, std::string_view heading, Writer& out) {
  if (!rows.is_array() || rows.empty()) return;
  out.Heading(heading);
  TextTable table(
      {{"op"}, {"time", true}, {"instruction", false, 44}, {"shape", false, 60, false, true}});
  for (const Json& row : rows) {
    std::string name = TextOf(row, "instruction");
    if (const Json& through = At(row, "through"); through.is_array() && !through.empty()) {
      name += " via " + through.back().get<std::string>();
    }
    table.Add({TextOf(row, "handle"), Has(row, "self_ns") ? Time(row, "self_ns") : "", name,
               TextOf(row, "shape")});
  }
  out.Table(table);
}

void WriteOp(const Json& sheet, Writer& out) {
  const Json& op = At(sheet, "op");
  out.Title(fmt::format("{}  {}  ({}, {})", TextOf(sheet, "handle"), TextOf(op, "instruction"),
                        KindWords(TextOf(op, "op_kind")), TextOf(op, "category")));
  out.Fact("module", fmt::format("{} {}", TextOf(op, "module_handle"), TextOf(op, "module")));
  out.Fact("phase", TextOf(op, "phase") + (Number(op, "mixed") > 0 ? " (largest share)" : ""));
  out.Fact("layer", TextOf(op, "layer"));
  out.Fact("source", Source(op));
  out.Fact("op_name", TextOf(op, "op_name"));
  out.Fact("result", TextOf(op, "shape"));

  out.Heading("Time");
  out.Fact("whole run",
           fmt::format("{} = {} of device time; {} runs, {} each ({} to {})", Time(op, "self_ns"),
                       Pct(op, "self_pct"), Count(op, "occurrences"), Time(op, "average_ns"),
                       Time(op, "min_ns"), Time(op, "max_ns")));
  if (Has(op, "steady_ns_per_step")) {
    out.Fact("per step", fmt::format("{} (mean of {} steady steps)", Time(op, "steady_ns_per_step"),
                                     Count(op, "steady_steps")));
  }
  if (const Json& alike = At(op, "alike"); alike.is_object()) {
    const bool steady = Has(alike, "steady_ns_per_step");
    const Json& handles = At(alike, "handles");
    std::string names;
    for (size_t i = 0; i < std::min<size_t>(handles.size(), 8); ++i) {
      names += (i == 0 ? "" : ", ") + handles[i].get<std::string>();
    }
    if (handles.size() > 8) names += fmt::format(" and {} more", handles.size() - 8);
    out.Fact("with alike",
             fmt::format("{} {} for all {} that summary shows as one: {}",
                         Time(alike, steady ? "steady_ns_per_step" : "self_ns"),
                         steady ? "per step" : "in the whole run", handles.size(), names));
  }
  WriteSteps(At(sheet, "steps"), out);
  WriteHost(At(sheet, "host"), out);
  WriteRoofline(op, out);
  if (const Json& other = At(sheet, "other_gpu"); other.is_object()) {
    std::string text = TextOf(other, "gpu") + ": bound by " + TextOf(other, "bound_by");
    if (At(other, "is_this_run") == true) {
      text += fmt::format(
          "; the recording names no GPU, so this is taken to be it: {} of the {} "
          "peak, {} of the bandwidth",
          Pct(other, "compute_utilisation_pct"), TextOf(other, "compute_type"),
          Pct(other, "memory_utilisation_pct"));
    } else if (Has(other, "estimated_ns")) {
      text += fmt::format("; about {} instead of {} when it comes as close to the roof as here",
                          Time(other, "estimated_ns"), Time(op, "self_ns"));
    }
    out.Fact("other GPU", text);
  }
  WriteLaunches(At(sheet, "launches"), /*with_names=*/true, out);

  const Json& shares = At(sheet, "shares");
  if (shares.is_array() && shares.size() > 1) {
    out.Heading("What is inside (time by the cost model)");
    TextTable table({{"share", true},
                     {"phase", false, 9},
                     {"op_name", false, 200, true, true},
                     {"source", false, 30}});
    for (const Json& share : shares) {
      table.Add({Significant(Number(share, "share") * 100) + "%", TextOf(share, "phase"),
                 TextOf(share, "op_name"), Source(share)});
    }
    out.Table(table);
  }
  WriteNeighbours(At(sheet, "operands"), "Operands", out);
  WriteNeighbours(At(sheet, "users"), "Users", out);
  const Json& evidence = At(sheet, "evidence");
  if (evidence.is_array() && !evidence.empty()) {
    out.Heading("Why its launches belong to it");
    for (const Json& row : evidence) {
      const std::string losers = TextOf(row, "losing_evidence");
      out.Paragraph(fmt::format("{}: {}, {} activities, {}{}", TextOf(row, "confidence"),
                                EvidenceWords(TextOf(row, "evidence")), Count(row, "activities"),
                                Time(row, "self_ns"),
                                losers.empty() ? "" : "; against: " + losers));
    }
  }
  WriteFindings(At(sheet, "findings"), out);
  if (Has(sheet, "hlo")) {
    out.Heading("HLO");
    out.Code(At(sheet, "hlo"));
  }
}

// An instruction without time of its own.
void WriteInstruction(const Json& sheet, Writer& out) {
  const Json& row = At(sheet, "instruction");
  out.Title(fmt::format("{}  ({}, {})", TextOf(row, "instruction"),
                        KindWords(TextOf(row, "op_kind")), TextOf(row, "opcode")));
  out.Fact("module", fmt::format("{} {}", TextOf(row, "module_handle"), TextOf(row, "module")));
  out.Fact("computation", TextOf(row, "computation"));
  out.Fact("phase", TextOf(row, "phase"));
  out.Fact("layer", TextOf(row, "layer"));
  out.Fact("source", Source(row));
  out.Fact("op_name", TextOf(row, "op_name"));
  out.Fact("result", TextOf(row, "shape"));
  out.Heading("Time");
  const Json& ops = At(sheet, "ops");
  if (ops.is_array() && !ops.empty()) {
    for (const Json& op : ops) {
      out.Fact("inside of", fmt::format("{}  {}, {} in the whole run", TextOf(op, "handle"),
                                        TextOf(op, "instruction"), Time(op, "self_ns")));
    }
  } else {
    out.Paragraph("none of its own: nothing in this run was launched by it");
  }
  WriteNeighbours(At(sheet, "operands"), "Operands", out);
  WriteNeighbours(At(sheet, "users"), "Users", out);
  if (Has(sheet, "hlo")) {
    out.Heading("HLO");
    out.Code(At(sheet, "hlo"));
  }
}

void WriteKernel(const Json& sheet, Writer& out) {
  const Json& kernel = At(sheet, "kernel");
  out.Title(fmt::format("{}  {}", TextOf(sheet, "handle"), TextOf(kernel, "kernel_name")));
  if (TextOf(kernel, "kernel_symbol") != TextOf(kernel, "kernel_name")) {
    out.Fact("symbol", TextOf(kernel, "kernel_symbol"));
  }
  out.Fact("time",
           fmt::format("{} in {} launches", Time(kernel, "self_ns"), Count(kernel, "launches")));
  WriteHost(At(sheet, "host"), out);
  WriteLaunches(At(sheet, "launches"), /*with_names=*/false, out);
  WriteOps(At(sheet, "ops"), out);
  for (const Json& row : At(sheet, "unattributed")) {
    out.Fact("no op",
             fmt::format("{} launches, {}: {}", Count(row, "launches"), Time(row, "self_ns"),
                         ReasonWords(TextOf(row, "unattributed_reason"))));
  }
}

void WritePhases(const Json& phases, double whole, Writer& out) {
  if (!phases.is_array() || phases.empty()) return;
  out.Heading("Phases");
  for (const Json& row : phases) {
    out.Fact(TextOf(row, "phase"),
             fmt::format("{}  {}%", Time(row, "self_ns"), Percent(Number(row, "self_ns"), whole)));
  }
}

void WriteModule(const Json& sheet, Writer& out) {
  const Json& module = At(sheet, "module");
  const Json& time = At(sheet, "time");
  const Json& runs = At(sheet, "executions");
  out.Title(fmt::format("{}  {}  (program {})", TextOf(sheet, "handle"), TextOf(module, "name"),
                        Count(module, "program_id")));
  out.Fact("role", TextOf(module, "role") +
                       (Has(module, "role_reason") ? ": " + TextOf(module, "role_reason") : ""));
  out.Fact("fingerprint", TextOf(module, "fingerprint"));
  out.Fact("from",
           TextOf(module, "source") + (Has(module, "file") ? ": " + TextOf(module, "file") : ""));
  out.Fact("time", fmt::format("{} = {}% of device time", Time(time, "self_ns"),
                               Percent(Number(time, "self_ns"), Number(time, "device_ns"))));
  out.Fact("executions",
           fmt::format("{}, {} each ({} to {})", Count(runs, "count"), Time(runs, "average_ns"),
                       Time(runs, "min_ns"), Time(runs, "max_ns")));
  out.Fact("instructions", Count(module, "instruction_count"));
  if (Has(module, "flops")) {
    out.Fact("one execution",
             fmt::format("{}, {} moved (XLA's cost model)", Rate(Number(module, "flops"), "FLOP"),
                         Bytes(Number(module, "bytes"))));
  }
  for (const Json& compile : At(sheet, "compiles")) {
    out.Fact("compiled",
             fmt::format("{} in {}", TextOf(compile, "name"), Time(compile, "duration_ns")));
  }
  if (const Json& memory = At(sheet, "memory"); memory.is_object()) {
    out.Heading("Memory at its peak");
    out.Fact(
        "total",
        fmt::format("{}: {} parameters, {} results, {} constants, {} temporary",
                    Bytes(Number(memory, "total_bytes")), Bytes(Number(memory, "parameter_bytes")),
                    Bytes(Number(memory, "output_bytes")), Bytes(Number(memory, "constant_bytes")),
                    Bytes(Number(memory, "temporary_bytes"))));
    out.Fact("during", TextOf(memory, "at_instruction"));
    for (const Json& value : At(memory, "at_peak")) {
      out.Fact(Bytes(Number(value, "bytes")),
               TextOf(value, "instruction") + "  " + TextOf(value, "shape"));
    }
    if (Number(memory, "more_at_peak") > 0) out.Fact("", Count(memory, "more_at_peak") + " more");
  } else if (Has(module, "peak_memory_bytes")) {
    out.Fact("peak memory", Bytes(Number(module, "peak_memory_bytes")));
  }
  WritePhases(At(sheet, "phases"), Number(time, "self_ns"), out);
  WriteOps(At(sheet, "ops"), out);
}

void WriteFinding(const Json& sheet, Writer& out) {
  const Json& finding = At(sheet, "finding");
  out.Title(fmt::format("{}  {}", TextOf(sheet, "handle"), TextOf(finding, "title")));
  out.Fact("op", TextOf(finding, "where_op"));
  out.Fact("layer", TextOf(finding, "where_layer"));
  out.Fact("source", TextOf(finding, "where_source"));
  if (Has(finding, "saves_high_ns_per_step")) {
    out.Fact("saves", fmt::format("{} to {} per step ({}, confidence {})",
                                  Has(finding, "saves_low_ns_per_step")
                                      ? Time(finding, "saves_low_ns_per_step")
                                      : "0",
                                  Time(finding, "saves_high_ns_per_step"), TextOf(finding, "basis"),
                                  TextOf(finding, "confidence")));
  } else {
    out.Fact("confidence", TextOf(finding, "confidence"));
  }
  const Json& evidence = At(finding, "evidence");
  if (!evidence.empty()) out.Heading("Evidence");
  for (const Json& row : evidence) {
    const std::string unit = TextOf(row, "unit");
    const Json& value = At(row, "value");
    std::string text = value.is_string() ? value.get<std::string>() : "";
    if (value.is_number()) text = FigureWords(value.get<double>(), unit);
    const std::string handle = TextOf(row, "handle");
    std::string of = handle.empty() ? "" : "  [" + handle + "]";
    if (const Json& handles = At(row, "handles"); handles.is_array() && !handles.empty()) {
      of = "  [";
      constexpr size_t kMost = 6;
      for (size_t i = 0; i < handles.size() && i < kMost; ++i) {
        if (handles[i].is_string()) of += (i == 0 ? "" : " ") + handles[i].get<std::string>();
      }
      of += handles.size() > kMost ? fmt::format(" +{}]", handles.size() - kMost) : "]";
    }
    out.Paragraph(fmt::format("{}: {}{}", TextOf(row, "text"), text, of));
  }
  out.Heading("What to do");
  out.Paragraph(TextOf(finding, "action"));
  if (Has(finding, "how_to_check")) {
    out.Heading("How to check");
    out.Paragraph(TextOf(finding, "how_to_check"));
  }
}

// Layers and source lines.
void WriteScope(const Json& sheet, const std::string& title, Writer& out) {
  out.Title(title);
  const double self = Number(sheet, "self_ns");
  std::string text = fmt::format("{} = {}% of device time", Duration(self),
                                 Percent(self, Number(sheet, "device_ns")));
  if (Number(sheet, "estimated_ns") > 0) {
    text += fmt::format("; {} of it are shares of fused kernels, by estimate",
                        Time(sheet, "estimated_ns"));
  }
  out.Fact("whole run", text);
  if (const Json& step = At(sheet, "per_step"); step.is_object()) {
    out.Fact("per step", fmt::format("{} = {}% of device time", Time(step, "ns"),
                                     Percent(Number(step, "ns"), Number(step, "device_ns"))));
  }
  WritePhases(At(sheet, "phases"), self, out);
  if (const Json& alike = At(sheet, "siblings"); alike.is_object()) {
    out.Heading("Layers alike, per step, without collectives and updates");
    TextTable table({{"layer", false, 60, true, true}, {"time", true}, {"to median", true}});
    const double median = Number(alike, "median_ns");
    for (const Json& row : At(alike, "layers")) {
      const double ns = Number(row, "ns");
      table.Add({TextOf(row, "layer"), Duration(ns),
                 median > 0 ? fmt::format("{:+.1f}%", 100 * (ns - median) / median) : "-"});
    }
    out.Table(table);
  }
  if (const Json& layers = At(sheet, "layers"); layers.is_array() && layers.size() > 1) {
    out.Heading("Layers, whole run");
    for (const Json& row : layers) {
      out.Fact(Time(row, "self_ns"), Has(row, "layer") ? TextOf(row, "layer") : "no layer known");
    }
  }
  WriteOps(At(sheet, "ops"), out);
  if (const Json& names = At(sheet, "op_names"); names.is_array() && !names.empty()) {
    out.Heading("op_names");
    constexpr size_t kMost = 12;
    for (size_t i = 0; i < names.size() && i < kMost; ++i) {
      out.Fact(Time(names[i], "self_ns"), TextOf(names[i], "op_name"));
    }
  }
  WriteFindings(At(sheet, "findings"), out);
}

}  // namespace

std::string SheetText(const Json& sheet, const ShowOptions& options) {
  Writer out(options);
  const std::string kind = TextOf(sheet, "kind");
  if (kind == "op") WriteOp(sheet, out);
  if (kind == "instruction") WriteInstruction(sheet, out);
  if (kind == "kernel") WriteKernel(sheet, out);
  if (kind == "module") WriteModule(sheet, out);
  if (kind == "finding") WriteFinding(sheet, out);
  if (kind == "layer") WriteScope(sheet, "layer  " + TextOf(sheet, "layer"), out);
  if (kind == "source") {
    WriteScope(
        sheet,
        fmt::format("source  {}:{}", TextOf(sheet, "source_file"), Count(sheet, "source_line")),
        out);
  }
  return out.Take();
}

}  // namespace xlatrace::report
