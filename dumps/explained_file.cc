// SPDX-License-Identifier: Apache-2.0
#include "dumps/explained_file.h"

#include <charconv>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "dumps/file_kind.h"
#include "hlo/artefacts/autotune_results.h"
#include "hlo/artefacts/debug_options.h"
#include "hlo/artefacts/live_ranges.h"
#include "hlo/artefacts/memory_usage.h"
#include "hlo/artefacts/module_memory.h"
#include "hlo/artefacts/target_config.h"
#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::dumps {
namespace {

constexpr size_t kExplainedHeadBytes = 64 << 10;
// Larger artefacts are named, but not read.
constexpr uint64_t kMaxArtefactBytes = uint64_t{1} << 30;

// The kind in a note for the kind of the first bytes.
std::string_view NoteKindOf(FileKind kind) {
  switch (kind) {
    case FileKind::kHloText:
    case FileKind::kHloProto:
    case FileKind::kHloTextProto:
      return "hlo";
    case FileKind::kThunkSequence:
      return "thunk_sequence";
    case FileKind::kThunkMetadata:
      return "thunk_metadata";
    case FileKind::kBufferAssignment:
    case FileKind::kBufferValues:
      return "buffer_assignment";
    case FileKind::kLiveRanges:
      return "live_range";
    case FileKind::kMemoryUsage:
      return "memory_report";
    case FileKind::kTargetConfig:
      return "target";
    case FileKind::kAutotuneResults:
      return "autotune";
    case FileKind::kModuleConfig:
    case FileKind::kDebugOptions:
      return "options";
    case FileKind::kMlir:
    case FileKind::kMlirBytecode:
      return "mlir";
    case FileKind::kLlvmIr:
    case FileKind::kLlvmBitcode:
      return "llvm_ir";
    case FileKind::kPtx:
      return "ptx";
    case FileKind::kElf:
    case FileKind::kCubin:
    case FileKind::kHsaco:
      return "object";
    case FileKind::kGraphviz:
    case FileKind::kHtml:
      return "graph";
    case FileKind::kXSpace:
    case FileKind::kSqlite:
      return "profile";
    case FileKind::kZip:
      return "archive";
    default:
      return "unknown";
  }
}

// Corrects the note of a file with an insufficient name by its first bytes.
void NoteByContent(std::string_view head, DumpFileNote& note) {
  const FileKind kind = KindOfContent(head);
  const std::string_view word = NoteKindOf(kind);
  if (word == "unknown") return;
  note.kind = word;
  note.what = Description(kind);
  note.brief = note.what;
  note.purpose = "detected from its content, not from its name";
  note.next = word == "profile" ? "xlatrace import FILE -o run.db"
              : word == "hlo"   ? "xlatrace explain --instructions lists its instructions"
                                : "xlatrace modules DIR finds the dumps of a folder";
  note.holds_hlo = word == "hlo";
}

void Fail(Error error, const std::string& path, ExplainedFile& file) {
  file.error = std::move(error.message);
  file.hint = std::move(error.hint);
  // Readers put the file into their messages; here, it has its own field.
  const std::string context = fmt::format("reading '{}': ", path);
  if (file.error.starts_with(context)) file.error.erase(0, context.size());
  TakePlace(file.error, file.line, file.column);
}

// Text without a known name that does not begin like HLO: the reader reports the first error.
bool MayBeHlo(std::string_view path) { return path.ends_with(".txt") || path.ends_with(".hlo"); }

constexpr std::string_view kNothingKnown =
    "is nothing that XLA dumps: neither HLO nor a known artefact";

template <typename T>
bool Take(Result<T> read, ExplainedFile& file, T& value) {
  if (read) {
    value = std::move(*read);
    return true;
  }
  file.warning = std::move(read).error().message;
  return false;
}

std::string Counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Thousands(static_cast<int64_t>(count)), noun,
                     count == 1 ? "" : "s");
}

