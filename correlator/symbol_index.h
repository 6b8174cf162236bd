// SPDX-License-Identifier: Apache-2.0

// Index of the instructions of one module by kernel symbol.
//
// With a thunk list, it is exactly the list, including reused kernels. Without one, it has the
// instruction after which a symbol is named, and every fusion with the same body. Since March 2023,
// equal fusions of a module run under the symbol of the first one.

#ifndef XLATRACE_CORRELATOR_SYMBOL_INDEX_H_
#define XLATRACE_CORRELATOR_SYMBOL_INDEX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "correlator/computation_roles.h"
#include "model/events.h"
#include "model/hlo_module.h"

namespace xlatrace::correlator {

struct SymbolUse {
  uint32_t instruction = model::kNoIndex;  // Index in the module; kNoIndex: not known.
  int64_t grid[3] = {0, 0, 0};             // 0: not known.
  int64_t block[3] = {0, 0, 0};

  // False if both sides have a launch dimension and differ.
  bool Fits(const model::LaunchConfig& config) const;
};

struct SymbolHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};

class SymbolIndex {
 public:
  using UseMap =
      std::unordered_map<std::string, std::vector<SymbolUse>, SymbolHash, std::equal_to<>>;

  SymbolIndex() = default;
  SymbolIndex(const model::HloModule& module, std::span<const ComputationUse> computations,
              std::span<const model::Thunk> thunks);
  // For a module without HLO: instructions that were seen to launch a symbol.
  explicit SymbolIndex(const std::map<std::string_view, std::vector<uint32_t>>& launchers);

  // Users of a kernel symbol (as recorded); empty if the module has none. Without a thunk list,
  // later kernels of one instruction (`sort_3__1`) are found under the symbol of the first one.
  std::span<const SymbolUse> Find(std::string_view symbol) const;

  // True: Find returns all users. False: only instructions after which the symbol is named.
  bool lists_all_users() const { return lists_all_users_; }

  // All symbols, for an index over modules.
  const UseMap& symbols() const { return uses_; }

 private:
  void AddOwners(const model::HloModule& module, std::span<const ComputationUse> computations);
  void AddUsers(const model::HloModule& module, std::span<const model::Thunk> thunks);

  bool lists_all_users_ = false;
  UseMap uses_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_SYMBOL_INDEX_H_
