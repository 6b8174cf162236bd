// SPDX-License-Identifier: Apache-2.0
// What a stand-in library shows to the program: C functions under the names of NVIDIA's library,
// and nothing else (everything is built with hidden visibility).
#ifndef XLATRACE_TESTS_FAKE_GPU_LIBRARIES_EXPORT_H_
#define XLATRACE_TESTS_FAKE_GPU_LIBRARIES_EXPORT_H_

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

#endif  // XLATRACE_TESTS_FAKE_GPU_LIBRARIES_EXPORT_H_
