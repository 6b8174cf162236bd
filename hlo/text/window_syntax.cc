// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/window_syntax.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "base/text.h"

namespace xlatrace::hlo {
namespace {

bool ScanInt(TextScanner& scanner) {
  int64_t number = 0;
  return scanner.Int(&number, "a number");
}

// 3x3; `per_dimension` reads one dimension. Sets `*count` to the number of dimensions.
template <typename Dimension>
bool ScanDimensions(TextScanner& scanner, Dimension per_dimension, int* count) {
  *count = 0;
  do {
    if (!per_dimension(scanner)) return false;
    ++*count;
    // One token: no blank before or behind the 'x'.
  } while (scanner.Look() == 'x' && (IsDigit(scanner.Look(1)) || scanner.Look(1) == '-') &&
           scanner.TryChar('x'));
  return true;
}

// low_high, with interior padding low_high_interior.
bool ScanPad(TextScanner& scanner, int most) {
  if (!ScanInt(scanner)) return false;
  int numbers = 1;
  while (numbers < most && scanner.Look() == '_') {
    scanner.TryChar('_');
    if (numbers == 2 && scanner.Look() == '-') {
      return scanner.FailHere("padding between elements cannot be negative");
    }
    if (!ScanInt(scanner)) return false;
    ++numbers;
  }
  return numbers > 1 || scanner.FailHere(fmt::format("expected '_' in padding, found {}",
                                                     scanner.TokenAt(scanner.position())));
}
bool ScanWindowPad(TextScanner& scanner) { return ScanPad(scanner, 2); }
bool ScanInteriorPad(TextScanner& scanner) { return ScanPad(scanner, 3); }

// [start:limit:stride]
bool ScanSlice(TextScanner& scanner) {
  if (!scanner.Expect('[', "before a range") || !ScanInt(scanner)) return false;
  int more = 0;
  while (more < 2 && scanner.TryChar(':')) {
    if (!ScanInt(scanner)) return false;
    ++more;
  }
  if (more == 0) {
    return scanner.FailHere(
        fmt::format("expected ':' in a range, found {}", scanner.TokenAt(scanner.position())));
  }
  return scanner.Expect(']', "after a range");
}

// The labels of one array: `a` and `b` are the names that are no numbers. -1: not of this form.
int SpatialLabels(std::string_view part, char a, char b) {
  int spatial = 0;
  std::array<bool, 256> seen{};
  for (const char c : part) {
    if (c == '?') continue;
    const bool digit = IsDigit(c) && static_cast<size_t>(c - '0') < part.size();
    if ((!digit && c != a && c != b) || seen[static_cast<unsigned char>(c)]) return -1;
    seen[static_cast<unsigned char>(c)] = true;
    spatial += digit ? 1 : 0;
  }
  return part.size() < 2 ? -1 : spatial;
}

bool IsDimLabels(std::string_view value) {
  const size_t first = value.find('_');
  const size_t second = value.find("->");
  if (first == std::string_view::npos || second == std::string_view::npos || second < first) {
    return false;
  }
  const int input = SpatialLabels(value.substr(0, first), 'b', 'f');
  const int kernel = SpatialLabels(value.substr(first + 1, second - first - 1), 'i', 'o');
  const int output = SpatialLabels(value.substr(second + 2), 'b', 'f');
  return input >= 0 && input == kernel && input == output;
}

}  // namespace

bool ScanWindow(TextScanner& scanner) {
  constexpr std::string_view kItems[] = {"size",       "stride",     "pad",
                                         "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  if (!scanner.Expect('{', "before a window")) return false;
  std::array<int, std::size(kItems)> counts{};
  const char* const start = scanner.position();
  while (!scanner.TryChar('}')) {
    scanner.Peek();
    const char* const where = scanner.position();
    const std::string_view key = scanner.Identifier();
    const auto item = static_cast<size_t>(std::find(std::begin(kItems), std::end(kItems), key) -
                                          std::begin(kItems));
    if (item == std::size(kItems)) {
      return scanner.Fail(
          where, fmt::format("expected an item of a window, found {}", scanner.TokenAt(where)));
    }
    if (counts[item] != 0) {
      return scanner.Fail(where, fmt::format("second '{}' in a window", key));
    }
    if (!scanner.Expect('=', "in a window")) return false;
    if (key == "pad" ? !ScanDimensions(scanner, ScanWindowPad, &counts[item])
                     : !ScanDimensions(scanner, ScanInt, &counts[item])) {
      return false;
    }
  }
  for (size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] == 0 || counts[i] == counts[0]) continue;
    return scanner.Fail(start, fmt::format("{} of a window has {} dimensions, its size {}",
                                           kItems[i], counts[i], counts[0]));
  }
  return true;
}

bool ScanPadding(TextScanner& scanner) {
  int count = 0;
  return ScanDimensions(scanner, ScanInteriorPad, &count);
}

bool ScanSlices(TextScanner& scanner) {
  if (!scanner.Expect('{', "before ranges")) return false;
  if (scanner.TryChar('}')) return true;
  do {
    if (!ScanSlice(scanner)) return false;
  } while (scanner.TryChar(','));
  return scanner.Expect('}', "after ranges");
}

bool ScanDimLabels(TextScanner& scanner) {
  scanner.Peek();
  const char* const where = scanner.position();
  std::string_view value;
  if (!scanner.Value(&value)) return false;
  return IsDimLabels(value) ||
         scanner.Fail(where, fmt::format("invalid dimension numbers {}", scanner.TokenAt(where)));
}

}  // namespace xlatrace::hlo
