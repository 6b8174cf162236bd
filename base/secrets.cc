// SPDX-License-Identifier: Apache-2.0
#include "base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace xlatrace {
namespace {

constexpr size_t kMaxNameBytes = 64;     // In bytes: the announcing word is at the end of a name.
constexpr size_t kMaxTokenBytes = 4096;  // In bytes: limit for the value after a name that only may
                                         // announce a secret.
constexpr size_t kMaxUserBytes = 256;    // The part of a URL before its host.

bool IsAlnum(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c); }
bool IsWord(char c) { return IsAlnum(c) || c == '_'; }
bool IsUrlSafe(char c) { return IsWord(c) || c == '-'; }
bool IsName(char c) { return IsUrlSafe(c) || c == '.'; }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsQuote(char c) { return c == '"' || c == '\''; }

// Keys of services are random: letters of both cases, or letters and digits. Natural words and
// names of ops are not.
bool LooksRandom(std::string_view value) {
  const bool digit = std::any_of(value.begin(), value.end(), IsDigit);
  const bool letter =
      std::any_of(value.begin(), value.end(), [](char c) { return IsUpper(c) || IsLower(c); });
  return digit && letter;
}

struct Shape {
  std::string_view prefix;
  size_t least;  // Number of characters after the prefix.
  size_t most;
  bool (*is_part)(char);
  std::string_view kind;
};

bool IsUpperOrDigit(char c) { return IsUpper(c) || IsDigit(c); }

constexpr size_t kNoLengthLimit = SIZE_MAX;
constexpr std::array kShapes = {
    Shape{"AKIA", 16, 16, IsUpperOrDigit, "AWS access key"},
    Shape{"ASIA", 16, 16, IsUpperOrDigit, "AWS access key"},
    Shape{"AIza", 35, 35, IsUrlSafe, "Google API key"},
    Shape{"ghp_", 36, kNoLengthLimit, IsAlnum, "GitHub token"},
    Shape{"gho_", 36, kNoLengthLimit, IsAlnum, "GitHub token"},
    Shape{"ghu_", 36, kNoLengthLimit, IsAlnum, "GitHub token"},
    Shape{"ghs_", 36, kNoLengthLimit, IsAlnum, "GitHub token"},
    Shape{"ghr_", 36, kNoLengthLimit, IsAlnum, "GitHub token"},
    Shape{"github_pat_", 22, kNoLengthLimit, IsWord, "GitHub token"},
    Shape{"glpat-", 20, kNoLengthLimit, IsUrlSafe, "GitLab token"},
    Shape{"hf_", 30, kNoLengthLimit, IsAlnum, "Hugging Face token"},
    Shape{"npm_", 36, kNoLengthLimit, IsAlnum, "npm token"},
    Shape{"pypi-AgE", 40, kNoLengthLimit, IsUrlSafe, "PyPI token"},
    Shape{"sk-", 20, kNoLengthLimit, IsUrlSafe, "API key"},
    Shape{"sk_live_", 16, kNoLengthLimit, IsAlnum, "API key"},
    Shape{"xoxa-", 10, kNoLengthLimit, IsUrlSafe, "Slack token"},
    Shape{"xoxb-", 10, kNoLengthLimit, IsUrlSafe, "Slack token"},
    Shape{"xoxp-", 10, kNoLengthLimit, IsUrlSafe, "Slack token"},
    Shape{"xoxr-", 10, kNoLengthLimit, IsUrlSafe, "Slack token"},
    Shape{"xoxs-", 10, kNoLengthLimit, IsUrlSafe, "Slack token"},
};

// Kind of value that a name announces.
enum class Announces {
  kNothing,
  kMaybe,   // A `token` or an upper-case `_KEY`: models use such names, too.
  kSecret,  // A password, an API key.
};

