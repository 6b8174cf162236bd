// SPDX-License-Identifier: Apache-2.0

// Launches as XLA would have made them, from ranges that name the instruction at each time. Written
// from XLA's rules (xla/service/llvm_ir/llvm_util.cc, kernel_reuse_cache.cc, thunk kinds of
// ir_emitter_unnested.cc), without the correlator's code.

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "hlo/text/text_reader.h"
#include "tests/accuracy/capture.h"

namespace xlatrace::accuracy {
namespace {

using model::HloModule;
using model::Instruction;

// The kernel that cuBLAS launches after a split product.
constexpr const char* kSecondKernel = "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb1EEv";

std::string Sanitised(std::string_view name) {
  std::string symbol(name);
  for (char& c : symbol) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '$') c = '_';
  }
  return symbol;
}

// The fused computation without names: equal texts are compiled once.
std::string BodyText(const HloModule& module, const Instruction& fusion) {
  std::string text(fusion.fusion_kind);
  text += fusion.backend_config;
  for (const uint32_t callee : module.CalledComputations(fusion)) {
    const model::Computation& body = module.computations[callee];
    for (uint32_t i = 0; i < body.instruction_count; ++i) {
      const Instruction& inner = module.instructions[body.first_instruction + i];
      text += fmt::format("\n{} {} {}", inner.shape, inner.opcode, module.LiteralOf(inner));
      for (const uint32_t operand : module.Operands(inner)) {
        text += fmt::format(" {}", operand - body.first_instruction);
      }
    }
  }
  return text;
}

struct SimulatedLaunch {
  model::ActivityKind kind = model::ActivityKind::kKernel;
  model::CopyKind copy_kind = model::CopyKind::kUnknown;
  std::vector<std::string> symbols;  // Kernels of one instruction, in order.
  bool library = false;              // May be more kernels than that.
};

class Simulator {
 public:
  explicit Simulator(const HloModule& module) : module_(module) {
    if (module.entry < module.computations.size()) Walk(module.entry, 0);
  }

  const SimulatedLaunch* Find(const std::string& instruction) const {
    const auto it = launches_.find(instruction);
    return it == launches_.end() ? nullptr : &it->second;
  }

 private:
  // In the order of emission: callees before what comes after them.
  void Walk(uint32_t computation, int depth) {
    if (depth > 32 || computation >= module_.computations.size()) return;
    const model::Computation& c = module_.computations[computation];
    for (uint32_t i = 0; i < c.instruction_count; ++i) {
      const Instruction& instruction = module_.instructions[c.first_instruction + i];
      const std::string_view op = instruction.opcode;
      if (op == "while" || op == "conditional" || op == "call" || op == "async-start") {
        for (const uint32_t callee : module_.CalledComputations(instruction)) {
          Walk(callee, depth + 1);
        }
        if (op == "async-start") Emit(instruction);
      } else {
        Emit(instruction);
      }
    }
  }

  void Emit(const Instruction& instruction) {
    SimulatedLaunch launch;
    const std::string_view op = instruction.opcode;
    const std::string_view target = instruction.custom_call_target;
    const auto holds = [&](std::string_view part) {
      return target.find(part) != std::string_view::npos;
    };
    if (op == "partition-id" || op == "replica-id") {
      launch.kind = model::ActivityKind::kMemset;
    } else if (op == "fusion" && CopiesOnly(instruction)) {
      launch.kind = model::ActivityKind::kMemcpy;
      launch.copy_kind = model::CopyKind::kDeviceToDevice;
    } else if (op == "fusion") {
      const auto [it, fresh] =
          kernels_.try_emplace(BodyText(module_, instruction), Sanitised(instruction.name));
      launch.symbols = {it->second};
    } else if (op == "copy" || op == "copy-start") {
      launch.kind = model::ActivityKind::kMemcpy;
      launch.copy_kind = model::CopyKind::kDeviceToDevice;
    } else if (holds("cublas") || holds("matmul")) {
      // Tiles differ with the shape, as heuristics choose them; some split the contraction.
      const size_t shape = std::hash<std::string_view>()(instruction.shape);
      launch.symbols = {fmt::format("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize{}x{}x64",
                                    64 << shape % 3, 64 << shape / 3 % 3)};
      if (shape % 5 == 0) launch.symbols.emplace_back(kSecondKernel);
    } else if (holds("cudnn") || holds("fmha")) {
      launch.symbols = {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3"};
    } else if (op.starts_with("all-") || op.starts_with("reduce-scatter") ||
               op.starts_with("collective-") || op == "async-start") {
      launch.symbols = {Collective(instruction)};
    } else if (op == "custom-call") {
      launch.symbols = {fmt::format("void user::{}(float*)", target)};
    } else {
      launch.symbols = {Sanitised(instruction.name)};
    }
    launch.library = op == "custom-call" && !launch.symbols.empty();
    launches_[std::string(instruction.name)] = std::move(launch);
  }

  // XLA has no kernel for a fusion that only copies (codegen/copy.cc).
  bool CopiesOnly(const Instruction& fusion) const {
    for (const uint32_t callee : module_.CalledComputations(fusion)) {
      for (const Instruction& inner : module_.InstructionsOf(module_.computations[callee])) {
        const std::string_view op = inner.opcode;
        if (op != "parameter" && op != "tuple" && op != "copy" && op != "bitcast") return false;
      }
    }
    return true;
  }

  std::string Collective(const Instruction& instruction) const {
    std::string_view op = instruction.opcode;
    if (op == "async-start") {
      for (const uint32_t callee : module_.CalledComputations(instruction)) {
        const uint32_t root = module_.computations[callee].root;
        if (root < module_.instructions.size()) op = module_.instructions[root].opcode;
      }
    }
    if (op.starts_with("all-gather")) return "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
    if (op.starts_with("reduce-scatter")) {
      return "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)";
    }
    if (op.starts_with("all-reduce")) {
      return "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)";
    }
    return "ncclDevKernel_SendRecv(ncclDevComm*)";
  }

  const HloModule& module_;
  std::map<std::string, std::string> kernels_;  // Body -> symbol.
  std::unordered_map<std::string, SimulatedLaunch> launches_;
};

}  // namespace

