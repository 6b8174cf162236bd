// SPDX-License-Identifier: Apache-2.0

// Record sizes of the CUPTI release that is simulated (FAKE_CUPTI_API, a value of cuptiGetVersion:
// 18, 22, 26, 28, 130001, 130101, 130301, 130401; default 130001).
//
// Within one kind, each release's record is a prefix of the next one's. So only the size
// distinguishes two releases; derive_layouts.py shows it on NVIDIA's wheels.
#ifndef FAKE_GPU_CUPTI_LAYOUT_H_
#define FAKE_GPU_CUPTI_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace fakegpu::cupti {

uint32_t ApiVersion();
// Bytes of a record of `kind`, as the simulated release emits it; 0: it does not know the kind.
size_t RecordSize(uint32_t kind);
inline constexpr size_t kLargestRecord = 248;

}  // namespace fakegpu::cupti

#endif  // FAKE_GPU_CUPTI_LAYOUT_H_
