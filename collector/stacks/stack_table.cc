// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/stack_table.h"

#include <algorithm>
#include <cstddef>

#include "recording/host_rows.h"

namespace xlatrace::collector {
namespace {

using recording::HostRow;

// Deeper stacks lose their outermost frames.
constexpr size_t kMaxDepth = 256;
// Programs that make code without end stop at these numbers. Measured with a JAX training script:
// 500 code objects and 2,000 stacks (2026-11-30).
constexpr size_t kMaxCodes = 50'000;
constexpr size_t kMaxStacks = 500'000;

}  // namespace

uint32_t StackTable::TextOf(std::string_view text) {
  const auto [known, is_new] =
      texts_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size() + 1));
  if (is_new) {
    definitions_.Number(static_cast<uint64_t>(HostRow::kText));
    definitions_.Text(text);
    ++definition_rows_;
  }
  return known->second;
}

uint32_t StackTable::TextOf(PyObject* text) {
  if (text == nullptr) return TextOf(std::string_view("?"));
  ptrdiff_t size = 0;
  if (const char* data = PyUnicode_AsUTF8AndSize(text, &size); data != nullptr) {
    return TextOf(std::string_view(data, static_cast<size_t>(size)));
  }
  PyErr_Clear();  // Surrogates, as in the name of a file that is not UTF-8.
  uint32_t number = 0;
  PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
  char* data = nullptr;
  if (bytes != nullptr && PyBytes_AsStringAndSize(bytes, &data, &size) == 0) {
    number = TextOf(std::string_view(data, static_cast<size_t>(size)));
  } else {
    PyErr_Clear();
    number = TextOf(std::string_view("?"));
  }
  if (bytes != nullptr) Py_DecRef(bytes);
  return number;
}

uint32_t StackTable::CodeOf(PyObject* code) {
  const auto known = code_numbers_.find(code);
  if (known != code_numbers_.end()) return known->second;
  if (codes_.size() >= kMaxCodes) return 0;
  Py_IncRef(code);  // Another code object at the same address would be taken for this one.
  const auto text = [&](const char* name) {
    PyObject* value = PyObject_GetAttrString(code, name);
    if (value == nullptr) {
      PyErr_Clear();
      return uint32_t{0};
    }
    const uint32_t number = TextOf(value);
    Py_DecRef(value);
    return number;
  };
  uint32_t function = text("co_qualname");  // Since Python 3.11.
  if (function == 0) function = text("co_name");
  codes_.push_back({function, text("co_filename")});
  const auto number = static_cast<uint32_t>(codes_.size());
  code_numbers_.emplace(code, number);
  return number;
}

uint32_t StackTable::FrameOf(Level level) {
  const uint64_t key = (uint64_t{level.code} << 32) | static_cast<uint32_t>(level.line);
  const auto [known, is_new] = frames_.try_emplace(key, static_cast<uint32_t>(frames_.size() + 1));
  if (is_new) {
    const Code& code = codes_[level.code - 1];
    definitions_.Number(static_cast<uint64_t>(HostRow::kFrame));
    definitions_.Number(code.function);
    definitions_.Number(code.file);
    definitions_.Number(static_cast<uint64_t>(std::max(level.line, 0)));
    ++definition_rows_;
  }
  return known->second;
}

uint32_t StackTable::StackOf(PyObject* frame) {
  Level levels[kMaxDepth];
  size_t depth = 0;
  Py_IncRef(frame);
  while (frame != nullptr && depth < kMaxDepth) {
    PyObject* code = PyFrame_GetCode(frame);
    const uint32_t number = CodeOf(code);
    Py_DecRef(code);
    if (number != 0) levels[depth++] = {number, PyFrame_GetLineNumber(frame)};
    PyObject* back = PyFrame_GetBack(frame);
    Py_DecRef(frame);
    frame = back;
  }
  if (frame != nullptr) Py_DecRef(frame);
  uint32_t stack = 0;
  while (depth > 0) {
    const uint32_t number = FrameOf(levels[--depth]);
    const uint64_t key = (uint64_t{stack} << 32) | number;
    auto known = stacks_.find(key);
    if (known == stacks_.end()) {
      if (stacks_.size() >= kMaxStacks) return 0;
      known = stacks_.emplace(key, static_cast<uint32_t>(stacks_.size() + 1)).first;
      definitions_.Number(static_cast<uint64_t>(HostRow::kStack));
      definitions_.Number(stack);
      definitions_.Number(number);
      ++definition_rows_;
    }
    stack = known->second;
  }
  return stack;
}

}  // namespace xlatrace::collector
