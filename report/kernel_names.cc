// SPDX-License-Identifier: Apache-2.0
#include "report/kernel_names.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "report/page/kernel_arguments.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxArgumentCharacters = 40;
constexpr size_t kMaxDistinctArgumentCount = 3;  // Arguments of a name.

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

// "MulFunctor" or "direct_copy" of a mangled or demangled symbol: the functor of the template, or
// else the enclosing kernel. Empty: neither.
std::string_view FunctorOf(std::string_view symbol) {
  std::string_view functor, kernel;
  const auto take = [&](std::string_view word) {
    if (word.size() > 7 && word.ends_with("Functor")) functor = word;
    if (word.size() > 12 && word.ends_with("_kernel_cuda")) {
      kernel = word.substr(0, word.size() - 12);
    }
  };
  const bool mangled = symbol.starts_with("_Z");
  for (size_t at = 0; at < symbol.size();) {
    if (mangled && IsDecimal(symbol[at])) {
      size_t length = 0;
      while (at < symbol.size() && IsDecimal(symbol[at]) && length < symbol.size()) {
        length = 10 * length + static_cast<size_t>(symbol[at++] - '0');
      }
      take(symbol.substr(std::min(at, symbol.size()), length));
      // A number may also be an argument, so parsing continues after it.
      ++at;
      continue;
    }
    if (mangled) {
      ++at;
      continue;
    }
    const size_t end = std::min(symbol.find_first_of(":<>(), &*", at), symbol.size());
    take(symbol.substr(at, end - at));
    at = end + 1;
  }
  return functor.empty() ? kernel : functor;
}

// "at::native::Add<c10::Half>" -> "Add<Half>".
std::string WithoutScopes(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kAnonymous)) {
      at += kAnonymous.size();
      continue;
    }
    size_t end = at;
    while (end < text.size() && IsWord(text[end])) ++end;
    if (end > at && text.substr(end).starts_with("::")) {
      at = end + 2;
      continue;
    }
    end = std::max(end, at + 1);
    out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

// The name of a long argument, without its own arguments.
std::string Brief(std::string_view argument) {
  const size_t lambda = std::min(argument.find("(lambda"), argument.find("{lambda"));
  if (lambda != std::string_view::npos) {
    const std::string_view of = FunctorOf(argument);
    return of.empty() ? "lambda" : std::string(of);
  }
  std::string text = WithoutScopes(argument);
  if (text.size() <= kMaxArgumentCharacters) return text;
  if (const std::string functor(FunctorOf(text)); !functor.empty()) {
    const size_t at = text.rfind(functor) + functor.size();
    if (at >= text.size() || text[at] != '<') return functor;
    const size_t end = text.find_first_of(",<>", at + 1);
    return functor + text.substr(at, end - at) + ">";
  }
  // Keeps both ends, cut at words: a number or a type at the end distinguishes kernels.
  size_t head = 26;
  while (head > 13 && IsWord(text[head]) && IsWord(text[head - 1])) --head;
  size_t tail = text.size() - 13;
  while (tail < text.size() && IsWord(text[tail]) && IsWord(text[tail - 1])) ++tail;
  // A single word has no distinct end, and its beginning is shared with others. It is therefore not
  // shortened here, but where it is shown.
  if (tail >= text.size()) return text;
  return text.substr(0, head) + "\u2026" + text.substr(tail);
}

// "#3#7": which of the lambdas in a function.
std::string LambdasOf(std::string_view argument) {
  std::string out;
  for (size_t at = argument.find('#'); at != std::string_view::npos; at = argument.find('#', at)) {
    size_t end = at + 1;
    while (end < argument.size() && IsDecimal(argument[end])) ++end;
    if (end > at + 1) out += argument.substr(at, end - at);
    at = end;
  }
  return out;
}

// Names for kernels of different symbols with the common name `name`.
std::vector<std::string> DistinctNames(const std::string& name,
                                       const std::vector<std::string>& symbols) {
  std::vector<std::vector<std::string>> lists;
  size_t width = 0;
  for (const std::string& symbol : symbols) {
    lists.push_back(TopLevelArguments(TemplateArguments(symbol)));
    width = std::max(width, lists.back().size());
  }
  const auto at = [&](size_t row, size_t i) {
    return i < lists[row].size() ? std::string_view(lists[row][i]) : std::string_view();
  };
  std::vector<size_t> telling;
  for (size_t i = 0; i < width; ++i) {
    for (size_t row = 1; row < lists.size(); ++row) {
      if (at(row, i) == at(0, i)) continue;
      telling.push_back(i);
      break;
    }
  }
  std::vector<std::string> said(symbols.size()), lambdas(symbols.size());
  std::map<std::string, int> alike;
  for (size_t row = 0; row < symbols.size(); ++row) {
    size_t parts = 0;
    for (const size_t i : telling) {
      if (at(row, i).empty() || parts == kMaxDistinctArgumentCount) continue;
      said[row] += (parts++ == 0 ? "" : ", ") + Brief(at(row, i));
      lambdas[row] += LambdasOf(at(row, i));
    }
    // A symbol that cannot be demangled still contains the functor's name.
    if (said[row].empty()) said[row] = FunctorOf(symbols[row]);
    if (said[row] == name) said[row].clear();
    ++alike[said[row]];
  }
  std::vector<std::string> names;
  for (size_t row = 0; row < symbols.size(); ++row) {
    std::string& text = said[row];
    if (alike[text] > 1 && !text.empty()) text += lambdas[row];
    names.push_back(text.empty() ? name : name + "<" + text + ">");
  }
  return names;
}

}  // namespace

std::vector<std::string> TopLevelArguments(std::string_view list) {
  std::vector<std::string> out;
  int depth = 0;
  size_t from = 0;
  const auto add = [&](size_t end) {
    std::string_view part = list.substr(from, end - from);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) out.emplace_back(part);
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if ((c == '>' && (i == 0 || list[i - 1] != '-')) || c == ')' || c == '}' || c == ']') --depth;
    if (c != ',' || depth > 0) continue;
    add(i);
    from = i + 1;
  }
  add(list.size());
  return out;
}

std::vector<std::string> KernelNames(const std::vector<NamedKernel>& kernels) {
  // Distinct pairs of name and symbol.
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (const NamedKernel& kernel : kernels) {
    if (!kernel.name.empty() && !kernel.symbol.empty()) {
      pairs.emplace_back(kernel.name, kernel.symbol);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::map<std::pair<std::string_view, std::string_view>, std::string> told;
  for (size_t first = 0, end = 0; first < pairs.size(); first = end) {
    const std::string_view name = pairs[first].first;
    end = first;
    while (end < pairs.size() && pairs[end].first == name) ++end;
    if (end - first < 2) continue;
    std::vector<std::string> symbols;
    for (size_t i = first; i < end; ++i) symbols.emplace_back(pairs[i].second);
    std::vector<std::string> names = DistinctNames(std::string(name), symbols);
    for (size_t i = 0; i < symbols.size(); ++i) {
      told.emplace(pairs[first + i], std::move(names[i]));
    }
  }
  std::vector<std::string> out;
  out.reserve(kernels.size());
  for (const NamedKernel& kernel : kernels) {
    const auto found = told.find({kernel.name, kernel.symbol});
    out.push_back(found == told.end() ? std::string(kernel.name) : found->second);
  }
  return out;
}

}  // namespace xlatrace::report
