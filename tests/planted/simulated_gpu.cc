// SPDX-License-Identifier: Apache-2.0
#include "tests/planted/simulated_gpu.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "hlo/backend_config.h"
#include "hlo/cost/cost.h"
#include "hlo/op_category.h"
#include "hlo/shape.h"

namespace xlatrace::planted {
namespace {

using model::HloModule;
using model::Id;
using model::Instruction;
using model::OpKind;

// H100 SXM: 3.35 TB/s, 989 TFLOP/s in bf16, 495 in TF32, dense.
constexpr double kMemory = 3.35e12;
constexpr double kHalf = 0.65 * 989e12;  // Rate of training products.
constexpr double kTf32 = 0.65 * 495e12;
constexpr double kUnaligned = 0.4;  // Share of that rate if rows are no multiple of 16 bytes.
constexpr double kStream = 0.8 * kMemory;
constexpr double kTranspose = 0.5 * kMemory;
constexpr double kScatter = 0.03 * kMemory;  // Rate of atomic additions that collide.
constexpr double kSolver = 1e12;             // A factorisation, operations per second.
constexpr double kNvlink = 200e9;            // A ring, per device.
constexpr double kHostLink = 50e9;           // PCIe 5.
constexpr int64_t kLeastKernelNs = 1'800;
constexpr int64_t kLaunchNs = 4'000;
constexpr int64_t kNextKernelNs = 800;
constexpr int64_t kDispatchNs = 250'000;  // Python, per step.
constexpr int64_t kReadBackNs = 400'000;  // Synchronise, make a number, log it.
constexpr int64_t kCompileNs = 600'000'000;

bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

enum Lane { kCompute, kCommunication, kCopies, kLanes };

class Simulator {
 public:
  Simulator(SimulatedRun& out, const HloModule& module, Id module_id, Id device, bool last_device,
            const Host& host)
      : out_(out),
        module_(module),
        cost_(module),
        module_id_(module_id),
        device_(device),
        last_device_(last_device),
        host_(host) {}

  struct Clock {
    int64_t host = 0;
    std::array<int64_t, kLanes> free{};
  };

  void Step(Clock& clock, uint32_t run_key, int step) {
    run_key_ = run_key;
    step_ = step;
    done_.clear();
    Run(module_.computations[module_.entry], clock);
  }

 private:
  const Instruction& At(uint32_t index) const { return module_.instructions[index]; }

  void Run(const model::Computation& computation, Clock& clock) {
    for (const Instruction& i : module_.InstructionsOf(computation)) RunOne(i, clock);
  }

  void RunOne(const Instruction& i, Clock& clock) {
    const std::string_view op = i.opcode;
    if (op == "parameter" || op == "constant" || op == "tuple" || op == "get-tuple-element" ||
        op == "bitcast" || op == "after-all" || op == "opt-barrier" || op == "partition-id" ||
        op == "replica-id") {
      return;
    }
    if (op == "while") {
      const auto called = module_.CalledComputations(i);
      const int64_t trips = hlo::TripCount(module_, i).value_or(1);
      for (int64_t trip = 0; trip < trips; ++trip) {
        Run(module_.computations[called[0]], clock);
      }
      return;
    }
    if (op == "call" || op == "async-start") {
      for (const uint32_t callee : module_.CalledComputations(i)) {
        Run(module_.computations[callee], clock);
      }
      return;
    }
    if (op.ends_with("-done")) {
      // Computation goes on when the other stream has come as far.
      const auto operands = module_.Operands(i);
      const auto at = operands.empty() ? done_.end() : done_.find(operands[0]);
      if (at != done_.end()) {
        clock.free[kCompute] = std::max(clock.free[kCompute], at->second);
      }
      return;
    }
    Launch(i, clock);
  }

