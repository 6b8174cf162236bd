// SPDX-License-Identifier: Apache-2.0

// Reads an HLO program from text, as written by `--xla_dump_hlo_as_text` and as pasted by users.
//
// Reads all forms that XLA printed since 2017. Covered are long and short form, with or without
// '%', operand shapes, program shapes and header, and stack frame tables. Nested computations may
// be inline, and attributes and metadata may have any order. XLA gets new words every month. So
// unknown attributes, module attributes, metadata keys and opcodes are kept as text, and each is
// named once in HloModule::warnings. Values of known attributes must have their form
// (hlo/text/attribute_syntax.h). Constants must fit their shape (hlo/text/text_literal.h). Names
// must be defined before they are used. Text after the last computation (another module, the rest
// of a longer file) is left out with a warning. An instruction there is an error. The reader does
// not check whether an instruction is valid (operand shapes, devices of a sharding).
//
// Differences to the proto of the same module: ids are 0, and text elides large constants. With
// async sugar ("all-gather-start" for a wrapped call), wrapped computations are not printed.
// Compact get-tuple-element operands ("%fusion.3#1", XLA since 2026-06) become separate
// instructions with the printed name ("fusion.3#1"), so that data flow equals that of the proto.
//
// Sources: xla/hlo/parser/hlo_lexer.cc and hlo_parser.cc for the grammar, hlo_instruction.cc and
// hlo_module.cc for the printed forms.

#ifndef XLATRACE_HLO_TEXT_TEXT_READER_H_
#define XLATRACE_HLO_TEXT_TEXT_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// The module keeps `text` alive and points into it. Errors name line, column and the token
// ("12:7: undefined name 'foo'"). A returned module is sound: every index is in range, and neither
// operands nor calls form a cycle. HloModule::warnings lists accepted deviations.
// Re-entrant; time and memory are linear in the size of `text`.
Result<model::HloModule> ReadText(std::shared_ptr<const std::string> text);

// The readable part of a damaged or truncated text: XLA was killed during the write, or several
// processes wrote one file.
struct PartialModule {
  model::HloModule module;  // Sound; a truncated computation ends at its last instruction.
  std::string damage;       // "12:7: ..."; empty if the text is whole.
};

// Like ReadText, but keeps the part before the damage. Error if that part is empty.
Result<PartialModule> ReadTextPartial(std::shared_ptr<const std::string> text);

// Does `text` (a head of a file is enough) look like HLO text rather than a proto or other text?
bool LooksLikeHloText(std::string_view text);

// ReadText or ReadProto, by content; also protos in text format.
Result<model::HloModule> ReadAny(std::shared_ptr<const std::string> bytes);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_READER_H_
