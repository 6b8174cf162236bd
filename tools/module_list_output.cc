// SPDX-License-Identifier: Apache-2.0
#include "tools/module_list_output.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/shell_word.h"
#include "dumps/dump_file_note.h"
#include "report/text_table.h"
#include "tools/dump_text.h"

namespace xlatrace::tools {
namespace {

constexpr size_t kMaxModuleRows = 24;
constexpr size_t kMaxModuleLinks = 6;
constexpr size_t kMaxValues = 10;
constexpr size_t kMaxValuesBrief = 3;
constexpr size_t kMaxListedOpcodes = 10;

std::string OptionalBytes(int64_t bytes) {
  return bytes > 0 ? Bytes(static_cast<double>(bytes)) : "-";
}

bool HasPlaces(const ModuleList& list) {
  return std::any_of(list.modules.begin(), list.modules.end(),
                     [](const ListedModule& m) { return !m.Place().empty(); });
}

// Modules of one content and role are one row: the first of them stands for all.
std::map<size_t, std::vector<size_t>> FoldEqual(const ModuleList& list) {
  std::map<std::pair<size_t, std::string>, size_t> first;
  std::map<size_t, std::vector<size_t>> rows;
  for (size_t m = 0; m < list.modules.size(); ++m) {
    const ListedModule& module = list.modules[m];
    const auto [at, is_new] = first.try_emplace({module.same_as.value_or(m), module.role}, m);
    // `same_as` may come later in this order.
    if (is_new && !module.same_as) first[{m, module.role}] = m;
    rows[at->second].push_back(m);
  }
  return rows;
}

// "645, 647, 769 and 9 more"
std::string IdsText(const ModuleList& list, const std::vector<size_t>& which, bool all) {
  constexpr size_t kMaxIds = 6;
  std::string text;
  const size_t most = all ? which.size() : std::min(which.size(), kMaxIds);
  for (size_t i = 0; i < most; ++i) {
    const ListedModule& module = list.modules[which[i]];
    const std::string id = list.of_run         ? module.handle
                           : module.program_id ? std::to_string(*module.program_id)
                                               : module.Place();
    text += (i == 0 ? "" : ", ") + id;
  }
  if (most < which.size()) text += fmt::format(" and {} more", which.size() - most);
  return text;
}

std::vector<std::string> RowOf(const ModuleList& list, const ListedModule& module, bool places,
                               size_t times) {
  std::vector<std::string> row;
  row.push_back(list.of_run         ? module.handle
                : module.program_id ? std::to_string(*module.program_id)
                                    : "");
  if (places) row.push_back(module.Place());
  row.push_back(times > 1 ? fmt::format("{} x{}", module.ShortName(), times) : module.ShortName());
  row.push_back(module.role);
  if (list.of_run) {
    row.push_back(module.device_ns ? Milliseconds(static_cast<double>(*module.device_ns)) : "");
    row.push_back(module.executions ? Thousands(*module.executions) : "");
  }
  if (!module.summary) {
    row.resize((list.of_run ? 5 : 3) + (places ? 1 : 0));
    for (int i = 0; i < (list.of_run ? 4 : 6); ++i) row.emplace_back("?");
    row.push_back("cannot be read: " + module.error);
    return row;
  }
  const hlo::ModuleSummary& summary = *module.summary;
  row.push_back(Thousands(summary.instructions));
  row.push_back(Thousands(summary.operations));
  row.push_back(summary.flops ? Flop(static_cast<double>(*summary.flops)) : "?");
  if (!list.of_run) {
    row.push_back(OptionalBytes(summary.parameter_bytes));
    row.push_back(OptionalBytes(summary.constant_bytes));
  }
  row.push_back(OptionalBytes(summary.peak_memory_bytes));
  row.push_back(SourceText(summary.source, false));
  return row;
}

void AppendTable(const ModuleList& list, bool all, const Terminal& terminal, std::string& out) {
  const bool places = HasPlaces(list);
  std::vector<report::TextColumn> columns = {{.heading = "id", .right = !list.of_run}};
  if (places) {
    columns.push_back(
        {.heading = "folder", .at_most = std::max(terminal.width / 4, 12), .path = true});
  }
  columns.push_back({.heading = "module",
                     .at_most = std::max(terminal.width / 3, 18),
                     .path = true,
                     .flexible = true});
  columns.push_back({.heading = "role"});
  if (list.of_run) {
    columns.push_back({.heading = "device ms", .right = true});
    columns.push_back({.heading = "runs", .right = true});
  }
  columns.push_back({.heading = "instrs", .right = true});
  columns.push_back({.heading = "ops", .right = true});
  columns.push_back({.heading = "work", .right = true});
  if (!list.of_run) {
    columns.push_back({.heading = "params", .right = true});
    columns.push_back({.heading = "consts", .right = true});
  }
  columns.push_back({.heading = "memory", .right = true});
  columns.push_back({.heading = "from", .at_most = 30});
  report::TextTable table(std::move(columns));
  // Modules that the autotuner took out are many and alike.
  size_t shown = 0;
  std::map<std::string, size_t> hidden;
  std::string folded;
  for (const auto& [first, which] : FoldEqual(list)) {
    const ListedModule& module = list.modules[first];
    const bool dull = module.role == "autotune";
    if (!all && (shown >= kMaxModuleRows || (dull && shown >= 3))) {
      hidden[module.role] += which.size();
      continue;
    }
    ++shown;
    table.Add(RowOf(list, module, places, which.size()));
    if (which.size() > 1) {
      folded += fmt::format("{}{} x{}: {}", folded.empty() ? "" : "; ", module.ShortName(),
                            which.size(), IdsText(list, which, all));
    }
  }
  for (const std::string& line : table.Lines(terminal.width, false)) out += line + "\n";
  if (!folded.empty()) {
    for (const std::string& line :
         report::Wrap(Printable("equal modules are one row: " + folded), terminal.width)) {
      out += line + "\n";
    }
  }
  if (hidden.empty()) return;
  std::string text;
  size_t count = 0;
  for (const auto& [role, number] : hidden) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, role);
    count += number;
  }
  out += fmt::format("{} more modules ({}): --all\n", count, text);
}