  void Launch(const Instruction& i, Clock& clock) {
    const OpKind kind = hlo::KindOf(module_, i);
    const Lane lane = kind == OpKind::kCollective ? kCommunication
                      : i.opcode.starts_with("copy") && (Has(i.shape, "S(5)") || ReadsHost(i))
                          ? kCopies
                          : kCompute;
    clock.host += kLaunchNs;
    int64_t start = std::max(clock.free[lane] + kNextKernelNs, clock.host);
    // Parallel work begins when its operands are there: after the computation so far.
    if (lane != kCompute) start = std::max(start, clock.free[kCompute]);
    int64_t duration = Duration(i, kind, lane);
    if (lane == kCompute) {
      if (host_.throttle > 1 && 3 * step_ >= host_.steps && kind == OpKind::kGemm) {
        duration = Times(duration, host_.throttle);
      }
      since_collective_ns_ += duration;
      if (last_device_) duration = Times(duration, host_.slow_device);
    } else if (lane == kCommunication) {
      duration = Times(duration, 1 / host_.link);
      if (step_ == 0) duration = Times(duration, host_.first_step);
      // The others are there first, and wait for the slow one.
      if (!last_device_) duration += Times(since_collective_ns_, host_.slow_device - 1);
      since_collective_ns_ = 0;
    }
    const int64_t end = start + duration;
    clock.free[lane] = end;
    const bool asynchronous = i.opcode.ends_with("-start");
    if (asynchronous) done_[static_cast<uint32_t>(&i - module_.instructions.data())] = end;
    if (!asynchronous && lane != kCompute) clock.free[kCompute] = end;
    Add(i, lane, start, end);
  }

  static int64_t Times(int64_t ns, double factor) {
    return static_cast<int64_t>(static_cast<double>(ns) * factor);
  }

  bool ReadsHost(const Instruction& i) const {
    for (const uint32_t operand : module_.Operands(i)) {
      if (Has(At(operand).shape, "S(5)")) return true;
    }
    return false;
  }

  // Everything that a fusion does inside.
  template <typename Visit>
  void Inside(const Instruction& i, Visit visit) const {
    visit(i);
    for (const uint32_t callee : module_.CalledComputations(i)) {
      for (const Instruction& inner : module_.InstructionsOf(module_.computations[callee])) {
        if (i.opcode == "fusion") Inside(inner, visit);
      }
    }
  }

  // Bytes of a buffer written in place that the cost model counts in addition to the slice.
  double InPlace(const Instruction& i) const {
    double bytes = 0;
    if (i.opcode != "fusion") return bytes;
    Inside(i, [&](const Instruction& inner) {
      if (inner.opcode != "dynamic-update-slice") return;
      const double whole = static_cast<double>(hlo::ByteSize(inner.shape));
      const double slice = static_cast<double>(hlo::ByteSize(At(module_.Operands(inner)[1]).shape));
      const double counted = static_cast<double>(cost_.Of(i).bytes_accessed.value_or(0));
      if (counted > 2 * whole) bytes = counted - 2 * slice;
    });
    return bytes;
  }

  int64_t Duration(const Instruction& i, OpKind kind, Lane lane) const {
    const hlo::Cost cost = cost_.Of(i);
    const auto bytes = static_cast<double>(cost.bytes_accessed.value_or(0));
    const auto flops = static_cast<double>(cost.flops.value_or(0));
    double seconds = 0;
    if (lane == kCommunication) {
      seconds = 10e-6 + static_cast<double>(hlo::ByteSize(i.shape)) / kNvlink;
    } else if (lane == kCopies) {
      seconds = static_cast<double>(hlo::FirstLeaf(i.shape).bytes()) / kHostLink;
    } else if (i.opcode == "custom-call" && !Has(i.custom_call_target, "gemm") &&
               !Has(i.custom_call_target, "matmul")) {
      const hlo::ArrayShape shape = hlo::FirstLeaf(i.shape);
      const auto n = static_cast<double>(shape.dims.empty() ? 1 : shape.dims[0]);
      seconds = n * n * n / 3 / kSolver;
    } else {
      double rate = kStream;
      if (kind == OpKind::kTranspose) rate = kTranspose;
      double work_rate = 0;
      Inside(i, [&](const Instruction& inner) {
        if (inner.opcode == "scatter") {
          const auto operands = module_.Operands(inner);
          seconds += static_cast<double>(hlo::ByteSize(At(operands[2]).shape)) / kScatter;
        }
        if (inner.opcode != "dot" && !Has(inner.custom_call_target, "gemm") &&
            !Has(inner.custom_call_target, "matmul")) {
          return;
        }
        const auto operands = module_.Operands(inner);
        const bool half = hlo::FirstLeaf(At(operands[0]).shape).type != "f32";
        work_rate = half ? kHalf : kTf32;
        for (const std::string_view shape :
             {At(operands[0]).shape, At(operands[1]).shape, inner.shape}) {
          const hlo::ArrayShape array = hlo::FirstLeaf(shape);
          const int64_t row =
              array.dims[static_cast<size_t>(array.minor_to_major[0])] * array.element_bits / 8;
          if (row % 16 != 0) work_rate *= kUnaligned;
          if (row % 16 != 0) break;
        }
      });
      if (work_rate > 0) seconds = std::max(seconds, flops / work_rate);
      seconds = std::max(seconds, (bytes - InPlace(i)) / rate);
      // A kernel that reads memory of the host waits for the link.
      for (const uint32_t operand : module_.Operands(i)) {
        if (!Has(At(operand).shape, "S(5)")) continue;
        seconds += static_cast<double>(hlo::FirstLeaf(At(operand).shape).bytes()) / kHostLink;
      }
    }
    return std::max(kLeastKernelNs, static_cast<int64_t>(seconds * 1e9));
  }

