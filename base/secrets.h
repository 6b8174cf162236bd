// SPDX-License-Identifier: Apache-2.0

// What looks like a secret in a text of somebody else: a command line, an environment, a name, a
// document of metadata.
//
// Two kinds are found. Values that stand behind a name which announces one: `HF_TOKEN=...`,
// `--api-key ...`, `"password": "..."`, `Authorization: Bearer ...`. And values that have the shape
// of a key of a well-known service, wherever they stand: AWS, GitHub, GitLab, Hugging Face, OpenAI,
// Slack, Google, npm and PyPI keys, JSON web tokens, PEM private keys, a user's password in a URL.
// Numbers, switches (true, none), references (`$HF_TOKEN`) and what is masked already are none. A
// secret without a telling name or shape is not found.
//
// Time: linear in the text; no allocation where nothing is found.
// Thread-safety: pure.

#ifndef XLATRACE_BASE_SECRETS_H_
#define XLATRACE_BASE_SECRETS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace {

// What stands in the place of a secret, here and in MaskedCommand.
inline constexpr std::string_view kSecretMask = "***";

struct SecretPlace {
  size_t begin = 0;  // Bytes of the text, [begin, end): the value without its name and quotes.
  size_t end = 0;
  std::string_view kind;  // "AWS access key", "value of a name", ...
};

// Ascending, apart.
std::vector<SecretPlace> FindSecrets(std::string_view text);

// The text with kSecretMask for every secret; nothing where it holds none.
std::optional<std::string> WithoutSecrets(std::string_view text);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_SECRETS_H_
