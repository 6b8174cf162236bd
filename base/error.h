// SPDX-License-Identifier: Apache-2.0

// Errors as values. Every fallible function of the project returns Result<T>; only main() prints.
//
// An Error is a message for the user: `message` names the file, the place in it and the fault
// ("reading 'm.hlo.pb': unknown wire type 7 at byte 912"), `hint` is one command or one next step.
// `code` is the exit status of the program.
//
// Thread-safety: plain values.

#ifndef XLATRACE_BASE_ERROR_H_
#define XLATRACE_BASE_ERROR_H_

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace xlatrace {

enum class ErrorCode {
  kFailed = 1,         // Bad input, I/O error, anything that went wrong at run time.
  kUsage = 2,          // Invalid command line.
  kInterrupted = 130,  // Ctrl-C.
};

struct Error {
  std::string message;
  std::string hint;  // Empty if no command helps.
  ErrorCode code = ErrorCode::kFailed;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> MakeError(std::string message, std::string hint = {},
                                       ErrorCode code = ErrorCode::kFailed) {
  return tl::unexpected<Error>(Error{std::move(message), std::move(hint), code});
}

// Puts a context such as "reading 'FILE': " in front of an inner error; the hint stays.
inline tl::unexpected<Error> Wrap(std::string_view context, Error error) {
  error.message.insert(0, ": ").insert(0, context);
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace xlatrace

// Returns the error of `expr` from the enclosing function, which returns a Result or Status.
#define XLATRACE_TRY(expr)                                                           \
  do {                                                                               \
    if (auto xlatrace_status_ = (expr); !xlatrace_status_) {                         \
      return tl::unexpected<::xlatrace::Error>(std::move(xlatrace_status_).error()); \
    }                                                                                \
  } while (0)

// `auto x = expr` for a Result: `XLATRACE_ASSIGN(auto x, ReadFile(path));`
#define XLATRACE_ASSIGN(lhs, expr) \
  XLATRACE_ASSIGN_IMPL_(XLATRACE_CONCAT_(xlatrace_result_, __LINE__), lhs, expr)
#define XLATRACE_ASSIGN_IMPL_(tmp, lhs, expr)                                 \
  auto tmp = (expr);                                                          \
  if (!tmp) return tl::unexpected<::xlatrace::Error>(std::move(tmp).error()); \
  lhs = std::move(*tmp)
#define XLATRACE_CONCAT_(a, b) XLATRACE_CONCAT_INNER_(a, b)
#define XLATRACE_CONCAT_INNER_(a, b) a##b

#endif  // XLATRACE_BASE_ERROR_H_
