// SPDX-License-Identifier: Apache-2.0

// Launches attributed per second, on one core:
//
//   cmake --preset release -DXLATRACE_BENCHMARKS=ON &&
//   cmake --build --preset release --target correlator_bench &&
//   build/release/bench/correlator_bench
//
// Input: repeated training steps of 1,000 kernels, a third of them reused, with library calls and
// copies in between. Annotations are on every launch, or on none.

#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "correlator/correlator.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::correlator {
namespace {

constexpr int kKernelCount = 1000;
constexpr int kLaunches = 5'000'000;

std::string ModuleText() {
  std::string text = "HloModule jit_train_step, is_scheduled=true\n\n";
  for (int i = 0; i < kKernelCount; ++i) {
    // Every third body is like the one before.
    text += fmt::format(
        "%fused.{} (p.{}: f32[{}]) -> f32[{}] {{\n  %p.{} = f32[{}] parameter(0)\n  ROOT %a.{} = "
        "f32[{}] add(%p.{}, %p.{})\n}}\n\n",
        i, i, i - i % 3 / 2 + 8, i - i % 3 / 2 + 8, i, i - i % 3 / 2 + 8, i, i - i % 3 / 2 + 8, i,
        i);
  }
  text += "ENTRY %main (x: f32[8]) -> f32[8] {\n  %x = f32[8] parameter(0)\n";
  for (int i = 0; i < kKernelCount; ++i) {
    text += fmt::format("  %loop_add_fusion.{} = f32[{}] fusion(%x), kind=kLoop, calls=%fused.{}\n",
                        i, i - i % 3 / 2 + 8, i);
    if (i % 10 == 4) {
      text += fmt::format(
          "  %cublas-gemm.{} = f32[8] custom-call(%x), custom_call_target=\"__cublas$gemm\"\n", i);
    }
    if (i % 20 == 9) text += fmt::format("  %copy.{} = f32[8] copy(%x)\n", i);
  }
  text += "  ROOT %copy = f32[8] copy(%x)\n}\n";
  return text;
}

struct Made {
  model::RunTables run;
  std::string text = ModuleText();

  explicit Made(bool annotated) {
    run.processes.emplace_back();
    model::Device device;
    device.process_id = 1;
    run.devices.push_back(device);
    model::Lane lane;
    lane.device_id = 1;
    run.lanes.push_back(lane);
    model::ModuleInfo module;
    module.process_id = 1;
    module.name = "jit_train_step";
    module.program_id = 7;
    run.modules.push_back(module);
    struct Launch {
      uint32_t config, hint;
    };
    std::vector<Launch> step;
    const auto add = [&](model::ActivityKind kind, const std::string& symbol,
                         const std::string& instruction) {
      model::LaunchConfig config;
      config.kind = kind;
      config.symbol = config.name = symbol;
      run.configs.push_back(config);
      uint32_t hint = 0;
      if (annotated) {
        model::Hint said;
        said.evidence = model::Evidence::kAnnotation;
        said.module_name = "jit_train_step";
        said.program_id = 7;
        said.instruction = instruction;
        run.hints.push_back(said);
        hint = static_cast<uint32_t>(run.hints.size());
      }
      step.push_back({static_cast<uint32_t>(run.configs.size()), hint});
    };
    for (int i = 0; i < kKernelCount; ++i) {
      add(model::ActivityKind::kKernel, fmt::format("loop_add_fusion_{}", i - i % 3 / 2),
          fmt::format("loop_add_fusion.{}", i));
      if (i % 10 == 4) {
        add(model::ActivityKind::kKernel, fmt::format("ampere_sgemm_128x64_{}", i % 7),
            fmt::format("cublas-gemm.{}", i));
      }
      if (i % 20 == 9) add(model::ActivityKind::kMemcpy, "MemcpyD2D", fmt::format("copy.{}", i));
    }
    add(model::ActivityKind::kMemcpy, "MemcpyD2D", "copy");
    auto& columns = run.activities;
    for (uint32_t i = 0; i < kLaunches; ++i) {
      const Launch& launch = step[i % step.size()];
      columns.lane.push_back(1);
      columns.config.push_back(launch.config);
      columns.hint.push_back(launch.hint);
      columns.run_key.push_back(0);
      columns.start_ns.push_back(int64_t{i} * 1000);
      columns.duration_ns.push_back(900);
      columns.self_ns.push_back(900);
      columns.bytes.push_back(-1);
      columns.correlation.push_back(i + 1);
    }
  }
};

void Attributed(benchmark::State& state, bool annotated) {
  const Made made(annotated);
  double exact = 0;
  for (auto _ : state) {
    const auto tables = Attribute(made.run, [&](model::Id) -> Result<LoadedModule> {
      LoadedModule loaded;
      XLATRACE_ASSIGN(loaded.hlo, hlo::ReadText(std::make_shared<const std::string>(made.text)));
      return loaded;
    });
    if (!tables) state.SkipWithError(tables.error().message.c_str());
    int64_t known = 0;
    for (const uint32_t label : tables->label_of) {
      known += tables->labels[label - 1].confidence == model::Confidence::kExact;
    }
    exact = 100.0 * static_cast<double>(known) / kLaunches;
  }
  state.SetItemsProcessed(state.iterations() * kLaunches);
  state.counters["exact_pct"] = exact;
}

BENCHMARK_CAPTURE(Attributed, annotated, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Attributed, by_thunk_order, false)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xlatrace::correlator
