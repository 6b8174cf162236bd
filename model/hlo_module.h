// SPDX-License-Identifier: Apache-2.0

// An HLO program as plain data: modules, computations, instructions and XLA:GPU's thunks.
//
// Layout: instructions of all computations are in one vector, grouped by computation. Each group
// has the order of the module, which is the execution order if the module is scheduled. Operands
// and called computations are slices of shared pools, as indices, so that a module of 100,000
// instructions needs only a few allocations.
//
// Ownership: every string_view points into `arena` of the same module. The module is movable, not
// copyable, and views stay valid for its lifetime. Thread-safety: immutable after the reader has
// returned it.
//
// Sources: xla/service/hlo.proto and xla/xla_data.proto (field meanings), xla/hlo/ir/hlo_opcode.h.

#ifndef XLATRACE_MODEL_HLO_MODULE_H_
#define XLATRACE_MODEL_HLO_MODULE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace xlatrace::model {

inline constexpr uint32_t kNoIndex = UINT32_MAX;

// A run of indices in one of HloModule's pools.
struct Slice {
  uint32_t begin = 0;
  uint32_t size = 0;
};

// xla.OpMetadata, resolved: source_file and source_line come from the stack frame tables if the
// module has them (stack_frame is then the leaf frame).
struct OpMetadata {
  std::string_view op_name;
  std::string_view op_type;
  std::string_view source_file;
  int32_t source_line = 0;          // 0: unknown.
  uint32_t stack_frame = 0;         // 1-based into HloModule::stack_frames, 0: none.
  uint32_t other_names = kNoIndex;  // Index into HloModule::other_names; kNoIndex: none.
};

// Names that XLA's passes keep in the metadata: the instruction of which this is a copy, and the
// name at scheduling time.
struct OtherNames {
  std::string_view deduplicated;
  std::string_view scheduling;
};

struct Instruction {
  std::string_view name;    // Without '%'. Unique within the module (within printed text, within
                            // its computation).
  std::string_view opcode;  // As printed: "fusion", "all-reduce-start".
  std::string_view shape;   // As printed, layout included: "f32[8,16]{1,0}".
  int64_t id = 0;           // 64-bit unique id of the proto; 0 when read from text.
  uint32_t computation = kNoIndex;
  Slice operands;             // Into HloModule::operand_pool: instruction indices.
  Slice called_computations;  // Into HloModule::called_pool: computation indices.
  OpMetadata metadata;
  std::string_view fusion_kind;         // "kLoop", ... ; empty when not a fusion.
  std::string_view custom_call_target;  // Empty when not a custom-call.
  std::string_view backend_config;      // Raw text.
  std::string_view attributes;          // Text source only: everything after the operands, raw; a
                                        // computation written inline is replaced by its name.
  int32_t parameter_number = -1;
  int32_t tuple_index = -1;     // get-tuple-element.
  uint32_t literal = kNoIndex;  // Constants only: index into HloModule::literals.
  bool is_root = false;
  // Dots only: dimensions of the left operand that are contracted. Into HloModule::dim_pool.
  Slice lhs_contracting_dims;
  uint32_t details = kNoIndex;  // Index into HloModule::details; kNoIndex: none.
};

// Attributes that only some instructions have; equal for text and proto. Slices point into
// HloModule::dim_pool.
struct OpDetails {
  Slice dimensions;  // "dimensions" of concatenate and transpose.
  // Seven numbers per dimension of the window: size, stride, padding low and high, window dilation,
  // base dilation, reversal (xla.WindowDimension).
  Slice window;
  // Convolutions: input batch, input feature, kernel input feature, kernel output feature, output
  // batch, output feature; then as many input, kernel and output spatial dimensions each.
  Slice convolution_dims;
  Slice fft_length;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  int64_t largest_group = 0;    // Devices in the largest replica group; 0: no groups given.
  uint32_t rhs_group_dims = 0;  // Number of group dimensions of a ragged-dot.
  bool has_channel = false;
  bool use_global_device_ids = false;
  // Dots and convolutions: the highest precision requested for an operand (xla.PrecisionConfig): 0
  // default, 1 high, 2 highest.
  uint8_t operand_precision = 0;
};

struct Computation {
  std::string_view name;
  int64_t id = 0;
  uint32_t first_instruction = 0;  // Index into HloModule::instructions.
  uint32_t instruction_count = 0;
  uint32_t root = kNoIndex;  // Index into HloModule::instructions.
  bool is_entry = false;
  bool is_fusion = false;             // Called by a fusion instruction: its ops are not launched
                                      // separately.
  std::string_view execution_thread;  // Empty: the main one.
};

struct StackFrame {
  std::string_view file;
  std::string_view function;
  int32_t line = 0;
  int32_t column = 0;
  uint32_t parent = 0;  // 1-based, 0: none. Always less than the frame's own number or 0 (readers
                        // break cycles), so walking parents ends.
};