  void Add(const Instruction& i, Lane lane, int64_t start, int64_t end) {
    model::LaunchConfig config;
    config.kind = lane == kCopies ? model::ActivityKind::kMemcpy : model::ActivityKind::kKernel;
    config.symbol = std::string(i.name);
    config.name = config.symbol;
    if (lane == kCopies) {
      config.copy_kind =
          Has(i.shape, "S(5)") ? model::CopyKind::kDeviceToHost : model::CopyKind::kHostToDevice;
    }
    model::RunTables& run = out_.run;
    uint32_t& known = configs_[&i];
    if (known == 0) {
      run.configs.push_back(config);
      model::Hint hint;
      hint.evidence = model::Evidence::kAnnotation;
      hint.module_id = module_id_;
      hint.module_name = std::string(module_.name);
      hint.instruction = std::string(i.name);
      run.hints.push_back(hint);
      known = static_cast<uint32_t>(run.configs.size());
      hints_[&i] = static_cast<uint32_t>(run.hints.size());
    }
    model::ActivityColumns& columns = run.activities;
    columns.lane.push_back(static_cast<uint32_t>((device_ - 1) * kLanes + lane + 1));
    columns.config.push_back(known);
    columns.hint.push_back(hints_[&i]);
    columns.run_key.push_back(run_key_);
    columns.start_ns.push_back(start);
    columns.duration_ns.push_back(end - start);
    columns.self_ns.push_back(end - start);
    columns.bytes.push_back(-1);
  }