Announces NameAnnounces(std::string_view name) {
  // Our own id of a job, which is compared when the recording is folded again.
  if (name == "recording_token") return Announces::kNothing;
  while (!name.empty() && (IsDigit(name.back()) || name.back() == '_')) name.remove_suffix(1);
  // Compared in lower case and without separators: api-key, apiKey, API_KEY.
  std::array<char, kMaxNameBytes> buffer;
  size_t size = 0;
  bool upper = !name.empty();
  for (const char c : name) {
    upper = upper && !IsLower(c);
    if (IsAlnum(c)) buffer[size++] = IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const std::string_view plain(buffer.data(), size);
  for (const std::string_view end :
       {"password",         "passwd",       "passphrase",    "secret",       "apikey",
        "accesskey",        "accesskeyid",  "secretkey",     "privatekey",   "signingkey",
        "encryptionkey",    "accountkey",   "sharedkey",     "credential",   "credentials",
        "authtoken",        "accesstoken",  "refreshtoken",  "bearertoken",  "idtoken",
        "apitoken",         "sessiontoken", "securitytoken", "clientsecret", "sastoken",
        "connectionstring", "authorization"}) {
    if (plain.ends_with(end)) return Announces::kSecret;
  }
  if (plain.ends_with("token") || (upper && (name.ends_with("_KEY") || name.ends_with("_AUTH")))) {
    return upper ? Announces::kSecret : Announces::kMaybe;
  }
  return Announces::kNothing;
}

// Numbers, switches, references to variables and masks hold no secret.
bool IsHarmless(std::string_view value) {
  if (value.empty() || std::string_view("*${[(<%").find(value.front()) != std::string_view::npos) {
    return true;
  }
  if (std::all_of(value.begin(), value.end(),
                  [](char c) { return IsDigit(c) || c == '.' || c == '-' || c == '+'; })) {
    return value.size() < 16;
  }
  std::string lower(value.substr(0, 16));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word : {"true", "false", "none", "null", "yes", "no", "on", "off",
                                      "redacted", "masked", "xxx", "xxxx", "xxxxx", "xxxxxx"}) {
    if (lower == word) return true;
  }
  return false;
}

class Finder {
 public:
  explicit Finder(std::string_view text) : text_(text) {}

