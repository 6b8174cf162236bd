// SPDX-License-Identifier: Apache-2.0

// Command lines as they may be stored: secrets are masked.

#ifndef XLATRACE_BASE_MASKING_H_
#define XLATRACE_BASE_MASKING_H_

#include <string>
#include <vector>

namespace xlatrace {

// The words in one line, each quoted where a shell would need it. Values of flags and variables
// whose name speaks of a secret (token, password, secret, key, credential...) become ***.
std::string MaskedCommand(const std::vector<std::string>& words);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_MASKING_H_