  SimulatedRun& out_;
  const HloModule& module_;
  hlo::CostModel cost_;
  Id module_id_;
  Id device_;
  bool last_device_;
  const Host& host_;
  int step_ = 0;
  int64_t since_collective_ns_ = 0;
  uint32_t run_key_ = 0;
  std::map<uint32_t, int64_t> done_;  // When what an instruction started ends.
  std::map<const Instruction*, uint32_t> configs_, hints_;
};

}  // namespace

namespace {

// A copy that the program makes between steps, alone on the device.
void CopyAlone(SimulatedRun& out, Id device, bool to_host, int64_t bytes, Simulator::Clock& clock) {
  model::LaunchConfig config;
  config.kind = model::ActivityKind::kMemcpy;
  config.symbol = config.name = to_host ? "MemcpyD2H" : "MemcpyH2D";
  config.copy_kind = to_host ? model::CopyKind::kDeviceToHost : model::CopyKind::kHostToDevice;
  model::RunTables& run = out.run;
  run.configs.push_back(config);
  const int64_t start =
      std::max(clock.host, *std::max_element(clock.free.begin(), clock.free.end()));
  const auto duration = static_cast<int64_t>(static_cast<double>(bytes) / kHostLink * 1e9);
  model::ActivityColumns& columns = run.activities;
  columns.lane.push_back(static_cast<uint32_t>((device - 1) * kLanes + kCopies + 1));
  columns.config.push_back(static_cast<uint32_t>(run.configs.size()));
  columns.hint.push_back(0);
  columns.run_key.push_back(0);
  columns.start_ns.push_back(start);
  columns.duration_ns.push_back(duration);
  columns.self_ns.push_back(duration);
  columns.bytes.push_back(bytes);
  clock.free.fill(start + duration);
  clock.host = start + duration;
}

// The host does something for a while, in a range of that name, when the device is done.
void HostDoes(SimulatedRun& out, const char* name, int64_t ns, Simulator::Clock& clock) {
  clock.host = std::max(clock.host, *std::max_element(clock.free.begin(), clock.free.end()));
  out.host_events.push_back({.process_id = 1,
                             .thread_id = 1,
                             .name = name,
                             .start_ns = clock.host - 1000,
                             .end_ns = clock.host + ns,
                             .range_id = static_cast<Id>(out.host_events.size() + 1)});
  clock.host += ns;
}

}  // namespace

SimulatedRun Simulate(const std::vector<const HloModule*>& modules, int devices, const Host& host) {
  SimulatedRun out;
  out.run.processes.emplace_back();
  for (int d = 0; d < devices; ++d) {
    model::Device device;
    device.process_id = 1;
    device.ordinal = d;
    device.name = "NVIDIA H100 80GB HBM3";
    device.compute_capability = "9.0";
    device.sm_count = 132;
    device.clock_hz = 1'980'000'000;
    device.memory_bandwidth_bytes_per_s = static_cast<int64_t>(kMemory);
    out.run.devices.push_back(device);
    for (int lane = 0; lane < kLanes; ++lane) {
      model::Lane row;
      row.device_id = d + 1;
      row.stream_id = lane;
      out.run.lanes.push_back(row);
    }
  }
  for (const HloModule* module : modules) {
    out.run.modules.push_back(
        {1, std::string(module->name), std::nullopt, model::ModuleSource::kDump, ""});
  }
  for (int d = 1; d <= devices; ++d) {
    std::vector<Simulator> simulators;
    for (size_t m = 0; m < modules.size(); ++m) {
      simulators.emplace_back(out, *modules[m], static_cast<Id>(m + 1), d, d == devices, host);
    }
    Simulator::Clock clock;
    for (int step = 0; step < host.steps; ++step) {
      clock.host += kDispatchNs;
      if (host.input_ns > 0) HostDoes(out, "Iterator::GetNext", host.input_ns, clock);
      if (host.python_ns > 0) HostDoes(out, "train.py:loop", host.python_ns, clock);
      if (host.slow_every > 0 && step % host.slow_every == host.slow_every - 1) {
        HostDoes(out, "save_checkpoint", host.slow_ns, clock);
      }
      if (host.copies_in_bytes > 0) CopyAlone(out, d, false, host.copies_in_bytes, clock);
      if (host.pause_before > 0 && step == host.pause_before) {
        const int64_t end = *std::max_element(clock.free.begin(), clock.free.end());
        if (d == 1) out.run.windows = {{1, 0, end}, {1, end + 1'000'000'000, INT64_MAX}};
        clock.host = std::max(clock.host, end) + 1'000'000'000;
      }
      if (host.compiles_every_step || step == 0) {
        out.compiles.push_back({1, clock.host, clock.host + kCompileNs});
        for (int pass = 0; pass < host.passes; ++pass) {
          const int64_t of = kCompileNs / host.passes;
          out.compiles.push_back({1, clock.host + pass * of, clock.host + (pass + 1) * of});
        }
        clock.host += kCompileNs;
      }
      simulators[static_cast<size_t>(step) % modules.size()].Step(
          clock, static_cast<uint32_t>((d - 1) * host.steps + step + 1), step);
      if (host.reads_back_bytes > 0) CopyAlone(out, d, true, host.reads_back_bytes, clock);
      if (host.reads_loss) {
        const int64_t end = *std::max_element(clock.free.begin(), clock.free.end());
        out.host_events.push_back({.process_id = 1,
                                   .thread_id = 1,
                                   .name = "cuStreamSynchronize",
                                   .start_ns = clock.host,
                                   .end_ns = end + 5'000});
        clock.host = end + kReadBackNs;
      }
    }
  }
  out.run.compiles = out.compiles;
  return out;
}

}  // namespace xlatrace::planted
