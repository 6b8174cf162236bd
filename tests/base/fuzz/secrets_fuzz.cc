// SPDX-License-Identifier: Apache-2.0

// Any text: what is found lies in it, in order and apart, and once masked it is not found again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/secrets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t from = 0;
  for (const xlatrace::SecretPlace& place : xlatrace::FindSecrets(text)) {
    if (place.begin < from || place.end <= place.begin || place.end > size) std::abort();
    from = place.end;
  }
  const auto masked = xlatrace::WithoutSecrets(text);
  if (masked.has_value() != (from > 0)) std::abort();
  if (!masked) return 0;
  for (const xlatrace::SecretPlace& place : xlatrace::FindSecrets(*masked)) {
    if (masked->compare(place.begin, xlatrace::kSecretMask.size(), xlatrace::kSecretMask) == 0) {
      std::abort();
    }
  }
  return 0;
}
