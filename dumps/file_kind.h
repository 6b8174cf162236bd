// SPDX-License-Identifier: Apache-2.0

// The kind of a file by its content, because names may be wrong.
//
// Thread-safety: pure.

#ifndef XLATRACE_DUMPS_FILE_KIND_H_
#define XLATRACE_DUMPS_FILE_KIND_H_

#include <cstdint>
#include <string_view>

namespace xlatrace::dumps {

enum class FileKind : uint8_t {
  kUnknown,
  kEmpty,
  kCompressed,  // gzip, xz, zstd, bzip2: inflate it and detect again.
  kHloText,
  kHloProto,       // HloProto, HloModuleProto, HloSnapshot, HloUnoptimizedSnapshot.
  kHloTextProto,   // One of these in text format.
  kXSpace,         // A profile of XLA's profiler, with modules inside.
  kThunkSequence,  // In any format.
  kThunkMetadata,
  kBufferAssignment,
  kBufferValues,  // -buffer-assignment-values.txt.
  kLiveRanges,
  kMemoryUsage,
  kTargetConfig,
  kAutotuneResults,
  kModuleConfig,  // config.pbtxt.
  kDebugOptions,
  kTextProto,  // Another message in text format.
  kMlir,
  kMlirBytecode,
  kLlvmIr,
  kLlvmBitcode,
  kPtx,
  kElf,    // Object file or executable of the host.
  kCubin,  // ELF for an NVIDIA GPU.
  kHsaco,  // ELF for an AMD GPU.
  kGraphviz,
  kHtml,
  kJson,
  kSqlite,
  kZip,
};

// `head`: the first bytes; 64 KiB are sufficient, and for a small file the whole content is better.
FileKind KindOfContent(std::string_view head);

// A stable word for programs: "hlo_text", "ptx".
std::string_view Text(FileKind kind);
// A short text for people: "HLO as text", "PTX assembly".
std::string_view Description(FileKind kind);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_FILE_KIND_H_