Status SimulateLaunches(Capture* capture) {
  model::RunTables& run = capture->run;
  std::vector<std::unique_ptr<HloModule>> hlo(capture->modules.size());
  std::vector<std::unique_ptr<Simulator>> simulators(capture->modules.size());
  model::ActivityColumns made;
  std::vector<uint32_t> truth_of;
  std::map<std::string, uint32_t> configs;
  const auto config_of = [&](const SimulatedLaunch& launch, const std::string& symbol) {
    const std::string key = fmt::format("{} {}", static_cast<int>(launch.kind), symbol);
    const auto [it, fresh] = configs.try_emplace(key, 0);
    if (fresh) {
      model::LaunchConfig config;
      config.kind = launch.kind;
      config.copy_kind = launch.copy_kind;
      config.symbol = config.name = symbol;
      run.configs.push_back(config);
      it->second = static_cast<uint32_t>(run.configs.size());
    }
    return it->second;
  };
  const auto& columns = run.activities;
  std::vector<size_t> order(columns.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return columns.correlation_of(a) != columns.correlation_of(b)
               ? columns.correlation_of(a) < columns.correlation_of(b)
               : columns.start_ns[a] < columns.start_ns[b];
  });
  for (const size_t i : order) {
    const Truth& truth = capture->truths[capture->truth_of[i]];
    if (truth.modules.empty() || columns.self_ns[i] <= 0) continue;
    const auto module = static_cast<size_t>(truth.modules.front()) - 1;
    if (simulators[module] == nullptr) {
      XLATRACE_ASSIGN(
          HloModule read,
          hlo::ReadAny(std::make_shared<const std::string>(capture->modules[module].bytes.bytes)));
      hlo[module] = std::make_unique<HloModule>(std::move(read));
      simulators[module] = std::make_unique<Simulator>(*hlo[module]);
    }
    const SimulatedLaunch* launch = simulators[module]->Find(truth.instruction);
    if (launch == nullptr) continue;
    std::vector<std::string> symbols = launch->symbols;
    if (symbols.empty()) symbols.emplace_back();
    // The number of operations in the capture, if it has one.
    const auto told = static_cast<size_t>(std::clamp<int64_t>(columns.bytes[i], 0, 64));
    if (launch->library && told > 0) symbols.resize(told, kSecondKernel);
    const auto parts = static_cast<int64_t>(symbols.size());
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t ns = columns.self_ns[i] / parts;
      made.lane.push_back(columns.lane[i]);
      made.config.push_back(config_of(*launch, symbols[static_cast<size_t>(part)]));
      made.hint.push_back(columns.hint[i]);
      made.run_key.push_back(columns.run_key[i]);
      made.start_ns.push_back(columns.start_ns[i] + part * ns);
      made.duration_ns.push_back(ns);
      made.self_ns.push_back(ns);
      made.bytes.push_back(-1);
      made.correlation.push_back(static_cast<uint32_t>(made.size()));
      truth_of.push_back(capture->truth_of[i]);
    }
  }
  // Only launches are left, and only their configurations.
  for (size_t c = 0; c + configs.size() < run.configs.size(); ++c) {
    run.configs[c] = model::LaunchConfig();
  }
  run.activities = std::move(made);
  capture->truth_of = std::move(truth_of);
  return {};
}

}  // namespace xlatrace::accuracy
