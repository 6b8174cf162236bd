// SPDX-License-Identifier: Apache-2.0

// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104). Without the key, the hash does not reveal the
// hashed text.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_SHA256_H_
#define XLATRACE_BASE_SHA256_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace xlatrace {

using Digest = std::array<uint8_t, 32>;

Digest Sha256(std::string_view bytes);
Digest HmacSha256(std::string_view key, std::string_view bytes);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_SHA256_H_
