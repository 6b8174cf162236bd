// SPDX-License-Identifier: Apache-2.0

// Launches of one scheduled instruction: from the thunk list if there is one, or else by the rules
// of XLA's emitter for the opcode.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_EMITTER_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_EMITTER_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "correlator/thunk_order/program/thunk_token.h"
#include "correlator/thunk_order/program/token_writer.h"
#include "model/hlo_module.h"

namespace xlatrace::correlator {

class LaunchEmitter {
 public:
  // All must outlive the emitter.
  LaunchEmitter(const model::HloModule& module, std::span<const model::Thunk> thunks,
                TokenWriter* out);

  // True: launches come from the thunk list; false: from the opcodes.
  bool from_thunk_list() const { return from_thunk_list_; }
  // True if the thunk list shows which thunks are recorded into graphs.
  bool list_tells_graphs() const { return !graph_of_.empty(); }

  // Writes the tokens of a scheduled instruction. `optional`: it may not run.
  void Emit(uint32_t index, const model::Instruction& instruction, bool optional);

 private:
  void FindGraphs();
  void EmitThunk(uint32_t index, const model::Thunk& thunk, bool optional);
  bool EmitFromInside(const model::Instruction& fusion, bool optional);
  void Predict(uint32_t index, const model::Instruction& instruction, bool optional);
  void PredictFusion(const model::Instruction& fusion, ThunkToken token);
  void EmitSort(const model::Instruction& instruction, std::string_view name, ThunkToken token);
  void AddCollective(const model::Instruction& instruction, const ThunkToken& token);
  void AddNamed(const model::Instruction& instruction, ThunkToken token);

  const model::HloModule& module_;
  std::span<const model::Thunk> thunks_;
  TokenWriter& out_;
  bool from_thunk_list_ = false;
  std::unordered_map<std::string_view, std::vector<const model::Thunk*>> thunks_of_;
  std::vector<uint32_t> graph_of_;  // By index in the thunk list; 0: none.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_EMITTER_H_
