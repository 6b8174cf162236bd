// SPDX-License-Identifier: Apache-2.0

// The origin of an instruction: changes by passes of the compiler, read from a dump.
//
// The output components do not read dumps. tools/run_provenance.h reads dumps and passes the result
// as these plain structs. The page and `show` use the words of this header.
//
// Thread-safety: plain values; functions are pure.

#ifndef XLATRACE_REPORT_PROVENANCE_H_
#define XLATRACE_REPORT_PROVENANCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xlatrace::report {

// An instruction as it was before a pass.
struct ProvenanceNote {
  std::string name;
  std::string opcode;
  std::string shape;
  std::string op_name;
  std::string source_file;
  int64_t source_line = 0;
};

struct ProvenanceEvent {
  std::string pass;      // "priority-fusion"; "before_optimizations".
  std::string pipeline;  // Empty: none.
  int64_t dump = -1;     // Number of the dump; -1: none.
  std::string event;     // first, made, added, replaces, copied, changed or renamed.
  std::string name;      // Name of the instruction after the pass.
  std::string text;      // For `changed`: the changed part.
  std::vector<ProvenanceNote> before;
  size_t before_count = 0;  // `before` has only the first of these.
};

struct OpProvenance {
  int64_t module_id = 0;
  std::string instruction;
  std::vector<ProvenanceEvent> events;  // In the order of the compilation.
  size_t operands_only = 0;             // Number of changes of operands only, which are no events.
  std::string origins_of;               // The dump that `origins` are operations of.
  std::vector<ProvenanceNote> origins;
  size_t origins_count = 0;
  // The events already list the original instructions, so `origins` is empty.
  bool origins_told = false;
};

struct Provenance {
  std::string dump;  // The path as given by the user or as found.
  std::vector<OpProvenance> ops;
  size_t wanted = 0;               // Ops that were looked up.
  std::vector<std::string> notes;  // Sentences: missing facts and their reasons.
};

// For example "fusion.172 was made of 6" or "fusion.172 was renamed loop_add_fusion.3", without the
// pass. A single origin is part of the sentence; several origins are in the list after it.
std::string EventSentence(const ProvenanceEvent& event);
// "priority-fusion, dump 74".
std::string PassWords(const ProvenanceEvent& event);
// For example "2 changes only in its operands".
std::string OperandsSentence(const OpProvenance& op);
// "It comes from 6 operations of before_optimizations", "These 6 are ..."; empty without origins.
std::string OriginsSentence(const OpProvenance& op);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PROVENANCE_H_