// Functions that were compiled repeatedly, and the differences between their compilations.
void AppendRecompiled(const ModuleList& list, bool all, int width, std::string& out) {
  constexpr size_t kMaxNamedValues = 4;
  if (list.recompiled.empty()) return;
  out += "\ncompiled again\n";
  size_t shown = 0;
  for (const hlo::Recompiled& one : list.recompiled) {
    if (!all && shown++ == kMaxModuleLinks) {
      out += fmt::format("  {} more functions: --all\n", list.recompiled.size() - kMaxModuleLinks);
      break;
    }
    const std::string difference = one.Difference(all ? SIZE_MAX : kMaxNamedValues);
    std::string_view start = "  ";
    for (const std::string& line :
         report::Wrap(Printable(one.Sentence() + (difference.empty() ? "" : ": " + difference)),
                      width - 4)) {
      out += std::string(start) + line + "\n";
      start = "    ";
    }
  }
}

void AppendSkipped(const ModuleList& list, int width, std::string& out) {
  if (list.skipped.empty()) return;
  std::string text = "\nnot looked at: ";
  bool first = true;
  for (const auto& [reason, count] : list.skipped) {
    text +=
        fmt::format("{}{} {}", first ? "" : ", ", Thousands(static_cast<int64_t>(count)), reason);
    first = false;
  }
  out += "\n";
  for (const std::string& line : report::Wrap(text.substr(1), width)) out += line + "\n";
}

