// SPDX-License-Identifier: Apache-2.0
#include "importers/common/op_annotation.h"

#include <algorithm>

namespace xlatrace::importers {
namespace {

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsOfName(char c) {
  return IsWord(c) || std::string_view("/.->^").find(c) != std::string_view::npos;
}

}  // namespace

OpAnnotation ParseOpAnnotation(std::string_view text) {
  text = text.substr(0, text.find('#'));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  const OpAnnotation op = {text.substr(0, colon), text.substr(colon + 1)};
  if (op.name.empty() || op.type.empty() ||
      !std::all_of(op.name.begin(), op.name.end(), IsOfName) ||
      !std::all_of(op.type.begin(), op.type.end(), IsWord)) {
    return {};
  }
  return op;
}

bool IsCollectiveType(std::string_view op_type) {
  return op_type.starts_with("Collective") || op_type.starts_with("Nccl");
}

}  // namespace xlatrace::importers