// Describes the artefacts that have a reader.
void ReadArtefact(std::string bytes, ExplainedFile& file) {
  const FileKind kind = KindOfContent(std::string_view(bytes).substr(0, kExplainedHeadBytes));
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  switch (kind) {
    case FileKind::kBufferAssignment: {
      hlo::BufferAssignment assignment;
      if (!Take(hlo::ReadBufferAssignment(*shared), file, assignment)) return;
      file.holds = fmt::format("{}, {}", Counted(assignment.allocations.size(), "allocation"),
                               hlo::MemoryText(hlo::MemoryOf(assignment, nullptr)));
      return;
    }
    case FileKind::kLiveRanges: {
      hlo::LiveRanges ranges;
      if (!Take(hlo::ReadLiveRanges(*shared), file, ranges)) return;
      file.holds = Counted(ranges.ranges.size(), "value");
      if (ranges.peak_bytes >= 0) {
        file.holds +=
            fmt::format(", at the peak {} in {}", Bytes(static_cast<double>(ranges.peak_bytes)),
                        Counted(ranges.at_peak.size(), "value"));
      }
      return;
    }
    case FileKind::kMemoryUsage: {
      std::vector<hlo::MemorySpace> spaces;
      if (!Take(hlo::ReadMemoryUsage(*shared), file, spaces)) return;
      for (const hlo::MemorySpace& space : spaces) {
        file.holds += fmt::format("{}{} in memory space {}", file.holds.empty() ? "" : ", ",
                                  Bytes(static_cast<double>(space.total_bytes)), space.name);
      }
      return;
    }
    case FileKind::kTargetConfig: {
      hlo::TargetConfig target;
      if (!Take(hlo::ReadTargetConfig(shared), file, target)) return;
      file.holds = target.description.empty() ? target.platform : target.description;
      if (target.core_count > 0) file.holds += fmt::format(", {} cores", target.core_count);
      if (!target.compute_capability.empty()) file.holds += ", " + target.compute_capability;
      return;
    }
    case FileKind::kAutotuneResults: {
      hlo::AutotuneResults results;
      if (!Take(hlo::ReadAutotuneResults(shared), file, results)) return;
      file.holds = Counted(results.results.size(), "result");
      if (!results.results.empty() && !results.results.front().device.empty()) {
        file.holds += " of " + results.results.front().device;
      }
      return;
    }
    case FileKind::kDebugOptions: {
      hlo::XlaFlags flags;
      if (!Take(hlo::ReadDebugOptions(shared), file, flags)) return;
      file.holds = Counted(flags.size(), "flag");
      for (size_t i = 0; i < flags.size() && i < 4; ++i) {
        file.holds += fmt::format("{}{}={}", i == 0 ? ": " : ", ", flags[i].name, flags[i].value);
      }
      if (flags.size() > 4) file.holds += fmt::format(" and {} more", flags.size() - 4);
      return;
    }
    default:
      return;
  }
}

// Kinds that ReadArtefact reads; config.pbtxt is long and has no useful summary.
bool IsReadableArtefact(std::string_view kind) {
  return kind == "buffer_assignment" || kind == "live_range" || kind == "memory_report" ||
         kind == "target" || kind == "autotune" || kind == "options";
}

void ReadHlo(std::string bytes, ExplainedFile& file) {
  auto module = hlo::ReadAny(std::make_shared<const std::string>(std::move(bytes)));
  if (!module) return Fail(std::move(module).error(), file.path, file);
  file.module = std::move(*module);
  if (file.note.name && file.module->program_id < 0) {
    file.module->program_id = file.note.name->program_id;
  }
}

}  // namespace

void TakePlace(std::string& message, std::optional<int64_t>& line, std::optional<int64_t>& column) {
  const char* const end = message.data() + message.size();
  int64_t first = 0;
  int64_t second = 0;
  const auto [colon, error] = std::from_chars(message.data(), end, first);
  if (error != std::errc() || colon == end || *colon != ':') return;
  const auto [rest, second_error] = std::from_chars(colon + 1, end, second);
  if (second_error != std::errc() || end - rest < 2 || rest[0] != ':' || rest[1] != ' ') return;
  line = first;
  column = second;
  message.erase(0, static_cast<size_t>(rest - message.data()) + 2);
}

ExplainedFile ExplainFile(const std::string& path) {
  ExplainedFile file;
  file.path = path;
  const std::filesystem::path place(path);
  file.note = NoteOf(place.filename().string());
  if (IsDirectory(path)) {
    file.note.kind = "folder";
    file.note.what = "folder";
    file.error = "is a folder";
    file.hint = fmt::format("xlatrace modules {}", ShellWord(path));
    return file;
  }
  std::error_code ignored;
  const uintmax_t size = std::filesystem::file_size(place, ignored);
  if (!ignored) file.size_bytes = size;

  const bool thunks = file.note.kind == "thunk_sequence";
  const bool by_content = file.note.kind == "unknown" || file.note.kind == "other";
  if (!file.note.holds_hlo && !thunks) {
    auto head = ReadFileHead(path, kExplainedHeadBytes);
    if (!head) {
      Fail(std::move(head).error(), path, file);
      return file;
    }
    if (!by_content) {
      if (IsReadableArtefact(file.note.kind)) {
        if (auto bytes = ReadFileInflated(path, kMaxArtefactBytes)) {
          ReadArtefact(std::move(*bytes), file);
        } else {
          file.warning = bytes.error().message;
        }
      }
      return file;
    }
    if (!LooksCompressed(*head)) {
      NoteByContent(*head, file.note);
      const bool unknown = file.note.kind == "unknown";
      if (!file.note.holds_hlo && !(unknown && MayBeHlo(path))) {
        if (unknown) file.error = head->empty() ? "is empty" : kNothingKnown;
        return file;
      }
    }
  }
  auto bytes = ReadFileInflated(path);
  if (!bytes) {
    Fail(std::move(bytes).error(), path, file);
    return file;
  }
  if (thunks) {
    auto list = hlo::ReadThunks(*bytes, {});
    if (!list) {
      Fail(std::move(list).error(), path, file);
    } else {
      file.thunks = std::move(*list);
    }
    return file;
  }
  if (by_content && !file.note.holds_hlo) {  // It was compressed.
    NoteByContent(std::string_view(*bytes).substr(0, kExplainedHeadBytes), file.note);
    const bool unknown = file.note.kind == "unknown";
    if (!file.note.holds_hlo && !(unknown && MayBeHlo(path))) {
      if (unknown) file.error = kNothingKnown;
      return file;
    }
  }
  ReadHlo(std::move(*bytes), file);
  return file;
}

}  // namespace xlatrace::dumps
