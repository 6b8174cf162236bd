// SPDX-License-Identifier: Apache-2.0
#include "report/page/kernel_arguments.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace xlatrace::report {
namespace {

constexpr size_t kMaxArgumentsBytes = 2000;
// The demangler's time grows with the nesting of machine-made templates.
constexpr size_t kMaxMangled = 16384;

std::string Demangled(std::string_view symbol) {
  const std::string text(symbol);
  if (!symbol.starts_with("_Z") || symbol.size() > kMaxMangled) return text;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && name ? std::string(name.get()) : text;
}

}  // namespace

std::string TemplateArguments(std::string_view symbol) {
  const std::string name = Demangled(symbol);
  // The last list at depth 0 before the parameters: that of the function itself, not of a scope.
  int depth = 0;
  int parentheses = 0;
  size_t open = std::string::npos;
  size_t begin = 0;
  size_t end = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    // Between parentheses < and > may compare; "(anonymous namespace)" opens no parameters.
    if (c == '(') {
      if (depth == 0 && !std::string_view(name).substr(i).starts_with("(anonymous")) break;
      ++parentheses;
    } else if (c == ')') {
      if (parentheses > 0) --parentheses;
    }
    if (parentheses > 0) continue;
    if (c == '<' && depth++ == 0) open = i + 1;
    if (c == '>' && depth > 0 && --depth == 0 && open != std::string::npos) {
      begin = open;
      end = i;
    }
  }
  return name.substr(begin, std::min(end - begin, kMaxArgumentsBytes));
}

}  // namespace xlatrace::report
