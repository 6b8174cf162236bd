// SPDX-License-Identifier: Apache-2.0

// The call stacks of instructions, each stored once, and the user's line of each.
//
// Sources: the frame tables of a module (`stack_frame`), or else the single line of its metadata or
// of an annotation. If a function was traced inside another function, JAX repeats the outer frames.
// Only the outermost of repeated frames is kept.
//
// Ownership: refers to the tables and the module, which must outlive this object. Thread-safety:
// one thread.

#ifndef XLATRACE_CORRELATOR_SOURCE_STACKS_H_
#define XLATRACE_CORRELATOR_SOURCE_STACKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/derived.h"
#include "model/hlo_module.h"
#include "model/user_code.h"

namespace xlatrace::correlator {

class SourceStacks {
 public:
  SourceStacks(const model::UserCode& user_code, model::AttributionTables* out);

  // Call before the stacks of a module are requested.
  void BeginModule(const model::HloModule& module);

  // Stack numbers; 0: nothing is known.
  uint32_t OfFrame(uint32_t frame);
  uint32_t OfMetadata(const model::OpMetadata& metadata);
  uint32_t OfLine(std::string_view file, std::optional<int64_t> line);

  // Fills the source columns of an InstructionRow or a ShareRow.
  template <typename Row>
  void Set(uint32_t stack, Row* row) const {
    model::SetSource(out_, stack, row);
  }

 private:
  uint32_t PlaceOf(std::string_view file, int64_t line, std::string_view function);
  uint32_t StackOf(std::vector<uint32_t> places);

  model::UserCode user_code_;
  model::AttributionTables& out_;
  const model::HloModule* module_ = nullptr;
  std::vector<uint32_t> of_frame_;      // By frame number; 0: not requested yet.
  std::vector<model::FileKind> kinds_;  // By place.
  std::map<std::tuple<std::string, int64_t, std::string>, uint32_t> place_numbers_;
  std::map<std::vector<uint32_t>, uint32_t> stack_numbers_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_SOURCE_STACKS_H_
