// NVTX ranges as XLA makes them: domain TSL, registered strings, payloads with registered schemas
// (facts seen with jaxlib 0.10.2: XlaModule and XlaKernel, strings at the offsets of a C++ object).
#ifndef FAKE_GPU_WORKLOAD_RANGES_H_
#define FAKE_GPU_WORKLOAD_RANGES_H_

#include <string>

namespace fakegpu {

struct ThunkText {
  std::string title;   // "Thunk:#name=jit(step)/layer,hlo_op=fusion.1#"
  std::string hlo;     // the HLO line
  std::string source;  // Python stack
  std::string called;  // the computation it calls
};

// A plain range, ASCII message, in domain TSL or, `domain` empty, in the default domain.
void PushRange(const std::string& domain, const std::string& text);
void PopRange(const std::string& domain);

// Ranges with registered strings and payload. Strings are registered once per text.
void PushModule(const std::string& name, int id);
void PushThunk(const ThunkText& text);
void PopTsl();

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_RANGES_H_
