// SPDX-License-Identifier: Apache-2.0
#include "dumps/file_kind.h"

#include <string>

#include "base/compress.h"
#include "base/text.h"
#include "hlo/artefacts/line_reader.h"
#include "hlo/artefacts/live_ranges.h"
#include "hlo/proto/text_proto.h"
#include "hlo/proto/xspace.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::dumps {
namespace {

using namespace std::string_view_literals;

FileKind Binary(std::string_view head) {
  if (head.starts_with("\x7f"
                       "ELF")) {
    const auto machine = [&] {
      if (head.size() < 20) return 0;
      return static_cast<unsigned char>(head[18]) | static_cast<unsigned char>(head[19]) << 8;
    }();
    constexpr int kCudaMachineCode = 190;
    constexpr int kAmdGpuMachineCode = 224;
    return machine == kCudaMachineCode     ? FileKind::kCubin
           : machine == kAmdGpuMachineCode ? FileKind::kHsaco
                                           : FileKind::kElf;
  }
  if (head.starts_with("BC\xc0\xde") || head.starts_with("\xde\xc0\x17\x0b")) {
    return FileKind::kLlvmBitcode;
  }
  if (head.starts_with("ML\xefR")) return FileKind::kMlirBytecode;
  if (head.starts_with("SQLite format 3")) return FileKind::kSqlite;
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06")) return FileKind::kZip;
  return FileKind::kUnknown;
}

FileKind TextProtoKind(std::string_view head) {
  const std::string_view first = hlo::TrimBlanks(head);
  if (Has(head, "gpu_device_info {") || Has(head, "gpu_device_info:")) {
    return FileKind::kTargetConfig;
  }
  if (first.starts_with("thunk_metadata")) return FileKind::kThunkMetadata;
  if (first.starts_with("hlo_module") || Has(head, "entry_computation_name:") ||
      first.starts_with("computations {")) {
    return FileKind::kHloTextProto;
  }
  if (first.starts_with("entry_computation_layout") || Has(head, "\ndebug_options {")) {
    return FileKind::kModuleConfig;
  }
  if (first.starts_with("xla_")) return FileKind::kDebugOptions;
  const bool results = Has(head, "results {") || Has(head, "dots {") || Has(head, "convs {");
  if (first.starts_with("version:") || (results && Has(head, "device:"))) {
    return FileKind::kAutotuneResults;
  }
  return FileKind::kTextProto;
}

// A line of a thunk list: "  003: kKernel ..." or "kGemm \t...".
bool IsThunkLine(std::string_view line) {
  line = hlo::TrimBlanks(line);
  int64_t id = 0;
  if (hlo::TakeInt(line, &id) && !hlo::TakePrefix(line, ": ")) return false;
  line = hlo::TrimBlanks(line);
  return line.size() > 2 && line[0] == 'k' && line[1] >= 'A' && line[1] <= 'Z' &&
         line.substr(0, line.find_first_of(" \t[,")).find_first_of("({=\"") ==
             std::string_view::npos;
}

FileKind TextKind(std::string_view head) {
  size_t at = head.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos) return FileKind::kEmpty;
  const std::string_view text = head.substr(at);
  if (text.starts_with("HloModule")) return FileKind::kHloText;
  if (text.starts_with("BufferAssignment:") || text.starts_with("allocation 0:")) {
    return FileKind::kBufferAssignment;
  }
  if (text.starts_with("Total bytes used:") || text.starts_with("Used values:")) {
    return FileKind::kBufferValues;
  }
  if (text.starts_with("HloLiveRange")) return FileKind::kLiveRanges;
  if (text.starts_with("Memory Space:")) return FileKind::kMemoryUsage;
  if (text.starts_with("Total order:")) return FileKind::kThunkSequence;
  if (text.starts_with("; ModuleID") || text.starts_with("target datalayout") ||
      text.starts_with("source_filename =") || Has(head, "\ntarget triple = \"") ||
      Has(head, "\ndefine ")) {
    return FileKind::kLlvmIr;
  }
  if (Has(head, "\n.version ") && Has(head, "\n.target ")) return FileKind::kPtx;
  if (text.starts_with(".version ") && Has(head, ".target ")) return FileKind::kPtx;
  if (text.starts_with("module @") || text.starts_with("module {") ||
      text.starts_with("module attributes") || text.starts_with("#loc") ||
      text.starts_with("builtin.module") || text.starts_with("func.func") ||
      text.starts_with("\"builtin.module\"") || Has(head, "\nmodule @") ||
      text.starts_with("// -----// IR Dump")) {
    return FileKind::kMlir;
  }
  if (text.starts_with("digraph")) return FileKind::kGraphviz;
  if (text.starts_with("<!DOCTYPE") || text.starts_with("<!doctype") || text.starts_with("<html")) {
    return FileKind::kHtml;
  }
  if (text[0] == '{' || text[0] == '[') return FileKind::kJson;
  hlo::LineReader lines(text);
  std::string_view line;
  if (lines.Next(&line) && IsThunkLine(line)) return FileKind::kThunkSequence;
  if (hlo::LooksLikeHloText(head)) return FileKind::kHloText;
  if (hlo::LooksLikeTextProto(head)) return TextProtoKind(text);
  if (hlo::HoldsLiveRanges(head)) return FileKind::kLiveRanges;
  return FileKind::kUnknown;
}

