// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/text_reader.h"

#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "hlo/finish_module.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/proto/text_proto.h"
#include "hlo/proto/text_proto_module.h"
#include "hlo/text/text_parser.h"
#include "hlo/text/text_scanner.h"
#include "hlo/text/text_shape.h"

namespace xlatrace::hlo {

namespace {

Status CheckText(const std::string* text) {
  if (text == nullptr) return MakeError("no HLO in it: the text is empty");
  if (text->size() > std::numeric_limits<uint32_t>::max()) {
    return MakeError(fmt::format("an HLO text of {} bytes is not possible", text->size()));
  }
  if (const void* nul = std::memchr(text->data(), '\0', text->size()); nul != nullptr) {
    return MakeError(
        fmt::format("not HLO text: NUL at byte {}", static_cast<const char*>(nul) - text->data()));
  }
  return {};
}

}  // namespace

Result<model::HloModule> ReadText(std::shared_ptr<const std::string> text) {
  XLATRACE_TRY(CheckText(text.get()));
  model::HloModule module;
  module.buffer = text;
  XLATRACE_TRY(TextParser(*text, module).Parse());
  XLATRACE_TRY(FinishModule(module));
  return module;
}

Result<PartialModule> ReadTextPartial(std::shared_ptr<const std::string> text) {
  XLATRACE_TRY(CheckText(text.get()));
  PartialModule part;
  part.module.buffer = text;
  TextParser parser(*text, part.module);
  if (Status parsed = parser.Parse(); !parsed) {
    if (!parser.KeepPart()) return tl::unexpected<Error>(std::move(parsed).error());
    part.damage = std::move(parsed).error().message;
  }
  XLATRACE_TRY(FinishModule(part.module));
  return part;
}

namespace {

// Protos begin with field keys and lengths, which are control characters.
bool IsText(std::string_view bytes) {
  for (const char c : bytes.substr(0, 4096)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') return false;
  }
  return true;
}

}  // namespace

bool LooksLikeHloText(std::string_view text) {
  if (!IsText(text)) return false;
  TextScanner scan(text);
  if (scan.TryWord("HloModule") || scan.TryWord("ENTRY")) return true;
  std::string_view skipped;
  if (StartsShape(scan)) {  // A lone instruction: SHAPE OPCODE(
    return ScanShape(scan, &skipped) && !scan.Identifier().empty() && scan.Peek() == '(';
  }
  scan.TryWord("ROOT");
  if (scan.Peek() != '%' && !IsIdentifierStart(scan.Look())) return false;
  scan.Name("a name");
  switch (scan.Peek()) {
    case '=':  // NAME = SHAPE OPCODE(
      scan.TryChar('=');
      return StartsShape(scan);
    case '(':  // NAME (PARAMETERS) -> SHAPE {
      return scan.Balanced(&skipped) && scan.TryText("->");
    case '{':  // NAME { INSTRUCTION
      scan.TryChar('{');
      scan.TryWord("ROOT");
      if (scan.Peek() != '%' && !IsIdentifierStart(scan.Look())) return false;
      scan.Name("a name");
      return scan.TryChar('=');
    default:
      return false;
  }
}

Result<model::HloModule> ReadAny(std::shared_ptr<const std::string> bytes) {
  // Text that is no HLO goes to the text reader too: its error is the one that helps.
  if (bytes == nullptr || !IsText(*bytes)) return ReadProto(std::move(bytes));
  const std::string_view head = std::string_view(*bytes).substr(0, 4096);
  if (LooksLikeHloText(head) || !LooksLikeTextProto(head)) return ReadText(std::move(bytes));
  XLATRACE_ASSIGN(std::string serialised, HloProtoFromText(std::move(bytes)));
  return ReadProto(std::make_shared<const std::string>(std::move(serialised)));
}

}  // namespace xlatrace::hlo