  std::vector<SecretPlace> Find() {
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      switch (c) {
        case '=':
        case ':':
          if (i >= done_) Assigned(i);
          break;
        case '-':
          if (i >= done_) Dashes(i);
          break;
        case 'A':
        case 'g':
        case 'h':
        case 'n':
        case 'p':
        case 's':
        case 'x':
        case 'e':
          if (i >= done_ && (i == 0 || !IsUrlSafe(text_[i - 1]))) Shaped(i);
          break;
        default:
          break;
      }
    }
    return std::move(places_);
  }

 private:
  void Add(size_t begin, size_t end, std::string_view kind) {
    if (begin >= end || begin < done_) return;
    places_.push_back({begin, end, kind});
    done_ = end;
  }

  size_t SkipBlanks(size_t i) const {
    while (i < text_.size() && IsBlank(text_[i])) ++i;
    return i;
  }

  // End of the value that begins at `i`: its closing quote, or the end of the word.
  size_t EndOfValue(size_t i, char quote, size_t most) const {
    const size_t last = most < text_.size() - i ? i + most : text_.size();
    constexpr std::string_view kEnds = " \t\r\n\"'`,;&|)}]>";
    while (i < last && text_[i] != '\0' &&
           (quote != 0 ? text_[i] != quote : kEnds.find(text_[i]) == std::string_view::npos)) {
      // An escaped character of a quoted text is part of it.
      i += quote != 0 && text_[i] == '\\' && i + 1 < text_.size() ? 2 : 1;
    }
    return std::min(i, last);
  }

  void Value(size_t i, Announces announced, bool blank_apart) {
    i = SkipBlanks(i);
    char quote = 0;
    // In a document inside of another document, quotes are escaped.
    const bool escaped = i + 1 < text_.size() && text_[i] == '\\' && IsQuote(text_[i + 1]);
    if (escaped) ++i;
    if (i < text_.size() && IsQuote(text_[i])) quote = text_[i++];
    if (escaped) quote = '\\';
    if (i >= text_.size() || (blank_apart && text_[i] == '-')) return;  // The next flag.
    const size_t most = announced == Announces::kMaybe ? kMaxTokenBytes : text_.size();
    size_t end = EndOfValue(i, quote, most);
    // "Bearer TOKEN" and "Basic TOKEN" consist of two words.
    for (const std::string_view scheme : {"Bearer ", "bearer ", "Basic ", "basic ", "token "}) {
      if (text_.substr(i).starts_with(scheme)) {
        i += scheme.size();
        end = EndOfValue(i, quote, most);
        break;
      }
    }
    const std::string_view value = text_.substr(i, end - i);
    if (IsHarmless(value)) return;
    if (announced == Announces::kMaybe && (value.size() < 8 || !LooksRandom(value))) return;
    Add(i, end, "value of a name");
  }

  // `at` is a '=' or ':'.
  void Assigned(size_t at) {
    if (at + 1 >= text_.size() || at == 0) return;
    if (text_[at] == ':') {
      if (text_.substr(at).starts_with("://")) return Url(at + 3);
      if (text_[at + 1] == ':' || text_[at - 1] == ':') return;  // C++.
    } else if (text_[at + 1] == '=' || text_[at - 1] == '=') {
      return;
    }
    size_t end = at;
    while (end > 0 && IsBlank(text_[end - 1]) && at - end < 2) --end;
    const bool quoted = end > 0 && IsQuote(text_[end - 1]);
    if (quoted) --end;
    if (quoted && end > 0 && text_[end - 1] == '\\') --end;
    size_t begin = end;
    while (begin > 0 && IsName(text_[begin - 1]) && end - begin < kMaxNameBytes) --begin;
    if (begin == end) return;
    const std::string_view name = text_.substr(begin, end - begin);
    Announces announced = NameAnnounces(name);
    if (announced == Announces::kNothing) return;
    if (announced == Announces::kMaybe && (quoted || name.starts_with("--"))) {
      announced = Announces::kSecret;
    }
    Value(at + 1, announced, false);
  }

  // `at` is the position of a '-': possibly the first of a flag or of a PEM block.
  void Dashes(size_t at) {
    const std::string_view rest = text_.substr(at);
    if (!rest.starts_with("--") || (at > 0 && text_[at - 1] == '-')) return;
    if (rest.starts_with("-----BEGIN ")) {
      const size_t head = rest.substr(0, 64).find("PRIVATE KEY");
      if (head == std::string_view::npos) return;
      const size_t body = rest.find("-----", head);
      if (body == std::string_view::npos) return;
      const size_t tail = rest.find("-----END", body + 5);
      const size_t begin = at + body + 5;
      const size_t end = tail == std::string_view::npos ? text_.size() : at + tail;
      if (text_.substr(begin, end - begin) != kSecretMask) Add(begin, end, "private key");
      return;
    }
    size_t end = at + 2;
    while (end < text_.size() && IsName(text_[end])) {
      if (++end - at > kMaxNameBytes) return;
    }
    if (end >= text_.size() || !IsBlank(text_[end])) return;
    const std::string_view name = text_.substr(at + 2, end - at - 2);
    if (name.empty() || NameAnnounces(name) == Announces::kNothing) return;
    Value(end, Announces::kSecret, true);
  }

  // `at` is the position after "://".
  void Url(size_t at) {
    size_t colon = std::string_view::npos;
    for (size_t i = at; i < text_.size() && i - at < kMaxUserBytes; ++i) {
      const char c = text_[i];
      if (c == '@') {
        if (colon == std::string_view::npos) return;
        if (!IsHarmless(text_.substr(colon + 1, i - colon - 1))) {
          Add(colon + 1, i, "password in a URL");
        }
        return;
      }
      if (c == ':' && colon == std::string_view::npos) colon = i;
      if (c == '/' || c == '?' || c == '#' || IsQuote(c) || IsBlank(c) || c == '\n' ||
          static_cast<unsigned char>(c) < 0x20) {
        return;
      }
    }
  }

  void Shaped(size_t at) {
    const std::string_view rest = text_.substr(at);
    if (rest.starts_with("eyJ")) return WebToken(at);
    for (const Shape& shape : kShapes) {
      if (!rest.starts_with(shape.prefix)) continue;
      size_t end = at + shape.prefix.size();
      while (end < text_.size() && shape.is_part(text_[end])) ++end;
      const size_t length = end - at - shape.prefix.size();
      // Part of a longer identifier, not a key.
      if (end < text_.size() && IsWord(text_[end])) continue;
      if (length < shape.least || length > shape.most) continue;
      const std::string_view body = text_.substr(at + shape.prefix.size(), length);
      if (LooksRandom(body)) return Add(at, end, shape.kind);
    }
  }

  // Three parts in base64url separated by dots, the first a JSON object.
  void WebToken(size_t at) {
    size_t i = at;
    for (int part = 0; part < 3; ++part) {
      const size_t begin = i;
      while (i < text_.size() && IsUrlSafe(text_[i])) ++i;
      if (i - begin < (part == 2 ? 5U : 10U)) return;
      if (part == 1 && text_.substr(begin, 2) != "ey") return;
      if (part == 2) return Add(at, i, "JSON web token");
      if (i >= text_.size() || text_[i] != '.') return;
      ++i;
    }
  }

  std::string_view text_;
  std::vector<SecretPlace> places_;
  size_t done_ = 0;  // All text before this position is searched.
};

}  // namespace

std::vector<SecretPlace> FindSecrets(std::string_view text) { return Finder(text).Find(); }

std::optional<std::string> WithoutSecrets(std::string_view text) {
  const std::vector<SecretPlace> places = FindSecrets(text);
  if (places.empty()) return std::nullopt;
  std::string masked;
  size_t from = 0;
  for (const SecretPlace& place : places) {
    masked.append(text.substr(from, place.begin - from)).append(kSecretMask);
    from = place.end;
  }
  return masked.append(text.substr(from));
}

}  // namespace xlatrace
