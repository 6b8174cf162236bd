// SPDX-License-Identifier: Apache-2.0

// The form of attribute values: the allowed text after "dimensions=", "window=", "sharding=", ...
//
// A value of a known attribute that does not have its form is damage, and reported with its place.
// Attributes of newer XLA have unknown forms, so any balanced text is accepted. Only forms are
// checked, not whether a number is in range or fits a shape.
//
// Thread-safety: pure. Source: the AttrTy of each attribute in xla/hlo/parser/hlo_parser.cc (all
// eras), HloSharding::Print for shardings.

#ifndef XLATRACE_HLO_TEXT_ATTRIBUTE_SYNTAX_H_
#define XLATRACE_HLO_TEXT_ATTRIBUTE_SYNTAX_H_

#include <string_view>

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {

enum class ValueForm : uint8_t {
  kUnknown,      // An attribute that is not in this table of XLA's attributes.
  kBalanced,     //   Known, but free in its form.
  kBool,         //   true, false
  kInt,          //   42, _ (a suppressed id)
  kNumber,       //   1e-05, inf
  kWord,         //   EQ, rng_uniform
  kString,       //   "..."
  kInts,         //   {0,1}
  kIntLists,     //   {{0,1},{2,3}}
  kIntsOrLists,  //   {0,1}, {{0},{1}}
  kBools,        //   {true,false}
  kWords,        //   {highest,default}
  kSlices,       //   {[0:4:2], [1:3]}
  kWindow,       //   {size=3x3 pad=0_1x0_1}
  kPadding,      //   0_1_2x0_0
  kGroups,       //   {{0,1}}, [2,4]<=[8]T(1,0), mesh['x'=2] {'x'}
  kSharding,     //   {devices=[2,1]<=[2]}, {{replicated}, {maximal device=0}}
  kDictionary,   //   {key="text",key={...}}
  kShapes,       //   {f32[2]{0}, s32[]}
  kShape,        //   f32[2]{0}
  kAliasing,     //   {{0}: (1, {}), {}: (0, {1})}
  kBoolOrBools,  //   true, {true,false}
  kBraces,       //   {...}, anything balanced
  kStatistics,   //   {visualizing_index=1,nan=0.5}
  kAccuracy,     //   {mode=highest}, {tolerance={rtol=0.5, atol=1.0, ulps=2}}
  kMetadata,     //   {op_name="a" source_line=1}
  kEntryLayout,  //   {(f32[2]{0}, s32[])->f32[]}
  kDimLabels,    //   b01f_01io->b01f
  kLiteral,      //   f32[2] {1,2}, (s32[] 1, f32[1] {2})
  kDomain,       //   {kind="sharding", entry={replicated}, exit={maximal device=0}}
  // See hlo/text/module_attribute_syntax.h.
  kOriginalValue,
  kBufferDonors,
  kRecoveryTable,
  kDebugAttributes,
};

// Form of an attribute of an instruction, or of a module's header. Attributes whose values the
// parser reads itself (metadata, calls, ...) are kUnknown here.
ValueForm InstructionAttributeForm(std::string_view name);
ValueForm ModuleAttributeForm(std::string_view name);

// Reads one value of this form; `*raw` is the text of the value. A failure of `scanner` otherwise.
bool ScanValue(TextScanner& scanner, ValueForm form, std::string_view* raw);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_ATTRIBUTE_SYNTAX_H_
