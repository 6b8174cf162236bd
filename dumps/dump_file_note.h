// SPDX-License-Identifier: Apache-2.0

// What a file of an XLA dump is, what it is good for and what to look at next, from its name alone.
//
// Knows the dump folders of XLA since 2019 (dumps/dump_name.h), the files that TensorFlow 1.x wrote
// before (--xla_dump_ir_to, --xla_dump_optimized_hlo_proto_to, --xla_generate_hlo_graph,
// --xla_dump_computations_to, TF_DUMP_GRAPH_PREFIX), Graphcore's, what PJRT writes beside the
// dumps, and what goes under any name (.hlo, .hlo.pb).
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
  std::optional<DumpName> name;  // Where it has the form of a dump file's name.
  // Stable word for programs: hlo_before, hlo_after, hlo_pass, hlo, hlo_snapshot, thunk_sequence,
  // thunk_metadata, buffer_assignment, memory_report, live_range, llvm_ir, ptx, mlir, object,
  // options, target, autotune, metadata, graph, tf_graph, profile, archive, log, other, unknown.
  std::string_view kind = "unknown";
  std::string what;     // "HLO after pass 'algsimp' of pipeline 'simplification'".
  std::string brief;    // The same in few words, for a table: "HLO after algsimp".
  std::string purpose;  // One sentence: what it answers.
  std::string next;     // One sentence: what to look at next.
  // Its content should be one HLO program: text or proto.
  bool holds_hlo = false;
};

// `file_name` without its folder. Never fails: what is not known is kind "unknown".
DumpFileNote NoteOf(std::string_view file_name);

// The same for a file that a listing decoded already, maybe better than its name alone tells
// (dumps/dump_dir.h gives files to modules by their names together).
DumpFileNote NoteOf(const DumpName& name);

// "module 3 'jit_f'" or "" where the name holds neither.
std::string ModuleText(const DumpName& name);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_FILE_NOTE_H_
