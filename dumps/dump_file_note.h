// SPDX-License-Identifier: Apache-2.0

// Describes a file of an XLA dump by its name alone: content, use, and the next step.
//
// It covers dump folders of XLA since 2019 (dumps/dump_name.h), and the files of TensorFlow 1.x
// before (--xla_dump_ir_to, --xla_dump_optimized_hlo_proto_to, --xla_generate_hlo_graph,
// --xla_dump_computations_to, TF_DUMP_GRAPH_PREFIX). It also covers Graphcore's files, PJRT's files
// beside the dumps, and general names (.hlo, .hlo.pb).
//
// Sources: xla/service/dump.cc 2019 to 2026; of 2018: hlo_pass_pipeline.cc, hlo_graph_dumper.cc,
// llvm_util.cc DumpIRToDirectory, service.cc. Thread-safety: pure.

#ifndef XLATRACE_DUMPS_DUMP_FILE_NOTE_H_
#define XLATRACE_DUMPS_DUMP_FILE_NOTE_H_

#include <optional>
#include <string>
#include <string_view>

#include "dumps/dump_name.h"

namespace xlatrace::dumps {

struct DumpFileNote {
  std::optional<DumpName> name;  // Set if the file has a name of an XLA dump.
  // Stable word for programs, one of:
  //   hlo_before, hlo_after, hlo_pass, hlo, hlo_snapshot, thunk_sequence, thunk_metadata,
  //   buffer_assignment, memory_report, live_range, llvm_ir, ptx, mlir, object, options, target,
  //   autotune, metadata, graph, tf_graph, profile, archive, log, other, unknown
  std::string_view kind = "unknown";
  std::string what;     // "HLO after pass 'algsimp' of pipeline 'simplification'".
  std::string brief;    // A short form for a table: "HLO after algsimp".
  std::string purpose;  // The use of the file, one sentence.
  std::string next;     // The next step, one sentence.
  // The content should be one HLO program, as text or proto.
  bool holds_hlo = false;
};

// `file_name` without its folder. Never fails: other files have kind "unknown".
DumpFileNote NoteOf(std::string_view file_name);

// The same for a name that a listing has decoded. A listing assigns files to modules by all names
// together (dumps/dump_dir.h), which may be more precise.
DumpFileNote NoteOf(const DumpName& name);

// "module 3 'jit_f'", or "" if the name contains neither.
std::string ModuleText(const DumpName& name);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_FILE_NOTE_H_
