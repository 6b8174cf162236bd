// SPDX-License-Identifier: Apache-2.0

// Finds text that looks like a secret in input from others: a command line, an environment, a name,
// a metadata document.
//
// It finds two kinds. Values after a name that announces a secret: `HF_TOKEN=...`, `--api-key ...`,
// `"password": "..."`, `Authorization: Bearer ...`. And values with the shape of a key of a
// well-known service, anywhere: AWS, GitHub, GitLab, Hugging Face, OpenAI, Slack, Google, npm and
// PyPI keys, JSON web tokens, PEM private keys, a user's password in a URL. Numbers, switches
// (true, none), references (`$HF_TOKEN`) and masked values are not secrets. A secret with neither
// such a name nor such a shape is not found.
//
// Time: linear in the text. No allocation if it contains no secret.
// Thread-safety: pure.

#ifndef XLATRACE_BASE_SECRETS_H_
#define XLATRACE_BASE_SECRETS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace {

// Replaces a secret, here and in MaskedCommand.
inline constexpr std::string_view kSecretMask = "***";

struct SecretPlace {
  size_t begin = 0;  // Bytes of the text, [begin, end): the value without its name and quotes.
  size_t end = 0;
  std::string_view kind;  // "AWS access key", "value of a name", ...
};

// In ascending order, not overlapping.
std::vector<SecretPlace> FindSecrets(std::string_view text);

// The text with kSecretMask for every secret; nullopt if it contains none.
std::optional<std::string> WithoutSecrets(std::string_view text);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_SECRETS_H_
