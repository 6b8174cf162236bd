// SPDX-License-Identifier: Apache-2.0

// Base64 (RFC 4648, section 4: '+', '/' and padding).
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_BASE64_H_
#define XLATRACE_BASE_BASE64_H_

#include <string>
#include <string_view>

namespace xlatrace {

std::string Base64(std::string_view bytes);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_BASE64_H_
