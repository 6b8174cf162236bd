// SPDX-License-Identifier: Apache-2.0

// One thunk as the order of launches looks at it: what it may launch, and what tells it from
// others; and what the names of thunks and of custom calls mean.
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
  kKernel,  // One kernel that XLA generated, known by its symbol.
  kGemm,    // At least one kernel of a library.
  kConvolution,
  kLibrary,     // Any other library: FFT, sort, solvers, attention.
  kCollective,  // One kernel of a communication library, or a copy.
  kCopy,        // One copy, of any direction.
  kHostCopy,    // One copy to the host: the predicate of a loop or branch.
  kMemset,
  kAnything,  // A custom call: any kernels, copies and memsets.
  kGraph,     // All that is recorded into one CUDA graph, where a launch of it leaves a single row.
};

// Of a kind in a thunk list ("kCublasLtMatmul"). Kernels of XLA's own are told by their symbol.
ThunkKind ThunkKindOf(std::string_view kind);
// Thunks that hold others, wait, or do nothing on the device.
bool IsContainerThunk(std::string_view kind);
// Of the target of a custom call; kAnything where it is none of the libraries that XLA calls.
ThunkKind ThunkKindOfCustomCall(std::string_view target);
// Custom calls that are marks for passes; the GPU backend emits nothing for them.
bool IsMarkForPasses(std::string_view target);

struct ThunkToken {
  uint32_t instruction = model::kNoIndex;  // In the module.
  ThunkKind kind = ThunkKind::kKernel;
  CollectiveKind collective = CollectiveKind::kAny;
  LibraryKind library = LibraryKind::kAny;
  bool to_host = false;   // A copy that may leave the device.
  bool optional = false;  // May leave no record: branches, loops of unknown length, guesses.
  bool may_copy = false;  // A kernel that may turn out to be a copy.
  uint16_t copies = 1;    // Then this many, one for each result.
  bool repeats = false;   // May be several kernels, the later ones with `__N` behind the symbol.
  int64_t elements = 0;   // That it reads and writes, of kernels whose grid is not known.
  float cost_ns = 0;      // What it should take on a large GPU, to share a graph-level row's time.
  bool unsteady = false;  // Its time does not follow from its cost: it may wait, or run again.
  uint32_t graph = 0;     // The CUDA graph it is recorded into, counted from 1; 0: launched alone.
  uint32_t last = 0;  // Of a kGraph: the last token of the graph; the first one comes behind it.
  int64_t grid[3] = {0, 0, 0};  // Of kernels; 0: not known.
  int64_t block[3] = {0, 0, 0};
};

// Symbol -> tokens that may run under it; found by views as well.
struct TokenSymbolHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
using TokensBySymbol =
    std::unordered_map<std::string, std::vector<uint32_t>, TokenSymbolHash, std::equal_to<>>;

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_THUNK_TOKEN_H_