// One XLA:GPU thunk of the thunk_sequence dump, joined with thunk_metadata if both exist.
struct Thunk {
  int32_t id = -1;               // -1: the format has no ids.
  int32_t depth = 0;             // Nesting (while, conditional, command buffer, async).
  std::string kind;              // "kKernel", "kCustomKernel", "kCopy", ...
  std::string kernel;            // Symbol; empty when the thunk launches no XLA kernel.
  std::string instruction;       // HLO instruction from the metadata; empty if not known.
  int64_t grid[3] = {0, 0, 0};   // Blocks; 0 unknown.
  int64_t block[3] = {0, 0, 0};  // Threads per block; 0 unknown.
  int64_t shared_memory_bytes = -1;
};

struct HloModule {
  HloModule() = default;
  HloModule(HloModule&&) = default;
  HloModule& operator=(HloModule&&) = default;
  HloModule(const HloModule&) = delete;
  HloModule& operator=(const HloModule&) = delete;

  std::string_view name;
  int64_t program_id = -1;  // HloModuleProto.id, the NNNN of module_NNNN dumps; -1 unknown.
  bool is_scheduled = false;
  std::string_view attributes;  // Text source only: the header after the name, raw.
  std::string_view platform;    // "cpu", "gpu", ... if the source has it; else empty.
  int64_t replica_count = 1;    // In a proto only if it holds a device assignment.
  int64_t num_partitions = 1;
  uint32_t entry = kNoIndex;  // Computation index.
  std::vector<Computation> computations;
  std::vector<Instruction> instructions;
  std::vector<uint32_t> operand_pool;
  std::vector<uint32_t> called_pool;
  std::vector<int64_t> dim_pool;
  std::vector<OpDetails> details;
  std::vector<OtherNames> other_names;
  // Constants as XLA prints them, without the parentheses: "42", "{1, 2}"; "{...}" if the text
  // omits them, and for arrays of more than 10 elements in a proto.
  std::vector<std::string_view> literals;
  std::vector<StackFrame> stack_frames;  // Frame k is stack_frames[k - 1].
  std::vector<std::string> warnings;     // Faults that a tolerant reader accepted.
  uint64_t content_hash = 0;       // Our fingerprint: names, opcodes, shapes, operands, op_names of
                                   // all instructions; not ids, not program_id. Same for text and
                                   // proto of one module.
  int64_t peak_memory_bytes = -1;  // From the buffer assignment; -1 unknown.
  std::string_view buffer_assignment;  // Raw BufferAssignmentProto, if the source holds one.

  // Entry parameters that share memory with an output (input_output_alias): the donated arguments
  // that XLA could use. Ascending, without duplicates.
  std::vector<int64_t> aliased_parameters;

  // Backing store of the views: raw input kept alive, and strings made while reading.
  std::shared_ptr<const std::string> buffer;
  std::unique_ptr<std::deque<std::string>> arena = std::make_unique<std::deque<std::string>>();

  std::string_view Own(std::string text) {
    arena->push_back(std::move(text));
    return arena->back();
  }
  std::span<const uint32_t> Operands(const Instruction& i) const {
    return std::span(operand_pool).subspan(i.operands.begin, i.operands.size);
  }
  std::span<const uint32_t> CalledComputations(const Instruction& i) const {
    return std::span(called_pool).subspan(i.called_computations.begin, i.called_computations.size);
  }
  std::span<const int64_t> LhsContractingDims(const Instruction& i) const {
    return std::span(dim_pool).subspan(i.lhs_contracting_dims.begin, i.lhs_contracting_dims.size);
  }
  std::span<const int64_t> Dims(Slice slice) const {
    return std::span(dim_pool).subspan(slice.begin, slice.size);
  }
  // Returns all defaults for an instruction without details.
  const OpDetails& DetailsOf(const Instruction& i) const {
    static const OpDetails none;
    return i.details < details.size() ? details[i.details] : none;
  }
  // Empty if the instruction is not a constant.
  std::string_view LiteralOf(const Instruction& i) const {
    return i.literal < literals.size() ? literals[i.literal] : std::string_view();
  }
  const OtherNames& OtherNamesOf(const OpMetadata& metadata) const {
    static const OtherNames none;
    return metadata.other_names < other_names.size() ? other_names[metadata.other_names] : none;
  }
  std::span<const Instruction> InstructionsOf(const Computation& c) const {
    return std::span(instructions).subspan(c.first_instruction, c.instruction_count);
  }
};

// Name -> instruction index, over all computations. If a printed module repeats a name in two
// computations, the instruction of a non-fusion computation wins, then the first.
std::unordered_map<std::string_view, uint32_t> IndexByName(const HloModule& module);

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_HLO_MODULE_H_
