// SPDX-License-Identifier: Apache-2.0

// Second half of the proto reader: computations and instructions, once the tables they refer to are
// known. Used by proto_reader.cc only.

#ifndef XLATRACE_HLO_PROTO_PROTO_INSTRUCTIONS_H_
#define XLATRACE_HLO_PROTO_PROTO_INSTRUCTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "hlo/proto/proto_details.h"
#include "hlo/proto/wire.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// 64-bit ids -> indices. Ids of one computation are nearly dense in most eras, so they are stored
// in an array. Sparse ids are stored in a hash table. Memory is O(ids) in all cases.
class IdTable {
 public:
  // `ids[i]` gets index `base` + i. False if an id occurs twice.
  bool Build(const std::vector<int64_t>& ids, uint32_t base);
  uint32_t Find(int64_t id) const;  // model::kNoIndex when unknown.

 private:
  int64_t min_ = 0;
  std::vector<uint32_t> dense_;
  struct Slot {
    int64_t id = 0;
    uint32_t index = UINT32_MAX;  // model::kNoIndex: empty.
  };
  size_t SlotOf(int64_t id) const;
  std::vector<Slot> slots_;  // Open addressing, a power of two, at most half full.
};

class ProtoInstructions {
 public:
  ProtoInstructions(model::HloModule& module, WirePosition& position)
      : module_(module), position_(position) {}

  void SetPayloads(std::vector<std::string_view> payloads) { payloads_ = std::move(payloads); }
  void AddSchedule(int64_t computation_id, std::string_view sequence) {
    schedule_[computation_id] = sequence;
  }

  // Appends one HloComputationProto. Its calls stay ids until ResolveCalls().
  Status AddComputation(std::string_view message);
  Status ResolveCalls();

  uint32_t FindComputation(int64_t id) const { return computation_ids_.Find(id); }

 private:
  Status AddInstruction(std::string_view message);
  Result<std::string_view> ShapeText(std::string_view message);
  std::string_view KeepLiteral(std::string_view message);
  void ReadMetadata(std::string_view message, model::OpMetadata& metadata);
  void ReadDotDimensions(std::string_view message, model::Instruction& instruction);
  std::string_view ReadPayload(std::string_view message);
  void ApplySchedule(model::Computation& computation, std::string_view sequence);
  Status ResolveOperands(const model::Computation& computation);

  model::HloModule& module_;
  WirePosition& position_;
  std::vector<std::string_view> payloads_;
  std::unordered_map<int64_t, std::string_view> schedule_;
  std::unordered_map<std::string_view, std::string_view> shapes_;    // Raw bytes -> text.
  std::unordered_map<std::string_view, std::string_view> literals_;  // The same.
  std::vector<int64_t> operand_ids_;                                 // Parallel to operand_pool.
  std::vector<int64_t> called_ids_;                                  // Parallel to called_pool.
  std::vector<int64_t> instruction_ids_;  // Ids of the current computation.
  std::vector<int64_t> all_computation_ids_;
  IdTable instruction_table_;
  IdTable computation_ids_;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_PROTO_INSTRUCTIONS_H_
