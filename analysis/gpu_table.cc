// SPDX-License-Identifier: Apache-2.0
#include "analysis/gpu_table.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace xlatrace::analysis {
namespace {

constexpr int64_t kMegaScale = 1'000'000;
constexpr int64_t kGigaScale = 1'000'000'000;
constexpr double kTeraScale = 1e12;
constexpr int64_t kMiB = 1024 * 1024;

// Achievable from pinned memory, one direction, about 85 % of the link (unverified).
constexpr int64_t kPcie3BytesPerS = 12'500 * kMegaScale;
constexpr int64_t kPcie4BytesPerS = 25 * kGigaScale;
constexpr int64_t kPcie5BytesPerS = 52 * kGigaScale;
constexpr int64_t kPcie6BytesPerS = 100 * kGigaScale;
constexpr int64_t kGraceLinkBytesPerS = 375 * kGigaScale;

struct Achievable {
  double matmul = 0.75;
  double f8 = 0.7;
  double memory = 0.85;
};

// In TFLOP/s, GB and GB/s, MiB; `link` is both directions, as sheets give it.
constexpr Gpu Row(std::string_view name, std::string_view capability, int64_t sms, int64_t mhz,
                  GpuPeaks tera, int64_t gb, int64_t gb_per_s, int64_t l2_mib, int64_t link,
                  int64_t host, Achievable achievable, std::string_view source) {
  const GpuPeaks peaks = {
      tera.f64 * kTeraScale,  tera.f64_matrix * kTeraScale, tera.f32 * kTeraScale,
      tera.tf32 * kTeraScale, tera.f16 * kTeraScale,        tera.bf16 * kTeraScale,
      tera.f8 * kTeraScale,   tera.i8 * kTeraScale,         tera.f4 * kTeraScale};
  return {name,
          capability,
          sms,
          mhz * kMegaScale,
          gb * kGigaScale,
          gb_per_s * kGigaScale,
          l2_mib * kMiB,
          link * kGigaScale / 2,
          host,
          peaks,
          achievable.matmul,
          achievable.f8,
          achievable.memory,
          source};
}

// clang-format off
// Peaks: f64, f64_matrix, f32, tf32, f16, bf16, f8, i8, f4.
constexpr Gpu kGpus[] = {
    Row("H100 SXM", "9.0", 132, 1980, {33.5, 66.9, 66.9, 495, 989, 989, 1979, 1979, 0}, 80, 3352,
        50, 900, kPcie5BytesPerS, {0.80, 0.71, 0.91}, "sheet, xla"),
    Row("H100 PCIe", "9.0", 114, 1755, {25.6, 51.2, 51.2, 378, 757, 757, 1513, 1513, 0}, 80, 2039,
        50, 600, kPcie5BytesPerS, {0.80, 0.71, 0.90}, "sheet, xla"),
    Row("H100 NVL", "9.0", 132, 1785, {30, 60, 60, 418, 835, 835, 1671, 1671, 0}, 94, 3938,
        50, 600, kPcie5BytesPerS, {0.80, 0.71, 0.90}, "sheet"),
    Row("H200", "9.0", 132, 1980, {33.5, 66.9, 66.9, 495, 989, 989, 1979, 1979, 0}, 141, 4800,
        50, 900, kPcie5BytesPerS, {0.80, 0.73, 0.90}, "sheet, xla"),
    Row("GH200", "9.0", 132, 1980, {33.5, 66.9, 66.9, 495, 989, 989, 1979, 1979, 0}, 96, 4000,
        50, 900, kGraceLinkBytesPerS, {0.84, 0.73, 0.90}, "sheet"),
    Row("GH200 144GB", "9.0", 132, 1980, {33.5, 66.9, 66.9, 495, 989, 989, 1979, 1979, 0}, 144,
        4900, 60, 900, kGraceLinkBytesPerS, {0.84, 0.73, 0.90}, "sheet"),
    Row("A100 SXM 80GB", "8.0", 108, 1410, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 0}, 80, 2039,
        40, 600, kPcie4BytesPerS, {0.87, 0.7, 0.89}, "sheet, xla"),
    Row("A100 SXM 40GB", "8.0", 108, 1410, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 0}, 40, 1555,
        40, 600, kPcie4BytesPerS, {0.87, 0.7, 0.89}, "sheet, xla"),
    Row("A100 PCIe 80GB", "8.0", 108, 1410, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 0}, 80, 1935,
        40, 600, kPcie4BytesPerS, {0.81, 0.7, 0.89}, "sheet"),
    Row("A100 PCIe 40GB", "8.0", 108, 1410, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 0}, 40, 1555,
        40, 600, kPcie4BytesPerS, {0.81, 0.7, 0.89}, "sheet"),
    Row("B200", "10.0", 148, 1965, {37, 37, 74.5, 1112, 2225, 2225, 4450, 4450, 8900}, 180, 7672,
        126, 1800, kPcie5BytesPerS, {0.78, 0.76, 0.87}, "formula, xla"),
    Row("GB200", "10.0", 152, 2062, {40, 40, 80, 1200, 2398, 2398, 4797, 4797, 9594}, 186, 7928,
        129, 1800, kGraceLinkBytesPerS, {0.76, 0.75, 0.87}, "formula, xla"),
    Row("B300", "10.3", 148, 1965, {1.25, 1.25, 75, 1112, 2250, 2250, 4500, 150, 13'500}, 288, 8000,
        129, 1800, kPcie6BytesPerS, {0.79, 0.75, 0.87}, "sheet"),
    Row("GB300", "10.3", 152, 2070, {1.3, 1.3, 80, 1250, 2500, 2500, 5000, 165, 15'000}, 288, 7928,
        129, 1800, kGraceLinkBytesPerS, {0.79, 0.75, 0.87}, "sheet, xla"),
    Row("B100", "10.0", 0, 0, {30, 30, 60, 880, 1750, 1750, 3500, 3500, 7000}, 192, 8000,
        126, 1800, kPcie5BytesPerS, {0.78, 0.76, 0.87}, "unverified"),
    Row("V100 SXM2", "7.0", 80, 1530, {7.8, 0, 15.7, 0, 125, 0, 0, 63, 0}, 16, 898,
        6, 300, kPcie3BytesPerS, {0.75, 0.7, 0.88}, "sheet, xla"),
    Row("V100 SXM2 32GB", "7.0", 80, 1530, {7.8, 0, 15.7, 0, 125, 0, 0, 63, 0}, 32, 898,
        6, 300, kPcie3BytesPerS, {0.75, 0.7, 0.88}, "sheet, xla"),
    Row("V100 PCIe", "7.0", 80, 1380, {7.0, 0, 14.1, 0, 112, 0, 0, 57, 0}, 16, 898,
        6, 0, kPcie3BytesPerS, {0.75, 0.7, 0.88}, "sheet"),
    Row("T4", "7.5", 40, 1590, {0.25, 0, 8.1, 0, 65, 0, 0, 130, 0}, 16, 320,
        4, 0, kPcie3BytesPerS, {0.55, 0.7, 0.88}, "sheet"),
    Row("RTX 3090", "8.6", 82, 1695, {0.56, 0, 35.6, 35.6, 71, 71, 0, 284, 0}, 24, 936,
        6, 112, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "formula"),
    Row("A10G", "8.6", 80, 1710, {0.55, 0, 35.0, 35.0, 70, 70, 0, 140, 0}, 24, 600,
        6, 0, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "formula, unverified"),
    Row("A10", "8.6", 72, 1695, {0.49, 0, 31.2, 62.5, 125, 125, 0, 250, 0}, 24, 600,
        6, 0, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "sheet"),
    Row("A40", "8.6", 84, 1740, {0.58, 0, 37.4, 74.8, 149.7, 149.7, 0, 299, 0}, 48, 696,
        6, 112, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "sheet"),
    Row("RTX A6000", "8.6", 84, 1800, {0.60, 0, 38.7, 77.4, 154.8, 154.8, 0, 309.7, 0}, 48, 768,
        6, 112, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "sheet, xla"),
    Row("L4", "8.9", 58, 2040, {0.47, 0, 30.3, 60, 121, 121, 242, 242, 0}, 24, 300,
        48, 0, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "sheet"),
    Row("L40S", "8.9", 142, 2520, {1.4, 0, 91.6, 183, 362, 362, 733, 733, 0}, 48, 864,
        96, 0, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "sheet"),
    Row("L40", "8.9", 142, 2490, {1.4, 0, 90.5, 90.5, 181, 181, 362, 362, 0}, 48, 864,
        96, 0, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "sheet"),
    Row("RTX 4090", "8.9", 128, 2520, {1.29, 0, 82.6, 82.6, 165, 165, 330, 661, 0}, 24, 1008,
        72, 0, kPcie4BytesPerS, {0.87, 0.7, 0.90}, "sheet"),
    Row("RTX 6000 Ada", "8.9", 142, 2505, {1.42, 0, 91.1, 182, 364, 364, 728, 728, 0}, 48, 960,
        96, 0, kPcie4BytesPerS, {0.85, 0.7, 0.90}, "formula"),
    Row("RTX 5090", "12.0", 170, 2407, {1.64, 0, 104.8, 104.8, 209.5, 209.5, 419, 838, 1676}, 32,
        1792, 96, 0, kPcie5BytesPerS, {0.85, 0.7, 0.90}, "formula"),
    Row("RTX PRO 6000 Blackwell", "12.0", 188, 2617, {1.97, 0, 126, 252, 504, 504, 1008, 1008, 2015},
        96, 1792, 128, 0, kPcie5BytesPerS, {0.85, 0.7, 0.90}, "sheet, xla"),
    Row("MI300X", "gfx942", 304, 2100, {81.7, 163.4, 163.4, 654, 1307, 1307, 2615, 2615, 0}, 206,
        5300, 32, 896, kPcie5BytesPerS, {0.72, 0.7, 0.77}, "sheet"),
    Row("MI325X", "gfx942", 304, 2100, {81.7, 163.4, 163.4, 654, 1307, 1307, 2615, 2615, 0}, 275,
        6000, 32, 896, kPcie5BytesPerS, {0.72, 0.7, 0.77}, "sheet"),
    Row("MI355X", "gfx950", 256, 2400, {78.6, 78.6, 157.3, 0, 2517, 2517, 5033, 5033, 10'066}, 309,
        8000, 32, 1078, kPcie5BytesPerS, {0.68, 0.7, 0.77}, "sheet"),
    Row("MI250X", "gfx90a", 110, 1700, {23.9, 47.9, 23.9, 0, 191.5, 191.5, 0, 191.5, 0}, 69, 1638,
        8, 400, kPcie4BytesPerS, {0.6, 0.7, 0.80}, "sheet; one of the two dies, which is one device"),
    Row("MI210", "gfx90a", 104, 1700, {22.6, 45.3, 22.6, 0, 181, 181, 0, 181, 0}, 69, 1638,
        8, 300, kPcie4BytesPerS, {0.6, 0.7, 0.80}, "formula"),
};

// Operations per clock of one SM; `halved` of the GeForce variant of the same chip (0: there is
// none). AMD: of one compute unit. `tensor_clock`: the matrix units' clock as a share of the SM's
// maximum, as XLA's specs have it.
struct PerClock {
  std::string_view capability;
  double f64, f64_matrix, f32, tf32, f16, bf16, f8, i8, f4;
  bool has_halved;
  double tensor_clock;
};
constexpr PerClock kPerClock[] = {
    {"7.0", 64, 0, 128, 0, 1024, 0, 0, 512, 0, false, 1},
    {"7.5", 4, 0, 128, 0, 1024, 0, 0, 2048, 0, true, 1},
    {"8.0", 64, 128, 128, 1024, 2048, 2048, 0, 4096, 0, false, 1},
    {"8.6", 4, 0, 256, 512, 1024, 1024, 0, 2048, 0, true, 1},
    {"8.9", 4, 0, 256, 512, 1024, 1024, 2048, 2048, 0, true, 1},
    {"9.0", 128, 256, 256, 2048, 4096, 4096, 8192, 8192, 0, false, 0.924},
    {"10.0", 128, 128, 256, 4096, 8192, 8192, 16384, 16384, 32768, false, 0.934},
    {"10.3", 4, 4, 256, 4096, 8192, 8192, 16384, 512, 49152, false, 0.934},
    {"12.0", 4, 0, 256, 512, 1024, 1024, 2048, 2048, 4096, true, 1},
    {"gfx908", 64, 128, 128, 0, 1024, 512, 0, 1024, 0, false, 1},
    {"gfx90a", 128, 256, 128, 0, 1024, 1024, 0, 1024, 0, false, 1},
    {"gfx942", 128, 256, 256, 1024, 2048, 2048, 4096, 4096, 0, false, 1},
    {"gfx950", 128, 128, 256, 0, 4096, 4096, 8192, 8192, 16384, false, 1},
};
// clang-format on

// Letters and digits in upper case, split at everything else: "A100-SXM4-80GB" is A100 SXM4 80GB.
std::vector<std::string> Tokens(std::string_view text) {
  std::vector<std::string> tokens(1);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      tokens.back() += static_cast<char>(std::toupper(byte));
    } else if (!tokens.back().empty()) {
      tokens.emplace_back();
    }
  }
  if (tokens.back().empty()) tokens.pop_back();
  return tokens;
}