// True if it contains control characters except white space.
bool IsBinary(std::string_view head) {
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') return true;
  }
  return false;
}

// A message whose first field is a string or message, as in most protos here.
bool MayBeProto(std::string_view head) {
  return !head.empty() && (head[0] == '\x0a' || static_cast<unsigned char>(head[0]) >= 0x80 ||
                           static_cast<unsigned char>(head[0]) < 0x20);
}

struct Words {
  FileKind kind;
  std::string_view word;
  std::string_view description;
};

constexpr Words kWords[] = {
    {FileKind::kUnknown, "unknown", "nothing that is known here"},
    {FileKind::kEmpty, "empty", "empty"},
    {FileKind::kCompressed, "compressed", "compressed file"},
    {FileKind::kHloText, "hlo_text", "HLO as text"},
    {FileKind::kHloProto, "hlo_proto", "HLO as proto"},
    {FileKind::kHloTextProto, "hlo_text_proto", "HLO as proto in text format"},
    {FileKind::kXSpace, "xspace", "profile of XLA's profiler (XSpace)"},
    {FileKind::kThunkSequence, "thunk_sequence", "list of thunks"},
    {FileKind::kThunkMetadata, "thunk_metadata", "metadata of thunks"},
    {FileKind::kBufferAssignment, "buffer_assignment", "buffer assignment"},
    {FileKind::kBufferValues, "buffer_values", "values of a buffer assignment"},
    {FileKind::kLiveRanges, "live_ranges", "live ranges of buffers"},
    {FileKind::kMemoryUsage, "memory_usage", "memory usage report"},
    {FileKind::kTargetConfig, "target_config", "GPU that was compiled for"},
    {FileKind::kAutotuneResults, "autotune_results", "autotuning results"},
    {FileKind::kModuleConfig, "module_config", "configuration of a module"},
    {FileKind::kDebugOptions, "debug_options", "flags of XLA"},
    {FileKind::kTextProto, "text_proto", "proto in text format"},
    {FileKind::kMlir, "mlir", "MLIR"},
    {FileKind::kMlirBytecode, "mlir_bytecode", "MLIR bytecode"},
    {FileKind::kLlvmIr, "llvm_ir", "LLVM IR"},
    {FileKind::kLlvmBitcode, "llvm_bitcode", "LLVM bitcode"},
    {FileKind::kPtx, "ptx", "PTX assembly"},
    {FileKind::kElf, "elf", "object file (ELF)"},
    {FileKind::kCubin, "cubin", "machine code for an NVIDIA GPU (cubin)"},
    {FileKind::kHsaco, "hsaco", "machine code for an AMD GPU (hsaco)"},
    {FileKind::kGraphviz, "graphviz", "graph for Graphviz"},
    {FileKind::kHtml, "html", "web page"},
    {FileKind::kJson, "json", "JSON"},
    {FileKind::kSqlite, "sqlite", "SQLite database"},
    {FileKind::kZip, "zip", "zip archive"},
};

const Words& WordsOf(FileKind kind) {
  for (const Words& words : kWords) {
    if (words.kind == kind) return words;
  }
  return kWords[0];
}

}  // namespace

FileKind KindOfContent(std::string_view head) {
  if (head.empty()) return FileKind::kEmpty;
  if (head.size() >= 6 && LooksCompressed(head)) return FileKind::kCompressed;
  if (const FileKind kind = Binary(head); kind != FileKind::kUnknown) return kind;
  // A proto begins with '\n' (field 1, bytes), which text may do too; lengths soon give it away.
  if (!IsBinary(head)) return TextKind(head);
  if (hlo::LooksLikeXSpace(head)) return FileKind::kXSpace;
  return MayBeProto(head) ? FileKind::kHloProto : FileKind::kUnknown;
}

std::string_view Text(FileKind kind) { return WordsOf(kind).word; }

std::string_view Description(FileKind kind) { return WordsOf(kind).description; }

}  // namespace xlatrace::dumps