std::string LinkText(const ModuleList& list, const hlo::ModuleLink& link) {
  const bool itself = link.producer == link.consumer;
  return fmt::format("{} {} of {}, {}",
                     itself ? "its own results:" : list.modules[link.producer].Label(), link.arrays,
                     Count(link.parameters, "array"), Bytes(static_cast<double>(link.bytes)));
}

void AppendLinks(const ModuleList& list, bool all, int width, std::string& out) {
  std::map<size_t, std::vector<const hlo::ModuleLink*>> by_consumer;
  for (const hlo::ModuleLink& link : list.links) by_consumer[link.consumer].push_back(&link);
  if (by_consumer.empty()) return;
  out += "\nmay feed (inferred: results that have the shapes of parameters)\n";
  size_t consumers = 0;
  for (const auto& [consumer, links] : by_consumer) {
    if (!all && consumers == kMaxModuleLinks) {
      out += fmt::format("  {} more modules take such arrays: --all\n",
                         by_consumer.size() - consumers);
      break;
    }
    ++consumers;
    std::string text;
    size_t shown = 0;
    for (const hlo::ModuleLink* link : links) {
      if (!all && shown == kMaxModuleLinks) {
        text += fmt::format("; {} more", links.size() - shown);
        break;
      }
      text += (shown == 0 ? "" : "; ") + LinkText(list, *link);
      ++shown;
    }
    std::string_view start = "  ";
    for (const std::string& line : report::Wrap(
             Printable(fmt::format("{} <- {}", list.modules[consumer].Label(), text)), width - 4)) {
      out += std::string(start) + line + "\n";
      start = "    ";
    }
  }
}

void AppendValues(std::string_view label, const std::vector<hlo::ModuleValue>& values,
                  int64_t bytes, bool all, size_t most_values, int width, std::string& out) {
  if (values.empty()) return;
  AppendField(label,
              fmt::format("{}, {}", Count(static_cast<int64_t>(values.size()), "array"),
                          Bytes(static_cast<double>(bytes))),
              width, out);
  std::vector<const hlo::ModuleValue*> ordered;
  for (const hlo::ModuleValue& value : values) ordered.push_back(&value);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  const size_t most = all ? ordered.size() : std::min(ordered.size(), most_values);
  std::vector<std::string> shapes;
  int shape_width = 0;
  for (size_t i = 0; i < most; ++i) {
    shapes.push_back(Printable(ordered[i]->shape));
    shape_width = std::max(shape_width, DisplayWidth(shapes.back()));
  }
  shape_width = std::min(shape_width, width / 3);
  for (size_t i = 0; i < most; ++i) {
    const hlo::ModuleValue& value = *ordered[i];
    AppendLine(fmt::format("{}  {}  {}", FitRight(Bytes(static_cast<double>(value.bytes)), 8),
                           FitLeft(shapes[i], shape_width),
                           value.label.empty() ? value.name : value.label),
               width, out);
  }
  if (most < ordered.size()) {
    AppendLine(fmt::format("{} more: --all", ordered.size() - most), width, out);
  }
}

void AppendMemory(const hlo::ModuleMemory& memory, bool brief, int width, std::string& out) {
  AppendField("memory", hlo::MemoryText(memory), width, out);
  if (brief || memory.at_peak.empty()) return;
  AppendLine(memory.at_instruction.empty()
                 ? std::string("largest of the temporary ones:")
                 : fmt::format("alive at the peak, when {} runs:", memory.at_instruction),
             width, out);
  int owner_width = 0;
  for (const hlo::PeakBuffer& value : memory.at_peak) {
    owner_width = std::max(owner_width, static_cast<int>(value.owner.size()));
  }
  for (const hlo::PeakBuffer& value : memory.at_peak) {
    std::string line = FitRight(Bytes(static_cast<double>(value.size_bytes)), 8) + "  ";
    if (owner_width > 0) line += FitLeft(value.owner, owner_width) + "  ";
    if (value.source_line > 0) {
      const std::string file = value.source_file.substr(value.source_file.rfind('/') + 1);
      line += fmt::format("{}:{}  ", file, value.source_line);
    }
    line += fmt::format("{} {}{}", value.shape.substr(0, value.shape.find('{')), value.instruction,
                        value.shape_index);
    if (!value.layer.empty()) line += "  " + value.layer;
    AppendLine(line, width, out);
  }
  if (memory.more_at_peak > 0) {
    AppendLine(fmt::format("{} smaller: the memory usage report", memory.more_at_peak), width, out);
  }
}

