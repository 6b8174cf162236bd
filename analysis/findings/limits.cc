#include "analysis/findings/limits.h"

#include <string_view>

namespace xlatrace::analysis::findings {
namespace {

// What kernels reach of a data sheet: streams of memory, matrix products of a good shape.
constexpr double kMemory = 0.85;
constexpr double kProducts = 0.75;
// Tensor cores run below the clock that is reported, from compute capability 9.0 on.
constexpr double kTensorClock = 0.93;

// Operations per clock of one multiprocessor, a multiply-add counting two (CUDA C++ programming
// guide, arithmetic instructions; NVIDIA architecture white papers).
struct Rates {
  std::string_view capability;
  double f32, tf32, half;
};
constexpr Rates kRates[] = {
    {"7.0", 128, 0, 1024},     {"7.5", 128, 0, 1024},       {"8.0", 128, 1024, 2048},
    {"8.6", 256, 256, 512},    {"8.9", 256, 256, 512},      {"9.0", 256, 2048, 4096},
    {"10.0", 256, 4096, 8192}, {"10.3", 256, 4096, 8192},   {"12.0", 256, 256, 512},
    {"gfx90a", 256, 0, 1024},  {"gfx942", 256, 1024, 2048}, {"gfx950", 256, 0, 4096},
};

}  // namespace

Limits LimitsOf(const model::Device& device) {
  Limits limits;
  if (device.kind == model::DeviceKind::kCpu) return limits;
  if (device.memory_bandwidth_bytes_per_s) {
    limits.bytes = kMemory * static_cast<double>(*device.memory_bandwidth_bytes_per_s);
    // AMD's profiler reports half of it.
    if (device.compute_capability.starts_with("gfx9")) *limits.bytes *= 2;
  }
  if (!device.sm_count || !device.clock_hz) return limits;
  const double clocks =
      static_cast<double>(*device.sm_count) * static_cast<double>(*device.clock_hz) * kProducts;
  for (const Rates& rates : kRates) {
    if (rates.capability != device.compute_capability) continue;
    const bool reduced =
        device.compute_capability == "9.0" || device.compute_capability.starts_with("10.");
    const double tensor = reduced ? clocks * kTensorClock : clocks;
    limits.f32 = clocks * rates.f32;
    if (rates.tf32 > 0) limits.tf32 = tensor * rates.tf32;
    limits.half = tensor * rates.half;
  }
  return limits;
}

}  // namespace xlatrace::analysis::findings
