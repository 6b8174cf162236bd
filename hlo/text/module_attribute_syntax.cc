// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/module_attribute_syntax.h"

#include <fmt/format.h>

#include "hlo/text/attribute_words.h"

namespace xlatrace::hlo {
namespace {

bool UnexpectedHere(TextScanner& scanner, std::string_view wanted) {
  return scanner.FailHere(
      fmt::format("expected {}, found {}", wanted, scanner.TokenAt(scanner.position())));
}

// {"name"}, {"name" {0}}, {}
bool ScanOriginalArray(TextScanner& scanner) {
  if (!scanner.Expect('{', "before an original value")) return false;
  std::string_view name;
  if (scanner.Peek() == '"' || scanner.Peek() == '\'') {
    if (!scanner.String(&name)) return false;
    if (scanner.Peek() == '{' && !ScanShapeIndex(scanner)) return false;
  }
  return scanner.Expect('}', "after an original value");
}

// log_mode=default, callback_id=1, partitioned=true, and items of newer XLA.
bool ScanDebugItem(TextScanner& scanner) {
  scanner.Peek();
  const char* where = scanner.position();
  const std::string_view key = scanner.Identifier();
  if (key.empty()) return UnexpectedHere(scanner, "a debug attribute");
  if (!scanner.Expect('=', "after the name of a debug attribute")) return false;
  scanner.Peek();
  where = scanner.position();
  if (key == "log_mode") {
    const std::string_view word = scanner.Identifier();
    return TakesWord(key, word) ||
           scanner.Fail(where, fmt::format("unknown log_mode {}", scanner.TokenAt(where)));
  }
  if (key == "partitioned") {
    return scanner.TryWord("true") || scanner.TryWord("false") ||
           UnexpectedHere(scanner, "true or false");
  }
  int64_t number = 0;
  std::string_view value;
  return key.ends_with("_id") ? scanner.Int(&number, "a number") : scanner.Value(&value);
}

}  // namespace

bool ScanShapeIndex(TextScanner& scanner) {
  if (!scanner.Expect('{', "before an index of a shape")) return false;
  while (scanner.Peek() != '}') {
    int64_t index = 0;
    if (!scanner.Int(&index, "an index of a shape")) return false;
    if (!scanner.TryChar(',')) break;
  }
  return scanner.Expect('}', "after an index of a shape");
}

bool ScanBufferDonors(TextScanner& scanner) {
  if (!scanner.Expect('{', "before buffer donors")) return false;
  while (scanner.Peek() != '}') {
    int64_t parameter = 0;
    if (!scanner.Expect('(', "before a buffer donor") ||
        !scanner.Int(&parameter, "a parameter number") ||
        !scanner.Expect(',', "in a buffer donor") || !ScanShapeIndex(scanner) ||
        !scanner.Expect(')', "after a buffer donor")) {
      return false;
    }
    if (!scanner.TryChar(',')) break;
  }
  return scanner.Expect('}', "after buffer donors");
}

bool ScanOriginalValue(TextScanner& scanner) {
  if (!scanner.Expect('{', "before an original value")) return false;
  if (scanner.TryChar('[')) {
    if (!scanner.TryWord("synthetic_call")) return UnexpectedHere(scanner, "synthetic_call");
    return scanner.Expect(']', "after 'synthetic_call'") &&
           scanner.Expect('}', "after an original value");
  }
  int64_t depth = 0;
  while (!scanner.TryChar('}')) {
    if (scanner.Peek() == '{') {
      if (!ScanOriginalArray(scanner)) return false;
    } else if (scanner.TryChar('(')) {
      ++depth;
    } else if (depth > 0 && scanner.TryChar(')')) {
      --depth;
    } else if (depth == 0 || !scanner.TryChar(',')) {
      return UnexpectedHere(scanner, "an original value");
    }
  }
  return depth == 0 || scanner.FailHere("unbalanced '(' in an original value");
}

bool ScanRecoveryTable(TextScanner& scanner) {
  if (!scanner.Expect('{', "before a recovery table")) return false;
  while (!scanner.TryChar('}')) {
    std::string_view module;
    if (!ScanOriginalArray(scanner) || !scanner.Expect(':', "in a recovery table") ||
        !ScanOriginalArray(scanner)) {
      return false;
    }
    if (scanner.TryChar(',') && !scanner.String(&module)) return false;
  }
  return true;
}

bool ScanDebugAttributes(TextScanner& scanner) {
  if (!scanner.Expect('{', "before debug attributes")) return false;
  while (!scanner.TryChar('}')) {
    if (!ScanOriginalArray(scanner) || !scanner.Expect(':', "in debug attributes") ||
        !scanner.Expect('(', "before debug attributes")) {
      return false;
    }
    while (!scanner.TryChar(')')) {
      if (!scanner.Expect('{', "before debug attributes")) return false;
      while (!scanner.TryChar('}')) {
        if (!ScanDebugItem(scanner)) return false;
        scanner.TryChar(',');
      }
      scanner.TryChar(',');
    }
    scanner.TryChar(',');
  }
  return true;
}

}  // namespace xlatrace::hlo