bool Has(const std::vector<std::string>& tokens, std::string_view token) {
  for (const std::string& each : tokens) {
    if (each == token) return true;
    // "SXM" is in SXM2, SXM4, SXM5.
    if (token == "SXM" && each.starts_with("SXM")) return true;
  }
  return false;
}

bool HasAll(const std::vector<std::string>& tokens, const std::vector<std::string>& wanted) {
  for (const std::string& each : wanted) {
    if (!Has(tokens, each)) return false;
  }
  return true;
}

bool Near(int64_t value, int64_t expected, double tolerance) {
  return std::abs(static_cast<double>(value - expected)) <=
         tolerance * static_cast<double>(expected);
}

// Drivers round memory down a little and count it in powers of two.
bool MemoryFits(const model::Device& device, const Gpu& gpu) {
  return !device.memory_bytes || Near(*device.memory_bytes, gpu.memory_bytes, 0.09);
}

// The chip a row is about, the first token that no other word of the name repeats: "H100", "4090".
std::string ChipOf(const Gpu& gpu) {
  for (const std::string& token : Tokens(gpu.name)) {
    if (token != "RTX" && token != "PRO") return token;
  }
  return {};
}

const Gpu* FindByProductName(const model::Device& device) {
  const std::vector<std::string> tokens = Tokens(device.name);
  const Gpu* best = nullptr;
  size_t best_score = 0;
  for (const Gpu& gpu : kGpus) {
    if (!Has(tokens, ChipOf(gpu))) continue;
    // "RTX 6000 Ada" and "RTX PRO 6000", "A6000" and others share words with older parts.
    const std::vector<std::string> wanted = Tokens(gpu.name);
    const bool one_chip = wanted[0] != "RTX";
    if (!one_chip && !HasAll(tokens, wanted)) continue;
    if (device.sm_count && gpu.sm_count > 0 && *device.sm_count != gpu.sm_count) continue;
    // "PCIe" and "NVL" are always in the names of those parts, and never in those of others.
    bool other_board = false;
    for (const std::string_view board : {"PCIE", "NVL"}) {
      if (Has(tokens, board) != Has(wanted, board)) other_board = true;
    }
    if (other_board) continue;
    size_t score = 1;
    for (const std::string& token : wanted) score += Has(tokens, token) ? 2 : 0;
    if (device.memory_bytes && MemoryFits(device, gpu)) ++score;
    if (score > best_score) {
      best = &gpu;
      best_score = score;
    }
  }
  return best;
}