std::string StagesText(const ModuleList& list, const ListedModule& module) {
  if (!module.loose_file.empty()) return "one HLO file, not named as XLA names dumps";
  std::string text = module.has_before && module.has_after ? "before and after optimisation"
                     : module.has_before                   ? "only before optimisation"
                     : module.has_after                    ? "only after optimisation"
                                        : "neither before nor after optimisation";
  if (module.pass_dumps > 0) text += fmt::format(", {}", Count(module.pass_dumps, "pass dump"));
  if (module.other_half) {
    text += fmt::format("; the other half is {} ({}% of op_names in common)",
                        list.modules[*module.other_half].Label(), module.other_half_pct);
  } else if (!list.of_run && module.has_before != module.has_after) {
    text += "; the other half is not in this folder";
  }
  return text;
}

// The name of a kind of files. All dumps of passes are one kind, and so are all kernels.
std::string GroupOf(const dumps::DumpFileNote& note) {
  if (note.kind == "hlo_pass") return "HLO after a pass";
  return note.what.find(" of '") != std::string::npos ? note.what.substr(0, note.what.find(" of '"))
                                                      : note.brief;
}

// Brief: "114 HLO after a pass, thunk sequence, ..."; else a line per kind of file; with `all` a
// line per file.
void AppendFiles(const ListedModule& module, bool brief, bool all, int width, std::string& out) {
  if (module.files.empty()) return;
  struct Group {
    size_t count = 0;
    uint64_t bytes = 0;
    std::string name;  // Name of one file of the group.
  };
  std::map<std::string, Group> groups;
  std::vector<std::string> order;
  std::vector<dumps::DumpFileNote> notes;
  for (const dumps::DumpFile& file : module.files) {
    notes.push_back(dumps::NoteOf(file.name));
    Group& group = groups[GroupOf(notes.back())];
    if (group.count == 0) order.push_back(GroupOf(notes.back()));
    ++group.count;
    group.bytes += file.size_bytes;
    group.name = file.name.suffix;
  }
  std::string heading =
      fmt::format("{}, {}", Count(static_cast<int64_t>(module.files.size()), "file"),
                  Bytes(static_cast<double>(module.size_bytes)));
  if (brief) {
    heading += ": ";
    for (const std::string& kind : order) {
      if (kind != order.front()) heading += ", ";
      heading += groups[kind].count > 1 ? fmt::format("{} x {}", groups[kind].count, kind) : kind;
    }
    AppendField("files", heading, width, out);
    return;
  }
  AppendField("files", heading, width, out);
  if (all) {
    for (size_t i = 0; i < module.files.size(); ++i) {
      AppendLine(
          fmt::format("{}  {}", FitRight(Bytes(static_cast<double>(module.files[i].size_bytes)), 8),
                      module.files[i].name.suffix),
          width, out);
      AppendLine(fmt::format("{:>10}{}: {}", "", notes[i].brief, notes[i].purpose), width, out);
    }
    return;
  }
  int kind_width = 0;
  for (const std::string& kind : order) {
    kind_width = std::max(kind_width, DisplayWidth(kind) + (groups[kind].count > 1 ? 6 : 0));
  }
  kind_width = std::min(kind_width, width / 2);
  for (const std::string& kind : order) {
    const Group& group = groups[kind];
    const std::string name = group.count > 1 ? fmt::format("{} x {}", group.count, kind) : kind;
    AppendLine(fmt::format("{}  {}  {}", FitRight(Bytes(static_cast<double>(group.bytes)), 8),
                           FitLeft(name, kind_width), group.count > 1 ? "" : group.name),
               width, out);
  }
  AppendLine("each by its name: --all", width, out);
}

