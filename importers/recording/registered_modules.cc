// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/registered_modules.h"

#include <cstring>
#include <map>
#include <utility>

#include "importers/common/annotation.h"
#include "importers/common/text_fields.h"

namespace xlatrace::importers {
namespace {

// NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE (nvToolsExtPayload.h).
constexpr uint64_t kRegisteredStringType = 80;
constexpr uint32_t kSchemaItselfIndex = 0xFFFFFFFF;

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '%';
}

// `fusion.3 = f32[8]{0} fusion(...)`: the name, empty when it is no such line.
std::string_view InstructionName(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && IsNameChar(text[size])) ++size;
  if (size == 0 || !text.substr(size).starts_with(" = ")) return {};
  std::string_view name = text.substr(0, size);
  if (name.starts_with('%')) name.remove_prefix(1);
  return name;
}

bool LooksCalled(std::string_view text) {
  return text.starts_with('\n') && text.find(" {\n") != std::string_view::npos;
}
bool LooksLikeStack(std::string_view text) { return text.starts_with("\n-"); }

}  // namespace

void RegisteredModules::AddSchema(const recording::SchemaRow& row) {
  if (row.entry == kSchemaItselfIndex || row.type != kRegisteredStringType) return;
  static const std::map<std::string_view, Role> kRoles = {
      {"HLO", Role::kHlo},
      {"Source locations", Role::kStack},
      {"Called HLO", Role::kCalled},
      {"Name", Role::kModuleName},
      {"Common source locations", Role::kCommonStack}};
  const auto role = kRoles.find(row.name);
  if (role != kRoles.end()) schemas_[row.schema].push_back({row.offset, role->second});
}

void RegisteredModules::AddPayload(const recording::PayloadRow& row) {
  const auto schema = schemas_.find(row.schema);
  if (schema == schemas_.end()) return;
  for (const Field& field : schema->second) {
    uint64_t handle = 0;
    if (field.offset > row.bytes.size() || row.bytes.size() - field.offset < sizeof(handle)) {
      continue;
    }
    std::memcpy(&handle, row.bytes.data() + field.offset, sizeof(handle));
    if (handle != 0 && handle <= UINT32_MAX) {
      roles_.emplace(static_cast<uint32_t>(handle), field.role);
    }
  }
}

void RegisteredModules::Build(const RecordedStrings& strings) {
  // Compiler threads register at the same time; each registers one executable after the other.
  struct Open {
    uint32_t module = kNoIndex;
    uint32_t title = 0;  // Title of the thunk whose strings follow.
    bool stack_seen = false;
  };
  std::map<std::pair<uint32_t, uint32_t>, Open> open;  // By domain and thread.
  for (const RecordedStrings::Registration& entry : strings.registrations()) {
    const std::string_view text = strings.Text(entry.id);
    Open& now = open[{entry.domain, entry.thread}];
    if (text.starts_with("XlaModule:#")) {
      now = {.module = static_cast<uint32_t>(modules_.size())};
      RegisteredModule& module = modules_.emplace_back();
      module.title = entry.id;
      const Annotation annotation = ParseAnnotation(text);
      module.name = annotation.Get("hlo_module");
      module.program_id = ParseInt(annotation.Get("program_id"));
      module_of_title_[entry.id] = now.module;
      continue;
    }
    if (now.module == kNoIndex) continue;
    RegisteredModule& module = modules_[now.module];
    if (text.starts_with("Thunk:#")) {
      now.title = entry.id;
      module_of_title_[entry.id] = now.module;
      continue;
    }
    const auto told = roles_.find(entry.id);
    const bool by_form = told == roles_.end();
    const auto is = [&](Role role, bool form) { return by_form ? form : told->second == role; };
    const std::string_view name = InstructionName(text);
    if (is(Role::kHlo, !name.empty())) {
      if (!name.empty()) module.instructions.push_back({now.title, name, text, {}, {}});
      now.title = 0;
      now.stack_seen = true;
    } else if (is(Role::kCalled, LooksCalled(text))) {
      if (!module.instructions.empty()) module.instructions.back().called = text;
    } else if (is(Role::kStack, LooksLikeStack(text))) {
      if (!module.instructions.empty()) module.instructions.back().stack = text;
    } else if (module.instructions.empty() && !now.stack_seen &&
               is(Role::kCommonStack, text.starts_with('\n'))) {
      module.common_stack = text;
      now.stack_seen = true;
    }
  }
}

}  // namespace xlatrace::importers
