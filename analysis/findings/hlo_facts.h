// SPDX-License-Identifier: Apache-2.0

// Facts from the HLO of instructions with device time, for the rules.
//
// Modules are borrowed one at a time, so facts are copies. A fusion has the facts of its body.
// Thread-safety: pure functions of an immutable module; results are plain data.

#ifndef XLATRACE_ANALYSIS_FINDINGS_HLO_FACTS_H_
#define XLATRACE_ANALYSIS_FINDINGS_HLO_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/cost/cost.h"
#include "model/hlo_module.h"
#include "model/user_code.h"

namespace xlatrace::analysis::findings {

struct SourceFrame {
  std::string file;
  int64_t line = 0;
  std::string function;
  uint32_t parent = 0;  // 1-based, 0: none.
  model::FileKind kind = model::FileKind::kUser;
  bool is_user() const { return kind == model::FileKind::kUser; }
};

// A matrix product: the one with the most work, if a fusion contains several.
struct DotFacts {
  std::string lhs_type, rhs_type, result_type;
  std::string precision;  // "highest", "high"; empty: the default.
  // "bf16" if an f32 operand was just converted from bf16; otherwise empty.
  std::string upcast_from;
  int64_t odd_dimension = 0;  // A contiguous dimension with rows of no multiple of 16 bytes.
  int64_t padded_from = 0;    // A dimension that XLA pads for the product, before padding.
  int64_t padded_to = 0;
  // Results per product (rows, columns), products in the batch, length of the sum; 0: unknown.
  int64_t m = 0, n = 0, batch = 0, k = 0;
};

// An accumulation into rows of a table.
struct ScatterFacts {
  std::string type;
  int64_t update_bytes = 0;
  int64_t updates = 0;     // Rows that are added.
  int64_t table_rows = 0;  // Rows of the table.
  int64_t row_elements = 0;
};

enum class Movement : uint8_t { kNone, kTranspose, kLayout, kCopy, kConvert, kPad };

struct OpFacts {
  bool known = false;  // The module contains the instruction.
  std::optional<int64_t> flops, bytes;
  std::optional<DotFacts> dot;
  std::optional<ScatterFacts> scatter;
  Movement movement = Movement::kNone;      // Kind of data movement, if the op does nothing else.
  std::optional<int64_t> copied_parameter;  // Entry parameter that a copy copies whole.
  bool parameter_is_donated = false;
  // The argument of the traced function that contains the copied parameter, or the parameter whose
  // memory a result could reuse. "cache" for JAX's `cache[3]`, "args[1]" for `args[1]['w']`; empty:
  // the HLO has no name.
  std::string argument;
  bool host_memory = false;    // Reads or writes memory of the host.
  bool host_callback = false;  // Calls Python.
  std::string target;          // Target of a custom call, in a fusion or alone.
  // Scores of attention, [.., S, S], that it reads or writes (attention_scores.h): S, if at least
  // 512.
  int64_t square_scores = 0;
  int64_t slice_bytes = 0;  // Bytes that a dynamic-update-slice writes.
  bool in_loop = false;
  int64_t iterations = 0;  // The op is a loop, or wraps one. 0: neither, or unknown.
  // The op fills an array with one value, or copies such an array, into which a loop writes its
  // results.
  bool starts_stack = false;
  int64_t sorted_elements = 0;  // Elements of a sort.
  std::string sorted_type;
  // Line of the scatter, dot or sort inside; empty: the row's own.
  std::string inner_file;
  int64_t inner_line = 0;
  uint32_t frame = 0;  // 1-based into ModuleFacts::frames.
  // The op whose result only this op reads, in the same computation. The value is its position + 1
  // among the requested nodes (in Context: among its ops); 0: none. `passed_bytes` is the size of
  // that result.
  uint32_t producer = 0;
  int64_t passed_bytes = 0;
  // Products (dots, convolutions) whose results this op reads, with the same numbering.
  std::vector<uint32_t> products_read;
  // Results of at least 1 MiB that leave the program as new arrays, although a parameter's memory
  // could have been reused. Such a parameter has the same shape and type, and shares memory with no
  // result.
  int64_t fresh_result_bytes = 0;
  // For a recomputed op: bytes per call to keep instead. For the copy of a parameter: bytes that
  // the copy needs at the peak (memory_facts.h).
  int64_t memory_bytes = 0;
};

struct HloFacts {
  std::vector<SourceFrame> frames;
  std::vector<OpFacts> ops;  // In the order of the request.
  int64_t parameters = 0;
  bool has_aliases = false;
  std::string parameter_shapes;  // "f32[8,16], ..." of the entry computation.
  // Peak memory of the program; 0: not requested, or unknown.
  int64_t peak_bytes = 0;
  bool peak_from_assignment = false;  // False: the peak is an estimate from live ranges.
};

// `nodes`: instruction indices. kNoIndex gives facts whose `known` is false.
HloFacts FactsOf(const model::HloModule& module, const std::vector<uint32_t>& nodes,
                 model::UserCode user_code = model::UserCode());

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HLO_FACTS_H_
