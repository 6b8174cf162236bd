// SPDX-License-Identifier: Apache-2.0

// Masks secrets in command lines before they are stored.

#ifndef XLATRACE_BASE_MASKING_H_
#define XLATRACE_BASE_MASKING_H_

#include <string>
#include <vector>

namespace xlatrace {

// The words in one line, each quoted if a shell needs it. Values of flags and variables whose name
// indicates a secret (token, password, secret, key, credential...) become ***.
std::string MaskedCommand(const std::vector<std::string>& words);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_MASKING_H_