const Gpu* FindByFigures(const model::Device& device) {
  if (!device.sm_count || device.compute_capability.empty() || !device.memory_bytes) return nullptr;
  const Gpu* found = nullptr;
  for (const Gpu& gpu : kGpus) {
    if (gpu.compute_capability != device.compute_capability || gpu.sm_count != *device.sm_count ||
        !MemoryFits(device, gpu)) {
      continue;
    }
    if (device.clock_hz && !Near(*device.clock_hz, gpu.clock_hz, 0.03)) continue;
    if (found == nullptr) {
      found = &gpu;
      continue;
    }
    if (!device.memory_bandwidth_bytes_per_s) return nullptr;  // Two of them: do not guess.
    const auto off = [&](const Gpu& candidate) {
      return std::llabs(*device.memory_bandwidth_bytes_per_s -
                        candidate.memory_bandwidth_bytes_per_s);
    };
    if (off(gpu) < off(*found)) found = &gpu;
  }
  return found;
}

// Does the name identify the full variant of a chip (see PeaksByFormula)?
bool IsFullRate(std::string_view name) {
  const std::vector<std::string> tokens = Tokens(name);
  for (const char* half : {"GEFORCE", "A10G", "L40"}) {
    if (Has(tokens, half)) return false;
  }
  if (Has(tokens, "RTX") && (Has(tokens, "ADA") || Has(tokens, "PRO"))) return true;
  for (const std::string& token : tokens) {
    for (const std::string_view full : {"TESLA", "QUADRO", "T4", "L4", "L40S"}) {
      if (token == full) return true;
    }
    // A10, A40, A6000 and their like.
    if (token.size() >= 3 && token[0] == 'A' &&
        token.find_first_not_of("0123456789", 1) == std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::span<const Gpu> AllGpus() { return kGpus; }

const Gpu* FindGpu(const model::Device& device) {
  if (device.kind != model::DeviceKind::kGpu) return nullptr;
  const std::vector<std::string> tokens = Tokens(device.name);
  if (Has(tokens, "FAKE") || Has(tokens, "MIG")) return nullptr;
  if (const Gpu* gpu = FindByProductName(device)) return gpu;
  // Generic names of sources that know no product: "GPU (132 SMs)", "AMD GPU (304 compute units)".
  const bool generic = device.name.empty() || Has(tokens, "SMS") || Has(tokens, "UNITS") ||
                       (tokens.size() <= 2 && Has(tokens, "GPU"));
  return generic ? FindByFigures(device) : nullptr;
}

const Gpu* FindGpuByName(std::string_view name) {
  const std::vector<std::string> wanted = Tokens(name);
  if (wanted.empty() || Has(wanted, "FAKE")) return nullptr;
  for (const Gpu& gpu : kGpus) {
    if (Tokens(gpu.name) == wanted) return &gpu;
  }
  for (const Gpu& gpu : kGpus) {
    if (HasAll(Tokens(gpu.name), wanted)) return &gpu;
  }
  model::Device device;
  device.name = std::string(name);
  return FindByProductName(device);
}

std::string GpuNames() {
  std::string names;
  for (const Gpu& gpu : kGpus) {
    if (!names.empty()) names += ", ";
    names += gpu.name;
  }
  return names;
}

std::optional<GpuPeaks> PeaksByFormula(std::string_view compute_capability, int64_t sm_count,
                                       int64_t clock_hz, std::string_view name) {
  for (const PerClock& row : kPerClock) {
    if (row.capability != compute_capability) continue;
    const double vector = static_cast<double>(sm_count) * static_cast<double>(clock_hz);
    const double halves = row.has_halved && !IsFullRate(name) ? 0.5 : 1;
    const double matrix = vector * row.tensor_clock * halves;
    GpuPeaks peaks;
    peaks.f64 = row.f64 * vector;
    peaks.f64_matrix = row.f64_matrix * vector * row.tensor_clock;
    peaks.f32 = row.f32 * vector;
    peaks.tf32 = row.tf32 * matrix;
    peaks.f16 = row.f16 * matrix;
    peaks.bf16 = row.bf16 * matrix;
    peaks.f8 = row.f8 * matrix;
    peaks.i8 = row.i8 * vector * row.tensor_clock;  // Accumulates in integers: not halved.
    peaks.f4 = row.f4 * vector * row.tensor_clock;
    return peaks;
  }
  return std::nullopt;
}

}  // namespace xlatrace::analysis
