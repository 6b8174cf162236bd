// SPDX-License-Identifier: Apache-2.0

// One thunk for thunk order: its possible launches and its distinguishing properties. The names of
// thunks and custom calls are interpreted here, too.
//
// Thread-safety: plain data; the functions are pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_THUNK_TOKEN_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_THUNK_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "correlator/thunk_order/program/launch_kind.h"
#include "model/events.h"
#include "model/hlo_module.h"

namespace xlatrace::correlator {

enum class ThunkKind : uint8_t {
  kKernel,  // One kernel that XLA generated, identified by its symbol.
  kGemm,    // At least one kernel of a library.
  kConvolution,
  kLibrary,     // Any other library: FFT, sort, solvers, attention.
  kCollective,  // One kernel of a communication library, or a copy.
  kCopy,        // One copy, of any direction.
  kHostCopy,    // One copy to the host: the predicate of a loop or branch.
  kMemset,
  kAnything,  // A custom call: any kernels, copies and memsets.
  kGraph,     // All work recorded into one CUDA graph, if its launch leaves a single row.
};

// For a kind in a thunk list ("kCublasLtMatmul"). XLA's own kernels are identified by their symbol.
ThunkKind ThunkKindOf(std::string_view kind);
// True for thunks that contain others, wait, or do nothing on the device.
bool IsContainerThunk(std::string_view kind);
// For the target of a custom call; kAnything if XLA calls no known library.
ThunkKind ThunkKindOfCustomCall(std::string_view target);
// True for custom calls that are marks for passes; the GPU backend emits nothing for them.
bool IsMarkForPasses(std::string_view target);

struct ThunkToken {
  uint32_t instruction = model::kNoIndex;  // Index in the module.
  ThunkKind kind = ThunkKind::kKernel;
  CollectiveKind collective = CollectiveKind::kAny;
  LibraryKind library = LibraryKind::kAny;
  bool to_host = false;   // A copy that may leave the device.
  bool optional = false;  // May leave no record: branches, loops of unknown length, guesses.
  bool may_copy = false;  // A kernel that may be a copy.
  uint16_t copies = 1;    // If it is a copy: the number of copies, one for each result.
  // The thunk may launch several kernels; later ones have `__N` after the symbol.
  bool repeats = false;
  int64_t elements = 0;  // Elements read and written, for kernels with unknown grid.
  float cost_ns = 0;     // Estimated time on a large GPU, for the shares of a graph-level row.
  // The time does not follow from the cost, because the thunk may wait or repeat.
  bool unsteady = false;
  uint32_t graph = 0;  // The CUDA graph that contains the thunk, from 1; 0: launched separately.
  uint32_t last = 0;   // For kGraph: the last token of the graph; the first one follows this token.
  int64_t grid[3] = {0, 0, 0};  // For kernels; 0: not known.
  int64_t block[3] = {0, 0, 0};
};

// Tokens that may run under a symbol, by symbol; accepts views for look-ups.
struct TokenSymbolHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
using TokensBySymbol =
    std::unordered_map<std::string, std::vector<uint32_t>, TokenSymbolHash, std::equal_to<>>;

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_THUNK_TOKEN_H_
