// SPDX-License-Identifier: Apache-2.0
#include "tools/run_provenance.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "base/archive.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/number_format.h"
#include "dumps/dump_dir.h"
#include "dumps/instruction_history.h"
#include "dumps/pass_timeline.h"
#include "hlo/module_summary.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;
using dumps::HistoryEvent;

constexpr int64_t kMaxTracedOps = 50;
constexpr size_t kMaxEventInstructions = 12;  // Listed instructions of one event.
constexpr size_t kMaxOrigins = 20;            // Listed framework operations of one instruction.
constexpr size_t kMaxProvenanceWarnings = 3;
// Time limits for a dump that the user named, and for a dump that was found.
constexpr int kGivenDumpSeconds = 30;
constexpr int kFoundDumpSeconds = 10;
constexpr uint64_t kMaxDumpBytes = uint64_t{512}
                                   << 20;  // Size of one dump; two dumps are in memory.
constexpr double kMinAlikeShare = 0.9;
constexpr dumps::ListLimits kFoundLimits = {.depth = 3, .entries = 50'000};
constexpr std::string_view kHowToDump =
    "dump them with XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*'";

// Modules of the run with the same program, and the requested instructions.
struct WantedProgram {
  std::string name;
  std::string fingerprint;  // Empty: the run has no HLO of it.
  int64_t module_id = 0;    // One of them.
  std::vector<WantedInstruction> instructions;
};

Result<std::vector<WantedProgram>> ProgramsOf(store::RunDb& db,
                                              const std::vector<WantedInstruction>& wanted) {
  XLATRACE_ASSIGN(const store::Table modules,
                  db.Select("SELECT module_id, name, fingerprint FROM module"));
  std::map<int64_t, size_t> row_of;
  for (size_t i = 0; i < modules.rows.size(); ++i) row_of[modules.Int(i, "module_id")] = i;
  std::vector<WantedProgram> programs;
  for (const WantedInstruction& one : wanted) {
    const auto row = row_of.find(one.first);
    if (row == row_of.end()) continue;
    WantedProgram program{.name = modules.Text(row->second, "name"),
                          .fingerprint = modules.Text(row->second, "fingerprint"),
                          .module_id = one.first};
    auto same = std::find_if(programs.begin(), programs.end(), [&](const WantedProgram& other) {
      return other.module_id == program.module_id ||
             (!program.fingerprint.empty() && other.fingerprint == program.fingerprint);
    });
    if (same == programs.end()) same = programs.insert(programs.end(), std::move(program));
    same->instructions.push_back(one);
  }
  return programs;
}

// A module of the dump that has passes.
struct DumpedProgram {
  const dumps::DumpModule* module = nullptr;
  std::vector<dumps::PassStep> steps;
  size_t passes = 0;
  uint64_t largest_bytes = 0;
  std::optional<std::string> fingerprint;  // Once read; empty: it cannot be.
};

std::vector<DumpedProgram> ProgramsWithPasses(const dumps::DumpDir& dir) {
  std::vector<DumpedProgram> programs;
  for (const dumps::DumpModule& module : dir.modules) {
    DumpedProgram program{.module = &module, .steps = dumps::StepsOf(module)};
    program.passes = static_cast<size_t>(
        std::count_if(program.steps.begin(), program.steps.end(),
                      [](const dumps::PassStep& step) { return step.number >= 0; }));
    if (program.passes == 0) continue;
    for (const dumps::DumpFile& file : module.files) {
      const bool is_step =
          std::any_of(program.steps.begin(), program.steps.end(),
                      [&](const dumps::PassStep& step) { return step.file == file.path; });
      if (is_step) program.largest_bytes = std::max(program.largest_bytes, file.size_bytes);
    }
    programs.push_back(std::move(program));
  }
  // Among equal programs, the one with the most dumps comes first.
  std::stable_sort(programs.begin(), programs.end(),
                   [](const auto& a, const auto& b) { return a.passes > b.passes; });
  return programs;
}

std::unordered_set<std::string> Fingers(const model::HloModule& module) {
  std::unordered_set<std::string> fingers;
  for (const model::Instruction& instruction : module.instructions) {
    if (!hlo::IsOperation(instruction.opcode)) continue;
    fingers.insert(fmt::format("{}\n{}\n{}", instruction.name, instruction.opcode,
                               hlo::WithoutLayout(instruction.shape)));
  }
  return fingers;
}

// The part of the instructions of both that are in both, by name, opcode and shape.
double Alike(const std::unordered_set<std::string>& a, const std::unordered_set<std::string>& b) {
  const size_t most = std::max(a.size(), b.size());
  if (most == 0) return 0;
  const auto both = std::count_if(a.begin(), a.end(),
                                  [&](const std::string& finger) { return b.contains(finger); });
  return static_cast<double>(both) / static_cast<double>(most);
}

struct Match {
  DumpedProgram* program = nullptr;  // Null: none.
  double alike = 1;
};

class Matcher {
 public:
  Matcher(store::RunDb& db, std::vector<DumpedProgram>& dumped, const GoOn& go_on)
      : db_(db), dumped_(dumped), go_on_(go_on) {}

  Match Find(const WantedProgram& wanted) {
    if (wanted.fingerprint.empty()) return {};
    // Nearly always the name is the same, so few dumps are read.
    for (const bool same_name : {true, false}) {
      for (DumpedProgram& program : dumped_) {
        if ((program.module->name == wanted.name) != same_name) continue;
        if (FingerprintOf(program) == wanted.fingerprint) return {&program, 1};
      }
    }
    return FindAlike(wanted);
  }

 private:
  const std::string& FingerprintOf(DumpedProgram& program) {
    static const std::string kNone;
    if (!program.fingerprint) {
      if (program.largest_bytes > kMaxDumpBytes || !go_on_()) return kNone;
      const auto module = dumps::ReadHloFile(program.steps.back().file);
      program.fingerprint = module ? HashText(module->content_hash) : std::string();
    }
    return *program.fingerprint;
  }

  // The autotuner measures, so the compiled program may differ slightly between processes.
  Match FindAlike(const WantedProgram& wanted) {
    auto stored = db_.ReadModule(wanted.module_id);
    if (!stored) return {};
    const auto ran = hlo::ReadAny(std::make_shared<const std::string>(std::move(stored->bytes)));
    if (!ran) return {};
    const auto fingers = Fingers(*ran);
    Match best{nullptr, 0};
    for (DumpedProgram& program : dumped_) {
      if (program.module->name != wanted.name || program.largest_bytes > kMaxDumpBytes) continue;
      if (!go_on_()) break;
      const auto module = dumps::ReadHloFile(program.steps.back().file);
      if (!module) continue;
      const double alike = Alike(fingers, Fingers(*module));
      if (alike >= kMinAlikeShare && alike > best.alike) best = {&program, alike};
    }
    return best;
  }

  store::RunDb& db_;
  std::vector<DumpedProgram>& dumped_;
  const GoOn& go_on_;
};

std::vector<report::ProvenanceNote> NotesOf(const std::vector<dumps::InstructionNote>& notes,
                                            size_t most) {
  std::vector<report::ProvenanceNote> out;
  for (size_t i = 0; i < std::min(most, notes.size()); ++i) {
    const dumps::InstructionNote& note = notes[i];
    out.push_back({.name = note.name,
                   .opcode = note.opcode,
                   .shape = std::string(hlo::WithoutLayout(note.shape)),
                   .op_name = note.op_name,
                   .source_file = note.source_file,
                   .source_line = note.source_line});
  }
  return out;
}

std::set<std::string_view> NameSet(const std::vector<dumps::InstructionNote>& notes) {
  std::set<std::string_view> names;
  for (const dumps::InstructionNote& note : notes) names.insert(note.name);
  return names;
}

std::string_view EventWord(HistoryEvent::Kind kind) {
  switch (kind) {
    case HistoryEvent::Kind::kMade:
      return "made";
    case HistoryEvent::Kind::kAdded:
      return "added";
    case HistoryEvent::Kind::kReplaces:
      return "replaces";
    case HistoryEvent::Kind::kCopied:
      return "copied";
    case HistoryEvent::Kind::kChanged:
      return "changed";
    case HistoryEvent::Kind::kRenamed:
      return "renamed";
    default:  // The other kinds describe the end of an instruction.
      return "first";
  }
}

report::OpProvenance DescribeOp(const WantedInstruction& wanted,
                                const dumps::InstructionHistory& history,
                                const std::vector<dumps::PassStep>& steps) {
  report::OpProvenance op{.module_id = wanted.first, .instruction = wanted.second};
  for (const HistoryEvent& event : history.events) {
    if (event.kind == HistoryEvent::Kind::kChanged && event.text.starts_with("operand ")) {
      ++op.operands_only;
      continue;
    }
    const dumps::PassStep& step = steps[event.step];
    op.events.push_back({.pass = step.Label(),
                         .pipeline = step.is_start() ? std::string() : step.pipeline,
                         .dump = step.number,
                         .event = std::string(EventWord(event.kind)),
                         .name = event.instruction.name,
                         .text = event.text,
                         .before = NotesOf(event.others, kMaxEventInstructions),
                         .before_count = event.others.size()});
  }
  op.origins_of = steps[history.origins_step].Label();
  op.origins_count = history.origins.size();
  op.origins_told = op.origins_count > 1 && !history.events.empty() &&
                    history.events.front().kind == HistoryEvent::Kind::kMade &&
                    NameSet(history.events.front().others) == NameSet(history.origins);
  if (!op.origins_told) op.origins = NotesOf(history.origins, kMaxOrigins);
  return op;
}

// Appends the provenance from the dumps of one program.
void DescribeProgram(const WantedProgram& wanted, const Match& match, const GoOn& go_on,
                     report::Provenance& out) {
  const std::vector<dumps::PassStep>& steps = match.program->steps;
  std::vector<std::string> names;
  for (const WantedInstruction& one : wanted.instructions) names.push_back(one.second);
  const auto histories = dumps::OriginsOf(steps, names, go_on);
  if (!histories) {
    out.notes.push_back(fmt::format("{}: {}", wanted.name, histories.error().message));
    return;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!histories->of[i]) continue;
    out.ops.push_back(DescribeOp(wanted.instructions[i], *histories->of[i], steps));
  }
  if (match.alike < 1) {
    out.notes.push_back(fmt::format(
        "{} of the dump is not quite the one that ran: {}% of the instructions are in both",
        wanted.name, Percent(match.alike, 1)));
  }
  if (histories->stopped) {
    out.notes.push_back(
        fmt::format("the dumps of {} took too long to read: changes before {} are not shown; all "
                    "changes of one "
                    "op: xlatrace passes DIR {} --instruction NAME",
                    wanted.name, steps[histories->from_step].Label(), wanted.name));
  }
  for (size_t i = 0; i < std::min(kMaxProvenanceWarnings, histories->warnings.size()); ++i) {
    out.notes.push_back("left out, it cannot be read: " + histories->warnings[i]);
  }
  if (histories->warnings.size() > kMaxProvenanceWarnings) {
    out.notes.push_back(fmt::format("{} more dumps of {} cannot be read",
                                    histories->warnings.size() - kMaxProvenanceWarnings,
                                    wanted.name));
  }
}

