// SPDX-License-Identifier: Apache-2.0
#include "analysis/gpu_table.h"

#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "analysis/device_facts.h"
#include "analysis/gpu_limits.h"

namespace xlatrace::analysis {
namespace {

model::Device Named(const std::string& name) {
  model::Device device;
  device.name = name;
  return device;
}

std::string NameOf(const model::Device& device) {
  const Gpu* gpu = FindGpu(device);
  return gpu == nullptr ? "" : std::string(gpu->name);
}

TEST(GpuTable, NamesFromDriversAreFound) {
  EXPECT_EQ(NameOf(Named("NVIDIA H100 80GB HBM3")), "H100 SXM");
  EXPECT_EQ(NameOf(Named("NVIDIA H100 PCIe")), "H100 PCIe");
  EXPECT_EQ(NameOf(Named("NVIDIA H100 NVL")), "H100 NVL");
  EXPECT_EQ(NameOf(Named("NVIDIA H200")), "H200");
  EXPECT_EQ(NameOf(Named("NVIDIA A100-SXM4-80GB")), "A100 SXM 80GB");
  EXPECT_EQ(NameOf(Named("NVIDIA A100-SXM4-40GB")), "A100 SXM 40GB");
  EXPECT_EQ(NameOf(Named("NVIDIA A100-PCIE-40GB")), "A100 PCIe 40GB");
  EXPECT_EQ(NameOf(Named("NVIDIA A100 80GB PCIe")), "A100 PCIe 80GB");
  EXPECT_EQ(NameOf(Named("Tesla V100-SXM2-16GB")), "V100 SXM2");
  EXPECT_EQ(NameOf(Named("Tesla V100-SXM2-32GB")), "V100 SXM2 32GB");
  EXPECT_EQ(NameOf(Named("Tesla T4")), "T4");
  EXPECT_EQ(NameOf(Named("NVIDIA A10G")), "A10G");
  EXPECT_EQ(NameOf(Named("NVIDIA A10")), "A10");
  EXPECT_EQ(NameOf(Named("NVIDIA L4")), "L4");
  EXPECT_EQ(NameOf(Named("NVIDIA L40S")), "L40S");
  EXPECT_EQ(NameOf(Named("NVIDIA GeForce RTX 4090")), "RTX 4090");
  EXPECT_EQ(NameOf(Named("NVIDIA RTX 6000 Ada Generation")), "RTX 6000 Ada");
  EXPECT_EQ(NameOf(Named("NVIDIA RTX PRO 6000 Blackwell Workstation Edition")),
            "RTX PRO 6000 Blackwell");
  EXPECT_EQ(NameOf(Named("NVIDIA B200")), "B200");
  EXPECT_EQ(NameOf(Named("NVIDIA GB200")), "GB200");
  EXPECT_EQ(NameOf(Named("AMD Instinct MI300X VF")), "MI300X");
}

TEST(GpuTable, VariantsAreDistinguishedByMemorySize) {
  model::Device device = Named("NVIDIA A100-PG509-200");
  device.memory_bytes = 42'505'273'344;  // 40 GB as its driver counts.
  EXPECT_EQ(NameOf(device), "A100 SXM 40GB");
  device = Named("NVIDIA GH200 144G HBM3e");
  device.memory_bytes = 150'000'000'000;
  EXPECT_EQ(NameOf(device), "GH200 144GB");
}

// Roofline takes one operation per byte for memory's business where the peak is not known.
TEST(GpuTable, VectorPeakExceedsTwoOperationsPerByteOfBandwidth) {
  for (const Gpu& gpu : AllGpus()) {
    EXPECT_GT(gpu.peaks.f32, 2.0 * static_cast<double>(gpu.memory_bandwidth_bytes_per_s))
        << gpu.name;
  }
}

TEST(GpuTable, UnknownGpuNamesHaveNoRow) {
  EXPECT_EQ(NameOf(Named("")), "");
  EXPECT_EQ(NameOf(Named("NVIDIA GeForce RTX 3060")), "");
  EXPECT_EQ(NameOf(Named("NVIDIA RTX A4000")), "");
  EXPECT_EQ(NameOf(Named("Quadro RTX 6000")), "");  // Turing, not Ada.
  EXPECT_EQ(NameOf(Named("NVIDIA H100 80GB HBM3 MIG 1g.10gb")), "");
  EXPECT_EQ(NameOf(Named("NVIDIA H200 NVL")), "");
}

TEST(GpuTable, TheFakeGpuHasNoPeaks) {
  model::Device fake = Named("xlatrace fake GPU (H100 SXM)");
  fake.compute_capability = "9.0";
  fake.sm_count = 132;
  fake.clock_hz = 1'980'000'000;
  fake.memory_bytes = 80'000'000'000;
  fake.memory_bandwidth_bytes_per_s = 3'352'000'000'000;
  const DeviceFacts facts = FactsOf(fake);
  EXPECT_EQ(facts.gpu, nullptr);
  EXPECT_FALSE(facts.peaks);
  EXPECT_EQ(facts.memory_bandwidth_bytes_per_s, 0);
  EXPECT_TRUE(facts.limits);  // Occupancy is arithmetic, not speed.
}

TEST(GpuTable, DevicesWithoutANameAreFoundByTheirFigures) {
  model::Device device = Named("AMD GPU (304 compute units)");  // The name from ROCm's profiler.
  device.compute_capability = "gfx942";
  device.sm_count = 304;
  device.memory_bytes = 206'141'652'992;
  device.memory_bandwidth_bytes_per_s = 2'662'400'000'000;  // Half of the truth.
  EXPECT_EQ(NameOf(device), "MI300X");
  EXPECT_EQ(FactsOf(device).memory_bandwidth_bytes_per_s, 5'300'000'000'000);
  device = Named("GPU (132 SMs)");
  device.compute_capability = "9.0";
  device.sm_count = 132;
  EXPECT_EQ(NameOf(device), "");  // H100 or H200; only the memory size would distinguish them.
  device.memory_bytes = 150'754'820'096;
  device.memory_bandwidth_bytes_per_s = 4'800'000'000'000;
  EXPECT_EQ(NameOf(device), "H200");
  device.name = "NVIDIA Something New";
  EXPECT_EQ(NameOf(device), "");  // An unknown product name means another product.
}

TEST(GpuTable, AbbreviatedNamesAreFound) {
  EXPECT_EQ(FindGpuByName("h100")->name, "H100 SXM");
  EXPECT_EQ(FindGpuByName("H100 pcie")->name, "H100 PCIe");
  EXPECT_EQ(FindGpuByName("a100-pcie-40gb")->name, "A100 PCIe 40GB");
  EXPECT_EQ(FindGpuByName("mi300x")->name, "MI300X");
  EXPECT_EQ(FindGpuByName("NVIDIA H100 80GB HBM3")->name, "H100 SXM");
  EXPECT_EQ(FindGpuByName("L40")->name, "L40");
  EXPECT_EQ(FindGpuByName("riva tnt"), nullptr);
  EXPECT_EQ(FindGpuByName(""), nullptr);
}

// SMs x clock x operations per clock is another way to every peak of the sheets.
TEST(GpuTable, PeaksOfDataSheetsEqualTheFormula) {
  for (const Gpu& gpu : AllGpus()) {
    if (gpu.sm_count == 0) continue;
    const std::string brand = gpu.name.starts_with("RTX 3090") ||
                                      gpu.name.starts_with("RTX 4090") ||
                                      gpu.name.starts_with("RTX 5090")
                                  ? "NVIDIA GeForce "
                                  : "NVIDIA ";
    const auto formula = PeaksByFormula(gpu.compute_capability, gpu.sm_count, gpu.clock_hz,
                                        brand + std::string(gpu.name));
    ASSERT_TRUE(formula) << gpu.name;
    const auto near = [&](double sheet, double computed, const char* type, double tolerance) {
      EXPECT_LE(std::abs(sheet - computed), tolerance * sheet) << gpu.name << " " << type;
    };
    near(gpu.peaks.f32, formula->f32, "f32", 0.02);
    // The sheet of the NVL and B300 boards implies other tensor clocks than their sisters'.
    const bool own_clock = gpu.name == "H100 NVL" || gpu.name == "B300" || gpu.name == "GB300";
    near(gpu.peaks.f16, formula->f16, "f16", own_clock ? 0.09 : 0.015);
    near(gpu.peaks.tf32, formula->tf32, "tf32", own_clock ? 0.09 : 0.02);
  }
}

TEST(GpuTable, RowsHaveAllFields) {
  std::set<std::string_view> names;
  for (const Gpu& gpu : AllGpus()) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
    EXPECT_GT(gpu.memory_bandwidth_bytes_per_s, 0) << gpu.name;
    EXPECT_EQ(FindGpuByName(gpu.name), &gpu) << gpu.name;
    if (!gpu.compute_capability.starts_with("gfx")) {
      EXPECT_TRUE(FindGpuLimits(gpu.compute_capability)) << gpu.name;
    }
  }
}

TEST(DeviceFacts, GeForceTensorCoresRunAtHalfRateByFormula) {
  const auto geforce = PeaksByFormula("8.6", 28, 1'777'000'000, "NVIDIA GeForce RTX 3060");
  const auto workstation = PeaksByFormula("8.6", 28, 1'777'000'000, "NVIDIA RTX A4000");
  ASSERT_TRUE(geforce && workstation);
  EXPECT_DOUBLE_EQ(geforce->bf16 * 2, workstation->bf16);
  EXPECT_DOUBLE_EQ(geforce->f32, workstation->f32);
  EXPECT_FALSE(PeaksByFormula("6.1", 28, 1'777'000'000, ""));
}

TEST(DeviceFacts, RecordedLimitsWin) {
  model::Device device = Named("NVIDIA H200");
  device.compute_capability = "9.0";
  device.max_blocks_per_sm = 16;
  EXPECT_EQ(FactsOf(device).limits->blocks_per_sm, 16);
  EXPECT_EQ(FactsOf(device).limits->threads_per_sm, 2048);
}

}  // namespace
}  // namespace xlatrace::analysis
