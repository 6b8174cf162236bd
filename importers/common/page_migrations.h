// SPDX-License-Identifier: Apache-2.0

// Own time of page migrations. The driver moves pages of unified memory while the kernel that needs
// them runs. Time within kernels of the device therefore belongs to those kernels.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_PAGE_MIGRATIONS_H_
#define XLATRACE_IMPORTERS_COMMON_PAGE_MIGRATIONS_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace xlatrace::importers {

// Kernels of one device.
class KernelIntervals {
 public:
  void Add(int64_t start_ns, int64_t end_ns) { intervals_.emplace_back(start_ns, end_ns); }
  // After the last Add.
  void Finish();
  // The part of the interval in which no kernel runs.
  int64_t Outside(int64_t start_ns, int64_t end_ns) const;

 private:
  std::vector<std::pair<int64_t, int64_t>> intervals_;  // After Finish: disjoint and in order.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_PAGE_MIGRATIONS_H_
