// SPDX-License-Identifier: Apache-2.0

// The word that was probably meant by a misspelt one.
//
// Thread-safety: pure.

#ifndef XLATRACE_BASE_NEAREST_WORD_H_
#define XLATRACE_BASE_NEAREST_WORD_H_

#include <string>
#include <string_view>
#include <vector>

namespace xlatrace {

// The only word of `words` that begins with `word`, or else the nearest one, at most two letters
// away (inserted, removed or replaced). Empty if no word is near.
std::string NearestWord(std::string_view word, const std::vector<std::string>& words);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_NEAREST_WORD_H_
