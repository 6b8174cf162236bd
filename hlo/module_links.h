// SPDX-License-Identifier: Apache-2.0

// Which module may have made what another one takes: results of one that have the shapes of
// parameters of the other. Always inferred: XLA's dumps do not say which buffer went where.
//
// Scalars and arrays below 64 bytes say nothing and do not count. Each parameter is given to one
// producer only, the one that can supply most of them (by bytes), so that what remains unexplained
// is input. A module may run several times, once for each array of a shape. Modules are numbered in
// the order they were compiled: a producer is one before its consumer, or the consumer itself (a
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
  int64_t arrays = 0;      // Matched.
  int64_t bytes = 0;       // Of the matched arrays.
  int64_t parameters = 0;  // Arrays that the consumer takes, those that do not count left out.
  int64_t parameter_bytes = 0;
};

// `modules` in order of compilation; null ones (unreadable) take no part. By consumer, then bytes,
// the most first. Linear in arrays times the modules that make arrays of the same shape.
std::vector<ModuleLink> InferLinks(std::span<const ModuleSummary* const> modules);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_MODULE_LINKS_H_
