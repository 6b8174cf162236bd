// SPDX-License-Identifier: Apache-2.0
#include "base/masking.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/shell_word.h"

namespace xlatrace {
namespace {

constexpr std::string_view kMask = "***";

// Parts of names that announce a secret; "key" only as a word of its own (api-key, not keyboard).
bool NamesASecret(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return c == '-' || c == '.' ? '_' : static_cast<char>(std::tolower(c));
  });
  for (const std::string_view part : {"token", "passw", "secret", "credential", "apikey", "auth"}) {
    if (lower.find(part) != std::string::npos) return true;
  }
  return ("_" + lower + "_").find("_key_") != std::string::npos;
}

}  // namespace

std::string MaskedCommand(const std::vector<std::string>& words) {
  std::string line;
  bool mask_next = false;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const size_t equals = word.find('=');
    const bool flag = word.rfind('-', 0) == 0;
    if (mask_next && !flag) {
      line += kMask;
    } else if (equals != std::string::npos && NamesASecret(word.substr(0, equals))) {
      line += word.substr(0, equals + 1).append(kMask);
    } else {
      line += ShellText(word);
    }
    mask_next = flag && equals == std::string::npos && NamesASecret(word);
  }
  return line;
}

}  // namespace xlatrace
