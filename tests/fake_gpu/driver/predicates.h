// SPDX-License-Identifier: Apache-2.0

// Decisions that would depend on the program's data. Kernels compute nothing, so every predicate is
// false and every index 0. FAKE_GPU_PREDICATES=SEED makes them vary, equally in every run of one
// thread: loops run a few times, branches take either side.

#ifndef FAKE_GPU_DRIVER_PREDICATES_H_
#define FAKE_GPU_DRIVER_PREDICATES_H_

#include <cstddef>
#include <optional>

namespace fakegpu {

// The next predicate (`bytes` 1: true three times of four) or index (4: 0 to 3). No value if they
// do not vary, or for another size. Thread-safe.
std::optional<int> NextDecision(size_t bytes);

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_PREDICATES_H_
