// SPDX-License-Identifier: Apache-2.0
#include "dumps/dump_name.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace xlatrace::dumps {
namespace {

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!EndsWith(text, suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

template <typename Int>
bool TakeInt(std::string_view& text, Int* value) {
  if (text.empty() || !IsDigit(text[0])) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// Removes the extension of a file with HLO; kOther for other extensions.
DumpKind TakeHloExtension(std::string_view& suffix) {
  if (TakeSuffix(suffix, ".txt") || TakeSuffix(suffix, ".hlo")) return DumpKind::kHloText;
  if (TakeSuffix(suffix, ".hlo.pb") || TakeSuffix(suffix, ".pb")) return DumpKind::kHloProto;
  for (const std::string_view graph : {".dot", ".html", ".url", ".pyz"}) {
    if (TakeSuffix(suffix, graph)) return DumpKind::kGraph;
  }
  return TakeSuffix(suffix, ".riegeli") ? DumpKind::kSnapshot : DumpKind::kOther;
}

// "sm_9.0a", "gfx942": only CUDA's targets may contain a dot.
bool IsTarget(std::string_view text) {
  if (TakePrefix(text, "sm_")) {
    const size_t dot = text.find('.');
    if (!AllDigits(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
    while (!text.empty() && IsLower(text.back())) text.remove_suffix(1);
    return AllDigits(text);
  }
  return !text.empty() && text.find('.') == std::string_view::npos;
}

// [TARGET_]PLATFORM_after_optimizations[-REPORT], after_optimizations, before_optimizations.
bool ParseOptimizations(std::string_view suffix, DumpName& name) {
  const DumpKind kind = TakeHloExtension(suffix);
  if (kind == DumpKind::kOther) return false;
  if (suffix == "before_optimizations") {
    name.stage = DumpStage::kBefore;
    name.kind = kind;
    return true;
  }
  constexpr std::string_view kAfter = "after_optimizations";
  const size_t at = suffix.find(kAfter);
  if (at == std::string_view::npos) return false;
  std::string_view before = suffix.substr(0, at);
  std::string_view report = suffix.substr(at + kAfter.size());
  if (!before.empty()) {
    if (before.back() != '_') return false;
    before.remove_suffix(1);
    const size_t underscore = before.rfind('_');
    const std::string_view platform =
        before.substr(underscore == std::string_view::npos ? 0 : underscore + 1);
    const std::string_view target =
        underscore == std::string_view::npos ? std::string_view() : before.substr(0, underscore);
    if (!std::all_of(platform.begin(), platform.end(), IsLower)) return false;
    if (!target.empty() && !IsTarget(target)) return false;
    name.platform = platform;
    name.target = target;
  }
  if (report.empty() || report == ".top_level") {
    name.stage = DumpStage::kAfter;
    name.kind = kind;
    return true;
  }
  if (report[0] != '-') return false;
  name.kind = report.find("buffer-assignment") != std::string_view::npos
                  ? DumpKind::kBufferAssignment
                  : DumpKind::kMemoryReport;
  return true;
}

// NNNN.PIPELINE.after_PASS[.before_PASS].EXT, and after_PASS.EXT, before_PASS.EXT.
bool ParsePass(std::string_view suffix, DumpName& name) {
  const DumpKind kind = TakeHloExtension(suffix);
  if (kind == DumpKind::kOther) return false;
  if (suffix.starts_with("after_") || suffix.starts_with("before_")) {
    if (suffix.find('.') != std::string_view::npos) return false;
    name.kind = kind;
    name.stage = DumpStage::kAfterPass;
    if (TakePrefix(suffix, "after_")) {
      name.pass = suffix;
    } else {
      name.next_pass = suffix.substr(7);
    }
    return true;
  }
  constexpr size_t kMinDigits = 4;
  const size_t dot = suffix.find('.');
  if (dot == std::string_view::npos || dot < kMinDigits || !AllDigits(suffix.substr(0, dot))) {
    return false;
  }
  std::string_view rest = suffix.substr(dot + 1);
  const size_t after = rest.find(".after_");
  if (after == std::string_view::npos) return false;
  const std::string_view pipeline = rest.substr(0, after);
  // "186875.0003.fusion.after_..." is the end of a module's name and a pass, not a pipeline 0003.
  if (AllDigits(pipeline.substr(0, pipeline.find('.')))) return false;
  int32_t number = 0;
  if (!TakeInt(suffix, &number)) return false;
  std::string_view pass = rest.substr(after + 7);
  const size_t before = pass.rfind(".before_");
  if (before != std::string_view::npos) {
    name.next_pass = pass.substr(before + 8);
    pass = pass.substr(0, before);
  }
  name.kind = kind;
  name.stage = DumpStage::kAfterPass;
  name.pass_number = number;
  name.pipeline = pipeline;
  name.pass = pass;
  return true;
}

// Suffixes of one word, or a word after a running number ("12.ptx").
bool ParseArtefact(std::string_view suffix, DumpName& name) {
  struct Artefact {
    std::string_view suffix;
    DumpKind kind;
  };
  constexpr Artefact kWhole[] = {
      {"thunk_sequence.txt", DumpKind::kThunkSequence},
      {"thunk_schedule", DumpKind::kThunkSequence},
      {"thunk_sequence_after_thunk_passes.txt", DumpKind::kThunkSequenceFinal},
      {"thunk_metadata.txt", DumpKind::kThunkMetadata},
      {"gpu_target_config.pbtxt", DumpKind::kTargetConfig},
      {"autotune_results.pbtxt", DumpKind::kAutotune},
      {"debug_options", DumpKind::kDebugOptions},
      {"config.pbtxt", DumpKind::kDebugOptions},
      {"thunk_metadata.pb", DumpKind::kThunkMetadata},
      {"metadata.textproto", DumpKind::kOther},
  };
  for (const Artefact& artefact : kWhole) {
    if (suffix != artefact.suffix) continue;
    name.kind = artefact.kind;
    return true;
  }
  if (suffix.starts_with("execution_")) {
    if (suffix.find("snapshot") == std::string_view::npos) return false;
    name.kind = DumpKind::kSnapshot;
    return true;
  }
  std::string_view rest = suffix;
  int64_t running = 0;
  if (TakeInt(rest, &running) && !TakePrefix(rest, ".")) return false;
  TakePrefix(rest, "inlined.");
  TakePrefix(rest, "constants.");
  if (rest == "ptx") {
    name.kind = DumpKind::kPtx;
    return true;
  }
  if ((rest.starts_with("ir-no-opt") || rest.starts_with("ir-with-opt")) && EndsWith(rest, ".ll")) {
    name.kind = DumpKind::kLlvmIr;
    return true;
  }
  return false;
}

bool ParseSuffix(std::string_view suffix, DumpName& name) {
  if (!ParseOptimizations(suffix, name) && !ParsePass(suffix, name) &&
      !ParseArtefact(suffix, name)) {
    return false;
  }
  name.suffix = suffix;
  return true;
}

}  // namespace

std::optional<DumpName> ParseDumpName(std::string_view file_name) {
  DumpName name;
  for (const std::string_view compression : {"gz", "xz", "zst", "bz2"}) {
    const size_t size = compression.size();
    if (file_name.size() > size + 1 && EndsWith(file_name, compression) &&
        file_name[file_name.size() - size - 1] == '.') {
      name.compression = compression;
      file_name.remove_suffix(size + 1);
      break;
    }
  }
  constexpr std::string_view kModule = "module_";
  const size_t at = file_name.find(kModule);
  if (at == std::string_view::npos) return std::nullopt;
  if (at > 0) {  // TIMESTAMP "." or PREFIX "."
    if (file_name[at - 1] != '.') return std::nullopt;
    const std::string_view prefix = file_name.substr(0, at - 1);
    if (AllDigits(prefix)) {
      std::string_view digits = prefix;
      if (!TakeInt(digits, &name.timestamp_us)) return std::nullopt;
    }
  }
  std::string_view rest = file_name.substr(at + kModule.size());
  if (!TakeInt(rest, &name.program_id) || !TakePrefix(rest, ".")) return std::nullopt;
  if (rest.starts_with("cl_")) {
    std::string_view number = rest.substr(3);
    int64_t change = 0;
    if (TakeInt(number, &change) && TakePrefix(number, ".")) rest = number;
  }
  if (rest.empty()) return std::nullopt;
  // Module name and suffix may contain dots: the longest known suffix wins.
  if (ParseSuffix(rest, name)) return name;
  for (size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.', dot + 1)) {
    DumpName candidate = name;
    if (!ParseSuffix(rest.substr(dot + 1), candidate)) continue;
    candidate.module_name = rest.substr(0, dot);
    return candidate;
  }
  const size_t dot = rest.find('.');
  name.module_name = rest.substr(0, dot);
  if (dot != std::string_view::npos) name.suffix = rest.substr(dot + 1);
  return name;
}

}  // namespace xlatrace::dumps
