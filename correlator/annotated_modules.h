// SPDX-License-Identifier: Apache-2.0

// Modules as their source describes them, without HLO: the instructions that were seen, their
// annotations, and their kernels.
//
// A module is all work that one process marks with one name and program id. If the process uses no
// program ids, the name is sufficient. If a process uses ids, annotations without an id belong to
// executables that XLA compiled for itself (autotuning) and make no module.
//
// Ownership: views into the hints of the run, which must outlive the object and not change.
// Thread-safety: immutable after construction. One pass over the activities.

#ifndef XLATRACE_CORRELATOR_ANNOTATED_MODULES_H_
#define XLATRACE_CORRELATOR_ANNOTATED_MODULES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/run_tables.h"

namespace xlatrace::correlator {

struct AnnotatedInstruction {
  std::string_view name;
  std::map<uint32_t, int64_t> hints;  // Number from 1 -> device time with this hint.
  std::vector<uint32_t> configs;      // Its launch configurations, ascending, without duplicates.
  int64_t first_ns = INT64_MAX;       // Start of its first activity.
  int64_t launches = 0;
  bool nested = false;  // Inside another thunk: the body of a loop, a branch, a command buffer.
};

struct AnnotatedModule {
  model::Id process_id = 0;
  std::string_view name;  // Empty: identified by its number only.
  std::optional<int64_t> program_id;
  // In the order of their first run; instructions that only a range names come last.
  std::vector<AnnotatedInstruction> instructions;
  int64_t launches = 0;  // Number of activities that name it, including graph-level rows.
  int64_t graph_rows = 0;
};

class AnnotatedModules {
 public:
  static constexpr uint32_t kNoIndex = UINT32_MAX;

  // `is_known`: the source's handle leads to a readable module, so its annotations need no separate
  // module.
  AnnotatedModules(const model::RunTables& run, const std::function<bool(model::Id)>& is_known);

  std::span<const AnnotatedModule> all() const { return modules_; }
  // Index of the module that a hint names; kNoIndex: the hint names no module.
  uint32_t Of(model::Id process_id, const model::Hint& hint) const;

 private:
  using Key = std::tuple<model::Id, std::string_view, int64_t,
                         bool>;  // Process, name, program id, and true if there is an id.

  static Key KeyOf(model::Id process_id, const model::Hint& hint);
  uint32_t InstructionOf(uint32_t module, std::string_view name);
  void Count(const model::RunTables& run, uint32_t number, uint32_t module_index, uint32_t config,
             int64_t launches, int64_t self_ns, int64_t first_ns);
  void AddUnlaunched(const model::RunTables& run);

  std::vector<AnnotatedModule> modules_;
  std::map<Key, uint32_t> index_;
  // Used during construction only.
  std::vector<std::unordered_map<std::string_view, uint32_t>> names_;
};

// Names of thunks that XLA:GPU itself creates, so that no HLO contains them
// (command_buffer_conversion_pass.cc).
bool IsThunkOnly(std::string_view name);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ANNOTATED_MODULES_H_
