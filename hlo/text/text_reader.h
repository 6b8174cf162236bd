// SPDX-License-Identifier: Apache-2.0

// Reads an HLO program from text, as `--xla_dump_hlo_as_text` writes it and people paste it.
//
// All forms that XLA printed since 2017: long and short form, with or without '%', operand shapes,
// program shapes and header; stack frame tables; nested computations written inline; attributes
// and metadata in any order. Attributes, module attributes, metadata keys and opcodes that this
// reader does not know are kept as text, and each is named once in HloModule::warnings: XLA gets
// new ones every month. Values of those it knows must have their form
// (hlo/text/attribute_syntax.h), constants must fit their shape (hlo/text/text_literal.h), names
// must be defined before they are used. What follows the last computation (another module, a
// longer file's rest) is left out with a warning; a line of an instruction there is an error.
// Whether an instruction makes sense (shapes of operands, devices of a sharding) is not checked.
//
// Differences to the proto of the same module: ids are 0, text elides large constants, and with
// async sugar ("all-gather-start" for a wrapped call) wrapped computations are not printed. Compact
// get-tuple-element operands ("%fusion.3#1", XLA since 2026-06) become instructions of their own
// named as printed ("fusion.3#1"), so that data flow reads the same as in the proto.
//
// Sources: xla/hlo/parser/hlo_lexer.cc and hlo_parser.cc for the grammar, hlo_instruction.cc and
// hlo_module.cc for what is printed.

#ifndef XLATRACE_HLO_TEXT_TEXT_READER_H_
#define XLATRACE_HLO_TEXT_TEXT_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// The module keeps `text` alive and points into it. Errors name line, column and the token
// ("12:7: undefined name 'foo'"). A module that is returned is sound: every index is in range,
// neither operands nor calls form a cycle. What was let pass is in HloModule::warnings.
// Re-entrant; time and memory are linear in the size of `text`.
Result<model::HloModule> ReadText(std::shared_ptr<const std::string> text);

// What can be kept of a text that is damaged or cut off: XLA was killed while it wrote, or several
// processes wrote one file.
struct PartialModule {
  model::HloModule module;  // Sound; a computation that broke off ends at its last instruction.
  std::string damage;       // "12:7: ..."; empty when the text is whole.
};

// Like ReadText, but keeps what comes before the damage. Still an error when that is nothing.
Result<PartialModule> ReadTextPartial(std::shared_ptr<const std::string> text);

// Does `text` (a head of a file is enough) look like HLO text rather than a proto or other text?
bool LooksLikeHloText(std::string_view text);

// ReadText or ReadProto, by content; protos in text format too.
Result<model::HloModule> ReadAny(std::shared_ptr<const std::string> bytes);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_READER_H_
