// libFuzzer target: any bytes as the table of a capture.

#include <cstddef>
#include <cstdint>
#include <string>

#include "importers/projected_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)xlatrace::importers::ReadProjectedTrace(
      std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
