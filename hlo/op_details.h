// SPDX-License-Identifier: Apache-2.0

// Attribute values of HLO text that the cost model needs, as numbers (model::OpDetails).
//
// Never fails: an invalid value leaves the defaults, and the cost of that instruction is then
// unknown or that of the defaults. Source of the forms: xla/hlo/parser/hlo_parser.cc
// (ParseWindow, ParseConvolutionDimensionNumbers), xla/hlo/ir/replica_group.cc.

#ifndef XLATRACE_HLO_OP_DETAILS_H_
#define XLATRACE_HLO_OP_DETAILS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// Largest accepted number of spatial dimensions; a larger one is damage.
inline constexpr size_t kMaxSpatialDims = 32;

// The details of `instruction`; created if it has none. The reference is valid until the next
// call.
model::OpDetails& MutableDetails(model::HloModule& module, model::Instruction& instruction);

// The other names of `metadata`; created if it has none. Valid until the next call.
model::OtherNames& MutableOtherNames(model::HloModule& module, model::OpMetadata& metadata);

// Makes `literal` the instruction's.
void SetLiteral(model::HloModule& module, model::Instruction& instruction,
                std::string_view literal);

// True for opcodes whose cost depends on their "dimensions"; others have them too.
bool KeepsDimensions(std::string_view opcode);

// Reads one attribute if it belongs to the details; ignores others.
void ReadDetail(model::HloModule& module, model::Instruction& instruction, std::string_view name,
                std::string_view value);

// Devices in the largest group of a printed replica_groups: "{{0,1},{2,3}}", "[2,4]<=[8]",
// "mesh['x'=2,'y'=4] {'y'}". 0 if there is no group.
int64_t LargestGroup(std::string_view value);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_OP_DETAILS_H_
