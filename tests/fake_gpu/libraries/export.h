// SPDX-License-Identifier: Apache-2.0
// The exports of a fake library: C functions under the names of NVIDIA's library, and no others
// (everything is built with hidden visibility).
#ifndef XLATRACE_TESTS_FAKE_GPU_LIBRARIES_EXPORT_H_
#define XLATRACE_TESTS_FAKE_GPU_LIBRARIES_EXPORT_H_

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

#endif  // XLATRACE_TESTS_FAKE_GPU_LIBRARIES_EXPORT_H_
