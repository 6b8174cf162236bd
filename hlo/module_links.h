// SPDX-License-Identifier: Apache-2.0

// Infers which module computed the input of another one, from result shapes that equal parameter
// shapes. XLA's dumps do not contain the flow of buffers.
//
// Scalars and arrays below 64 bytes are no evidence and do not count. Each parameter is attributed
// to one producer only: the one that can supply most of them (by bytes). Unexplained parameters are
// input. A module may run several times, once for each array of a shape. Modules are numbered in
// the order of their compilation. A producer is one before its consumer, or the consumer itself (a
// training step that takes its own state back).
//
// Thread-safety: pure.

#ifndef XLATRACE_HLO_MODULE_LINKS_H_
#define XLATRACE_HLO_MODULE_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hlo/module_summary.h"

namespace xlatrace::hlo {

struct ModuleLink {
  size_t producer = 0;
  size_t consumer = 0;
  int64_t arrays = 0;      // Matched arrays.
  int64_t bytes = 0;       // Size of the matched arrays.
  int64_t parameters = 0;  // Number of arrays that the consumer takes, without small ones.
  int64_t parameter_bytes = 0;
};

// `modules` in order of compilation; null (unreadable) ones are skipped. Sorted by consumer, then
// by bytes, the most first. Linear in arrays times the modules that make arrays of the same shape.
std::vector<ModuleLink> InferLinks(std::span<const ModuleSummary* const> modules);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_MODULE_LINKS_H_