void AppendCard(const ModuleList& list, size_t index, bool brief, bool all, int width,
                std::string& out) {
  const ListedModule& module = list.modules[index];
  out += Printable(module.Label());
  if (!module.Place().empty()) out += "  in " + Printable(module.Place());
  out += "\n";
  if (module.ShortName() != module.name) AppendField("name", module.name, width, out);
  if (!brief)
    AppendField("role", module.role + (module.why.empty() ? "" : ": " + module.why), width, out);
  std::string from = module.origin.Text();
  if (module.summary) {
    const std::string source = SourceText(module.summary->source, true);
    if (!source.empty()) from += ", " + source;
  }
  AppendField("from", from, width, out);
  if (!module.error.empty()) AppendField("error", module.error, width, out);
  if (module.summary) {
    const hlo::ModuleSummary& summary = *module.summary;
    AppendField("holds",
                fmt::format("{}, {}, {}{}", Count(summary.computations, "computation"),
                            Count(summary.instructions, "instruction"),
                            Count(summary.operations, "operation"),
                            summary.fusions > 0 ? fmt::format(" outside of the {}",
                                                              Count(summary.fusions, "fusion"))
                                                : ""),
                width, out);
    if (!summary.opcodes.empty()) {
      AppendField("ops", hlo::OpcodeText(summary.opcodes, all ? SIZE_MAX : kMaxListedOpcodes),
                  width, out);
    }
    if (!summary.fused_opcodes.empty()) {
      AppendField("inside",
                  hlo::OpcodeText(summary.fused_opcodes, all ? SIZE_MAX : kMaxListedOpcodes), width,
                  out);
    }
    if (summary.flops) {
      std::string work = fmt::format(
          "{}, {} read and written", Flop(static_cast<double>(*summary.flops)),
          summary.bytes_accessed ? Bytes(static_cast<double>(*summary.bytes_accessed)) : "unknown");
      if (summary.unknown_costs > 0) {
        work += fmt::format("; {} not counted", Count(summary.unknown_costs, "operation"));
      }
      AppendField("does", work, width, out);
    }
    if (module.memory) {
      AppendMemory(*module.memory, brief, width, out);
    } else if (summary.peak_memory_bytes >= 0) {
      AppendField("memory", Bytes(static_cast<double>(summary.peak_memory_bytes)), width, out);
    }
    const size_t most = brief ? kMaxValuesBrief : kMaxValues;
    AppendValues("takes", summary.parameters, summary.parameter_bytes, all, most, width, out);
    AppendValues("constants", summary.constants, summary.constant_bytes, all, most, width, out);
    AppendField("gives",
                fmt::format("{}, {}", Count(static_cast<int64_t>(summary.results.size()), "array"),
                            Bytes(static_cast<double>(summary.result_bytes))),
                width, out);
  }
  std::string_view label = "fed by";
  for (const hlo::ModuleLink& link : list.links) {
    if (link.consumer != index || brief) continue;
    AppendField(label, LinkText(list, link) + " (inferred)", width, out);
    label = "";
  }
  std::string feeds;
  size_t fed = 0;
  for (const hlo::ModuleLink& link : list.links) {
    if (link.producer != index || link.consumer == index) continue;
    if (++fed > kMaxModuleLinks && !all) continue;
    feeds += (feeds.empty() ? "" : ", ") + list.modules[link.consumer].Label();
  }
  if (fed > kMaxModuleLinks && !all)
    feeds += fmt::format(" and {} more: --all", fed - kMaxModuleLinks);
  if (!feeds.empty() && !brief) AppendField("may feed", feeds + " (inferred)", width, out);
  if (module.same_as) {
    AppendField("same as",
                list.modules[*module.same_as].Label() + ": the same content, compiled again", width,
                out);
  }
  if (!list.of_run) AppendField("stages", StagesText(list, module), width, out);
  if (module.thunks > 0) {
    AppendField("thunks",
                Count(static_cast<int64_t>(module.thunks), "thunk") + " in the thunk list", width,
                out);
  }
  AppendFiles(module, brief, all, width, out);
  for (const std::string& warning : module.warnings) AppendField("warning", warning, width, out);
  if (!list.of_run && module.pass_dumps > 0) {
    AppendField("next",
                fmt::format("xlatrace passes {} {}", ShellWord(list.path),
                            module.program_id ? std::to_string(*module.program_id)
                                              : ShellText(module.name)),
                width, out);
  }
}

}  // namespace