std::string NamesOf(const std::vector<WantedProgram>& programs) {
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(programs.size(), 5); ++i) {
    names += (i == 0 ? "" : ", ") + programs[i].name;
  }
  return programs.size() > 5 ? fmt::format("{} and {} more", names, programs.size() - 5) : names;
}

Result<report::Provenance> ProvenanceIn(store::RunDb& db, const dumps::DumpDir& dir,
                                        const std::vector<WantedInstruction>& wanted,
                                        const GoOn& go_on) {
  XLATRACE_ASSIGN(const std::vector<WantedProgram> programs, ProgramsOf(db, wanted));
  std::vector<DumpedProgram> dumped = ProgramsWithPasses(dir);
  if (dumped.empty()) {
    return MakeError(fmt::format("'{}' holds no dumps of passes", dir.path),
                     std::string(kHowToDump));
  }
  if (std::all_of(programs.begin(), programs.end(),
                  [](const WantedProgram& program) { return program.fingerprint.empty(); })) {
    return MakeError(
        fmt::format("'{}' holds no HLO that '{}' could be compared with", db.path(), dir.path),
        "attach it first: xlatrace attach RUN --modules DIR");
  }
  report::Provenance out{.dump = dir.path, .wanted = wanted.size()};
  Matcher matcher(db, dumped, go_on);
  bool any = false;
  std::vector<std::string> missing;
  for (const WantedProgram& program : programs) {
    const Match match = matcher.Find(program);
    if (match.program == nullptr) {
      missing.push_back(program.name);
      continue;
    }
    any = true;
    DescribeProgram(program, match, go_on, out);
  }
  if (!any && !go_on()) {
    return MakeError(fmt::format("'{}' took too long to read", dir.path),
                     "name the folder of one process, or: xlatrace passes DIR MODULE "
                     "--instruction NAME");
  }
  if (!any) {
    return MakeError(
        fmt::format(
            "'{}' is not a dump of this run: of its {} with dumps of passes none is {}", dir.path,
            dumped.size() == 1 ? "one module"
                               : Thousands(static_cast<int64_t>(dumped.size())) + " modules",
            NamesOf(programs)),
        "modules are compared by content, so the dump has to be of the same program, XLA and "
        "flags; xlatrace modules DIR lists what it holds");
  }
  for (const std::string& name : missing) {
    out.notes.push_back(name + " ran but is not in the dump, so origins of its ops are not known");
  }
  return out;
}

