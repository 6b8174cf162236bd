// SPDX-License-Identifier: Apache-2.0

// Speed and memory of the HLO readers on one core:
//   cmake --preset release -DXLATRACE_BENCHMARKS=ON && cmake --build --preset release --target
//   hlo_bench XLATRACE_SHARED_DATA=... build/release/bench/hlo_bench
//
// `bytes_per_second` is of the inflated file; `memory` and `peak` are what a module keeps, and what
// reading it needs at most, in multiples of the file, the file itself included. Recorded files are
// left out where they are not there; the module of 100,000 instructions is made here.

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "base/compress.h"
#include "hlo/text/text_printer.h"
#include "hlo/text/text_reader.h"

namespace {

// One thread: plain counters would do, atomics keep the replaced operators legal everywhere.
std::atomic<size_t> in_use{0};
std::atomic<size_t> most{0};

void* Allocate(size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) std::abort();
  const size_t now = in_use += malloc_usable_size(block);
  if (now > most) most = now;
  return block;
}

void Release(void* block) {
  if (block == nullptr) return;
  in_use -= malloc_usable_size(block);
  std::free(block);
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* block) noexcept { Release(block); }
void operator delete[](void* block) noexcept { Release(block); }
void operator delete(void* block, size_t) noexcept { Release(block); }
void operator delete[](void* block, size_t) noexcept { Release(block); }

namespace xlatrace::hlo {
namespace {

void Read(benchmark::State& state, const std::shared_ptr<const std::string>& file) {
  size_t instructions = 0;
  double memory = 0;
  double peak = 0;
  const auto size = static_cast<double>(file->size());
  for (auto _ : state) {
    const size_t before = in_use;
    most = before;
    auto module = ReadAny(file);
    if (!module) return state.SkipWithError(module.error().message.c_str());
    memory = 1 + static_cast<double>(in_use - before) / size;
    peak = 1 + static_cast<double>(most - before) / size;
    instructions = module->instructions.size();
    benchmark::DoNotOptimize(module);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(file->size()));
  state.counters["instructions"] = static_cast<double>(instructions);
  state.counters["memory"] = memory;
  state.counters["peak"] = peak;
}

// A scheduled module as XLA:GPU prints it: a chain of fusions with metadata, 4 instructions each.
std::string LargeModule(int instructions) {
  std::string text = "HloModule jit_train_step, is_scheduled=true\n\n";
  constexpr int kBodyInstructionCount = 4;
  const int bodies = instructions / (kBodyInstructionCount + 1);
  for (int i = 0; i < bodies; ++i) {
    text += fmt::format(
        "%fused_computation.{0} (param_0.{0}: f32[128,1024], param_1.{0}: f32[128,1024]) -> "
        "f32[128,1024] {{\n"
        "  %param_0.{0} = f32[128,1024]{{1,0}} parameter(0)\n"
        "  %param_1.{0} = f32[128,1024]{{1,0}} parameter(1)\n"
        "  %multiply.{0} = f32[128,1024]{{1,0}} multiply(%param_0.{0}, %param_1.{0}), "
        "metadata={{op_name=\"jit(train_step)/jit(main)/transformer/layer_{1}/mul\" "
        "source_file=\"/home/user/project/model.py\" source_line={1}}}\n"
        "  ROOT %add.{0} = f32[128,1024]{{1,0}} add(%multiply.{0}, %param_1.{0}), "
        "metadata={{op_name=\"jit(train_step)/jit(main)/transformer/layer_{1}/add\" "
        "source_file=\"/home/user/project/model.py\" source_line={1}}}\n}}\n\n",
        i, i % 97);
  }
  text += "ENTRY %main (p: f32[128,1024]) -> f32[128,1024] {\n";
  text += "  %p = f32[128,1024]{1,0} parameter(0)\n";
  for (int i = 0; i < bodies; ++i) {
    const std::string before = i == 0 ? "p" : fmt::format("fusion.{}", i - 1);
    text += fmt::format(
        "  {0}%fusion.{1} = f32[128,1024]{{1,0}} fusion(%{2}, %p), kind=kLoop, "
        "calls=%fused_computation.{1}, metadata={{op_name=\"jit(train_step)/jit(main)/"
        "transformer/layer_{3}/add\" source_file=\"/home/user/project/model.py\" "
        "source_line={3}}}\n",
        i + 1 == bodies ? "ROOT " : "", i, before, i % 97);
  }
  return text + "}\n";
}

void Print(benchmark::State& state, const std::shared_ptr<const std::string>& file) {
  auto module = ReadAny(file);
  if (!module) return state.SkipWithError(module.error().message.c_str());
  size_t size = 0;
  for (auto _ : state) {
    const std::string text = PrintText(*module);
    size = text.size();
    benchmark::DoNotOptimize(size);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(size));
}

void Register(const std::string& name, std::string bytes) {
  const auto file = std::make_shared<const std::string>(std::move(bytes));
  benchmark::RegisterBenchmark(name.c_str(), [file](benchmark::State& s) {
    Read(s, file);
  })->Unit(benchmark::kMillisecond);
}

void RegisterAll() {
  std::string large = LargeModule(100'000);
  const auto shared = std::make_shared<const std::string>(large);
  Register("text/100k_instructions", std::move(large));
  benchmark::RegisterBenchmark("print/100k_instructions", [shared](benchmark::State& s) {
    Print(s, shared);
  })->Unit(benchmark::kMillisecond);
  const char* const place = std::getenv("XLATRACE_SHARED_DATA");
  if (place == nullptr) return;
  const std::pair<const char*, const char*> files[] = {
      {"text/llama3_8b",
       "hlo/before_optimizations/"
       "large_language_models__llama3_8b__training__module_0099.jit_train_step.before_"
       "optimizations.txt.xz"},
      {"text/resnet50",
       "hlo/before_optimizations/"
       "vision_diffusion__resnet50__inference__1gpu__module_1589.jit_predict_step.before_"
       "optimizations.txt.xz"},
      {"text/llama31_405b",
       "hlo/before_optimizations/xla__tools__benchmarks__hlo__hlo_llama31_405b_bf16_16x8.hlo.xz"},
      {"text/mobilenet",
       "hlo/before_optimizations/xla__tools__data__benchmarking__mobilenet_v2.hlo.xz"},
      {"text/train_step_sm90",
       "own/jax-sm90/cmdbuf/module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations.txt.xz"},
      {"proto/train_step_sm90",
       "own/jax-sm90/cmdbuf/module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations.hlo.pb.xz"},
      {"proto/maxtext",
       "captures/nsys-jax-maxtext-fsdp4-h100/dump/"
       "module_0016.jit_train_step.sm_9.0_gpu_after_optimizations.hlo.pb.xz"},
      {"proto/pax",
       "captures/nsys-jax-pax-fsdp4-a100/proc0/dump/"
       "module_0040.pjit__wrapped_step_fn.sm_8.0_gpu_after_optimizations.hlo.pb.xz"},
  };
  for (const auto& [name, path] : files) {
    auto bytes = ReadFileInflated((std::filesystem::path(place) / path).string());
    if (bytes) Register(name, std::move(*bytes));
  }
}

}  // namespace
}  // namespace xlatrace::hlo

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  xlatrace::hlo::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
