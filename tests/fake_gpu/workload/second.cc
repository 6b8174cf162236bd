// SPDX-License-Identifier: Apache-2.0

// A second shared object with an NVTX of its own: NVTX is initialised once per object, so a tool is
// called twice, and sees domain TSL twice. The workload's "other" uses it.
#include "workload/ranges.h"

extern "C" __attribute__((visibility("default"))) void SecondPush(const char* domain,
                                                                  const char* text);
extern "C" __attribute__((visibility("default"))) void SecondPop(const char* domain);

extern "C" void SecondPush(const char* domain, const char* text) {
  fakegpu::PushRange(domain, text);
}
extern "C" void SecondPop(const char* domain) { fakegpu::PopRange(domain); }