std::string ModuleListText(const ModuleList& list, bool all, const Terminal& terminal) {
  const int width = terminal.width;
  std::string out =
      Printable(list.path) + "  " + Count(static_cast<int64_t>(list.modules.size()), "module");
  if (!list.of_run) {
    out += fmt::format(", {}, {}", Count(static_cast<int64_t>(list.files), "file"),
                       Bytes(static_cast<double>(list.size_bytes)));
  }
  out += "\n\n";
  if (!list.modules.empty() && list.modules.front().role == "main") {
    const ListedModule& main = list.modules.front();
    for (const std::string& line :
         report::Wrap(Printable(fmt::format("{} is the main program: {}.", main.Label(), main.why)),
                      width - 2)) {
      out += "  " + line + "\n";
    }
    out += "\n";
  }
  AppendTable(list, all, terminal, out);
  if (list.missing_numbers > 0) {
    for (const std::string& line : report::Wrap(
             fmt::format("{} between them have no files: XLA numbers clones and what the autotuner "
                         "tries too.",
                         Count(list.missing_numbers, "number")),
             width)) {
      out += line + "\n";
    }
  }
  if (!list.modules.empty()) {
    out += "\n";
    AppendCard(list, 0, true, all, width, out);
  }
  AppendRecompiled(list, all, width, out);
  AppendLinks(list, all, width, out);
  AppendSkipped(list, width, out);
  if (!list.others.empty()) {
    out +=
        fmt::format("\n{} of no module\n", Count(static_cast<int64_t>(list.others.size()), "file"));
    const size_t most = all ? list.others.size() : std::min(list.others.size(), kMaxModuleLinks);
    for (size_t i = 0; i < most; ++i) {
      const dumps::DumpFileNote note = dumps::NoteOf(BaseName(list.others[i]));
      std::string_view name = list.others[i];
      if (name.starts_with(list.path)) name.remove_prefix(list.path.size());
      while (name.starts_with('/') || name.starts_with(':')) name.remove_prefix(1);
      out += "  " + Printable(fmt::format("{}: {}", name, note.what)) + "\n";
    }
    if (most < list.others.size())
      out += fmt::format("  {} more: --all\n", list.others.size() - most);
  }
  for (const std::string& warning : list.warnings) out += "\nwarning: " + Printable(warning) + "\n";
  if (list.modules.size() > 1) {
    out += fmt::format("\none module in detail: xlatrace modules {} {}\n",
                       Printable(ShellWord(list.path)),
                       list.of_run                  ? list.modules.back().handle
                       : list.modules[1].program_id ? std::to_string(*list.modules[1].program_id)
                                                    : ShellText(Printable(list.modules[1].name)));
  }
  return out;
}

std::string ModuleCards(const ModuleList& list, const std::vector<size_t>& which, bool all,
                        const Terminal& terminal) {
  std::string out;
  for (const size_t m : which) {
    if (!out.empty()) out += "\n";
    AppendCard(list, m, false, all, terminal.width, out);
  }
  return out;
}

}  // namespace xlatrace::tools
