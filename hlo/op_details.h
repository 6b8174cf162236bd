// SPDX-License-Identifier: Apache-2.0

// Attribute values of HLO text that the cost model needs, as numbers (model::OpDetails).
//
// Never fails: a value that makes no sense leaves the defaults, and the cost of that instruction is
// then unknown or that of the defaults. Source of the forms: xla/hlo/parser/hlo_parser.cc
// (ParseWindow, ParseConvolutionDimensionNumbers), xla/hlo/ir/replica_group.cc.

#ifndef XLATRACE_HLO_OP_DETAILS_H_
#define XLATRACE_HLO_OP_DETAILS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// Largest number of spatial dimensions that is believed; more is damage.
inline constexpr size_t kMaxSpatialDims = 32;

// The details of `instruction`, made when it has none yet. The reference is good until the next
// call.
model::OpDetails& MutableDetails(model::HloModule& module, model::Instruction& instruction);

// The other names of `metadata`, made when it has none yet. The same.
model::OtherNames& MutableOtherNames(model::HloModule& module, model::OpMetadata& metadata);

// Makes `literal` the instruction's.
void SetLiteral(model::HloModule& module, model::Instruction& instruction,
                std::string_view literal);

// Of the many opcodes with "dimensions", those whose cost depends on them.
bool KeepsDimensions(std::string_view opcode);

// Takes in one attribute when it is one of those; others are ignored.
void ReadDetail(model::HloModule& module, model::Instruction& instruction, std::string_view name,
                std::string_view value);

// Devices in the largest group of a printed replica_groups: "{{0,1},{2,3}}", "[2,4]<=[8]",
// "mesh['x'=2,'y'=4] {'y'}". 0 when there are none.
int64_t LargestGroup(std::string_view value);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_OP_DETAILS_H_
