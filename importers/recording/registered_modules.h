// SPDX-License-Identifier: Apache-2.0

// The modules that XLA registered as strings with NVTX, without any dump.
//
// When an executable is created, XLA registers strings in domain TSL, on one thread. First come the
// module's title (`XlaModule:#hlo_module=jit_f,program_id=7#`), its name, and the Python stack that
// its instructions share. Four strings follow per instruction of every computation. They are its
// title (`Thunk:#name=...,hlo_op=add.3#`), its HLO line with metadata, its own part of the Python
// stack, and the text of called computations. (Source: xla/backends/gpu/runtime/annotation.cc,
// since February 2024.) The kind of a string follows from payloads of pushed ranges, or else from
// its form. Other strings in between are therefore harmless.
//
// Ownership: views into the RecordedStrings. Thread-safety: const calls are safe.

#ifndef XLATRACE_IMPORTERS_RECORDING_REGISTERED_MODULES_H_
#define XLATRACE_IMPORTERS_RECORDING_REGISTERED_MODULES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importers/recording/recorded_strings.h"
#include "recording/rows.h"

namespace xlatrace::importers {

struct RegisteredInstruction {
  uint32_t title = 0;       // String id of `Thunk:#...#`; 0 if it was not found.
  std::string_view name;    // Before " = " in the HLO line.
  std::string_view line;    // `add.3 = f32[] add(a, b), metadata={...}`.
  std::string_view stack;   // Python stack, HTML-escaped; lines begin with one '-' per level.
  std::string_view called;  // Text of the called computations.
};

struct RegisteredModule {
  uint32_t title = 0;  // String id of `XlaModule:#...#`.
  std::string_view name;
  std::optional<int64_t> program_id;
  std::string_view common_stack;
  std::vector<RegisteredInstruction> instructions;  // In the order of registration.
};

class RegisteredModules {
 public:
  // Payload bytes and schemas may be empty. If they name a string, they determine its kind.
  void AddSchema(const recording::SchemaRow& row);
  void AddPayload(const recording::PayloadRow& row);
  // After all strings, schemas and payloads.
  void Build(const RecordedStrings& strings);

  const std::vector<RegisteredModule>& modules() const { return modules_; }

  static constexpr uint32_t kNoIndex = UINT32_MAX;
  // Index of the module that a title (of the module itself or of a thunk) was registered for.
  uint32_t ModuleOf(uint32_t title) const {
    const auto it = module_of_title_.find(title);
    return it == module_of_title_.end() ? kNoIndex : it->second;
  }

 private:
  enum class Role : uint8_t { kHlo, kStack, kCalled, kModuleName, kCommonStack };
  struct Field {
    uint64_t offset;
    Role role;
  };

  std::unordered_map<uint64_t, std::vector<Field>> schemas_;
  std::unordered_map<uint32_t, Role> roles_;  // By string id, from payloads.
  std::vector<RegisteredModule> modules_;
  std::unordered_map<uint32_t, uint32_t> module_of_title_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_REGISTERED_MODULES_H_