// The folder or archive that a file of a dump was read from.
std::string DumpOfFile(const std::string& file) {
  if (const size_t colon = file.find(':'); colon != std::string::npos) {
    if (const std::string archive = file.substr(0, colon); LooksLikeArchive(archive)) {
      return archive;
    }
  }
  return fs::path(file).parent_path().string();
}

// The value of --xla_dump_to in XLA_FLAGS; of several the last, as XLA takes it.
std::string DumpOfFlags(std::string_view flags) {
  constexpr std::string_view kFlag = "--xla_dump_to=";
  const size_t at = flags.rfind(kFlag);
  if (at == std::string_view::npos) return {};
  std::string_view value = flags.substr(at + kFlag.size());
  if (!value.empty() && (value[0] == '"' || value[0] == '\'')) {
    return std::string(value.substr(1, value.find(value[0], 1) - 1));
  }
  return std::string(value.substr(0, value.find_first_of(" \t\n")));
}

Result<std::vector<std::string>> KnownDumps(store::RunDb& db) {
  std::vector<std::string> known;
  std::set<std::string> seen;
  const auto add = [&](std::string path) {
    if (!path.empty() && Exists(path) && seen.insert(path).second) known.push_back(path);
  };
  XLATRACE_ASSIGN(const store::Table flags,
                  db.Select("SELECT value FROM run_info WHERE key = 'xla_flags'", {}, 1));
  if (!flags.rows.empty()) {
    // Where the program ran is not known; mostly it is where the run.db lies.
    const std::string dump = DumpOfFlags(flags.Text(0, "value"));
    if (!dump.empty()) add((fs::path(db.path()).parent_path() / dump).string());
  }
  XLATRACE_ASSIGN(const store::Table files,
                  db.Select("SELECT DISTINCT file FROM module WHERE source = 'dump' AND file IS "
                            "NOT NULL ORDER BY file"));
  for (size_t i = 0; i < files.rows.size(); ++i) add(DumpOfFile(files.Text(i, "file")));
  add(fs::path(db.path()).replace_extension(".dump").string());
  return known;
}

}  // namespace

