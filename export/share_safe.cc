// SPDX-License-Identifier: Apache-2.0
#include "export/share_safe.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <sys/random.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace xlatrace::exporter {
namespace {

using store::TextKind;

constexpr size_t kDigits = 12;
constexpr size_t kMinSaltBytes = 16;
constexpr uint64_t kMaxSaltBytes = 1 << 20;

bool IsWordCharacter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Names come again and again: each is hashed once.
class Hasher {
 public:
  explicit Hasher(std::string salt) : salt_(std::move(salt)) {}

  const std::string& Hash(std::string_view name) const {
    std::string& text = known_[std::string(name)];
    if (!text.empty()) return text;
    const Digest digest = HmacSha256(salt_, name);
    for (size_t i = 0; i < kDigits / 2; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::string salt_;
  mutable std::unordered_map<std::string, std::string> known_;
};

// "fusion.12" -> hash of "fusion", ".12".
std::string RenameNumbered(const Hasher& salt, std::string_view name) {
  size_t end = name.size();
  while (end > 0 && IsDigit(name[end - 1])) --end;
  const bool numbered = end > 1 && end < name.size() && name[end - 1] == '.';
  if (!numbered) return salt.Hash(name);
  return salt.Hash(name.substr(0, end - 1)) + std::string(name.substr(end - 1));
}

std::string RenamePath(const Hasher& salt, std::string_view path) {
  std::string text;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= path.size(); ++i) {
    const char c = i < path.size() ? path[i] : '/';
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    const bool ends = i == path.size() || (c == '/' && depth == 0);
    if (!ends) continue;
    if (i > begin) text += salt.Hash(path.substr(begin, i - begin));
    if (i < path.size()) text += '/';
    begin = i + 1;
  }
  return text;
}

std::string RenameList(const Hasher& salt, std::string_view list) {
  std::string text;
  while (!list.empty()) {
    const size_t comma = list.find(", ");
    text += (text.empty() ? "" : ", ") + RenameNumbered(salt, list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 2);
  }
  return text;
}

bool IsApiCall(std::string_view name) {
  const bool known = name.starts_with("cu") || name.starts_with("hip") || name.starts_with("nccl");
  return known && std::all_of(name.begin(), name.end(), IsWordCharacter);
}

}  // namespace

bool IsLibraryKernel(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  for (const std::string_view beginning : {"ampere_",
                                           "volta_",
                                           "turing_",
                                           "maxwell_",
                                           "pascal_",
                                           "hopper_",
                                           "blackwell_",
                                           "sm70_",
                                           "sm75_",
                                           "sm80_",
                                           "sm86_",
                                           "sm89_",
                                           "sm90_",
                                           "sm100_",
                                           "sm120_",
                                           "cutlass",
                                           "_ZN7cutlass",
                                           "cublas",
                                           "_ZN8cublas",
                                           "cublasLt",
                                           "cudnn",
                                           "_ZN5cudnn",
                                           "cusparse",
                                           "cusolver",
                                           "cufft",
                                           "nccl",
                                           "cub::",
                                           "_ZN3cub",
                                           "thrust::",
                                           "_ZN6thrust",
                                           "nvjet_",
                                           "Cijk_",
                                           "rocblas",
                                           "rccl",
                                           "Memcpy",
                                           "Memset",
                                           "memcpy32_post",
                                           "splitKreduce_kernel",
                                           "gemmSN_",
                                           "gemv2",
                                           "gemvNSP_",
                                           "dot_kernel",
                                           "reduce_1Block_kernel",
                                           "flash_fwd_",
                                           "flash_bwd_",
                                           "fmha_"}) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

Result<std::string> RandomSalt() {
  std::string salt(32, '\0');
  if (getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size())) {
    return MakeError(fmt::format("no random salt is available: {}", std::strerror(errno)),
                     "give one: --salt FILE");
  }
  return salt;
}

Result<std::string> ReadSalt(const std::string& path) {
  XLATRACE_ASSIGN(std::string salt, ReadFile(path, kMaxSaltBytes));
  if (salt.size() < kMinSaltBytes) {
    return MakeError(fmt::format("the salt '{}' has {} bytes; fewer than {} can be guessed", path,
                                 salt.size(), kMinSaltBytes),
                     fmt::format("head -c 32 /dev/urandom >{}", path));
  }
  return salt;
}

store::RenameText ShareSafeNames(std::string salt) {
  return
      [hasher = std::make_shared<Hasher>(std::move(salt))](TextKind kind, std::string_view text) {
        switch (kind) {
          case TextKind::kPath:
            return RenamePath(*hasher, text);
          case TextKind::kNameList:
            return RenameList(*hasher, text);
          case TextKind::kKernel:
            return IsLibraryKernel(text) ? std::string(text) : RenameNumbered(*hasher, text);
          case TextKind::kCall:
            return IsApiCall(text) ? std::string(text) : hasher->Hash(text);
          case TextKind::kName:
            break;
        }
        return RenameNumbered(*hasher, text);
      };
}

}  // namespace xlatrace::exporter
