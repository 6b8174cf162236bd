// SPDX-License-Identifier: Apache-2.0

// Decodes the file names of an XLA dump directory (xla/service/dump.cc, 2019 to 2026):
//
//   [TIMESTAMP_US "."] [PREFIX "."] "module_" %04d [".cl_" N] ["." MODULE_NAME] "." SUFFIX
//
// Suffixes: before_optimizations.txt, sm_9.0_gpu_after_optimizations.hlo.pb,
// NNNN.PIPELINE.after_PASS.before_PASS.txt, thunk_sequence.txt, ...; .gz, .xz, .zst may follow.
//
// Thread-safety: pure.

#ifndef XLATRACE_DUMPS_DUMP_NAME_H_
#define XLATRACE_DUMPS_DUMP_NAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xlatrace::dumps {

enum class DumpKind : uint8_t {
  kOther,
  kHloText,             // .txt, .hlo with HLO text.
  kHloProto,            // .hlo.pb, .pb of an HloProto.
  kThunkSequence,       // thunk_sequence.txt, thunk_schedule.
  kThunkSequenceFinal,  // thunk_sequence_after_thunk_passes.txt.
  kThunkMetadata,       // thunk_metadata.txt.
  kBufferAssignment,    // ...-buffer-assignment.txt and -values.txt.
  kMemoryReport,        // -memory-usage-report, -live-range.
  kLlvmIr,
  kPtx,
  kDebugOptions,  // debug_options, config.pbtxt.
  kTargetConfig,  // gpu_target_config.pbtxt.
  kAutotune,      // autotune_results.pbtxt.
  kSnapshot,      // hlo_snapshot.pb, hlo_unoptimized_snapshot.
  kGraph,         // .dot, .html, .url.
};

// Time in the compilation at which an HLO file was written.
enum class DumpStage : uint8_t { kNone, kBefore, kAfterPass, kAfter };

struct DumpName {
  int64_t program_id = -1;  // NNNN of module_NNNN; -1 for names without it.
  std::string module_name;  // As in the file name (XLA replaces / \ [ ] and blanks by '_').
  DumpKind kind = DumpKind::kOther;
  DumpStage stage = DumpStage::kNone;
  std::string platform;      // "gpu", "cpu" of after_optimizations; else empty.
  std::string target;        // "sm_9.0a", "gfx942"; else empty.
  int32_t pass_number = -1;  // Pass dumps.
  std::string pipeline;
  std::string pass;          // after_X.
  std::string next_pass;     // before_Y.
  int64_t timestamp_us = 0;  // 0: none.
  std::string suffix;        // Everything after the module name, without the compression.
  std::string compression;   // "gz", "xz", "zst", "bz2" or empty.
};

// nullopt if `file_name` (no folder) is not the name of a dump file.
std::optional<DumpName> ParseDumpName(std::string_view file_name);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_NAME_H_