GoOn ForSeconds(int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  return [end] { return std::chrono::steady_clock::now() < end; };
}

Result<CostlyOps> FindCostlyOps(store::RunDb& db) {
  XLATRACE_ASSIGN(const store::Table rows,
                  db.Select("SELECT module_id, instruction FROM op_time WHERE instruction IS NOT "
                            "NULL AND module_id IS NOT NULL AND self_ns > 0 ORDER BY "
                            "coalesce(steady_ns, 0) DESC, self_ns DESC"));
  CostlyOps costly{.with_time = static_cast<int64_t>(rows.rows.size())};
  for (size_t i = 0; i < rows.rows.size() && static_cast<int64_t>(i) < kMaxTracedOps; ++i) {
    costly.ops.emplace_back(rows.Int(i, "module_id"), rows.Text(i, "instruction"));
  }
  return costly;
}

Result<report::Provenance> ReadProvenance(store::RunDb& db, const std::string& dump,
                                          const std::vector<WantedInstruction>& wanted,
                                          const GoOn& go_on) {
  XLATRACE_ASSIGN(const dumps::DumpDir dir, dumps::ListDumpDir(dump));
  return ProvenanceIn(db, dir, wanted, go_on);
}

Result<std::optional<report::Provenance>> FindProvenance(store::RunDb& db,
                                                         const std::optional<std::string>& dump) {
  XLATRACE_ASSIGN(const CostlyOps costly, FindCostlyOps(db));
  std::optional<report::Provenance> found;
  if (dump) {
    XLATRACE_ASSIGN(found, ReadProvenance(db, *dump, costly.ops, ForSeconds(kGivenDumpSeconds)));
  } else if (!costly.ops.empty()) {
    XLATRACE_ASSIGN(const std::vector<std::string> known, KnownDumps(db));
    const GoOn go_on = ForSeconds(kFoundDumpSeconds);
    for (const std::string& path : known) {
      const auto dir = dumps::ListDumpDir(path, kFoundLimits);
      if (!dir) continue;
      auto one = ProvenanceIn(db, *dir, costly.ops, go_on);
      if (!one) continue;
      found = std::move(*one);
      break;
    }
  }
  if (found && costly.with_time > static_cast<int64_t>(costly.ops.size())) {
    found->notes.push_back(
        fmt::format("origins of the {} ops that take most time, of {}; for another op: "
                    "xlatrace show OP RUN --modules DIR",
                    costly.ops.size(), Thousands(costly.with_time)));
  }
  return found;
}

}  // namespace xlatrace::tools
