// SPDX-License-Identifier: Apache-2.0
#include "tests/correlator/golden_program.h"

#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace xlatrace::correlator {
namespace {

std::string SymbolOf(std::string name) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

bool IsFusion(const ProgramOp& op) {
  return op.op != "loop" && op.op != "graph" && op.op != "gemm" && op.op != "fft" &&
         op.op != "copy" && op.op != "all-reduce" && op.op != "call";
}

std::string BodyName(const ProgramOp& op) { return fmt::format("fused_{}_{}", op.op, op.size); }

class TextMaker {
 public:
  std::string Make(const std::string& module, const std::vector<ProgramOp>& program) {
    const std::string entry = Computation("ENTRY e", program);
    return "HloModule " + module + ", is_scheduled=true\n" + text_ + entry;
  }

 private:
  // Computations that it calls were written to text_ earlier.
  std::string Computation(const std::string& head, const std::vector<ProgramOp>& ops) {
    std::string lines = head + " { p = f32[8] parameter(0)\n";
    std::string before = "p";
    for (const ProgramOp& op : ops) {
      const std::string root = &op == &ops.back() ? "ROOT " : "";
      lines += fmt::format("  {}{} = f32[{}] {}\n", root, op.name, op.size, Right(op, before));
      before = op.name;
    }
    return lines + "}\n";
  }

  std::string Right(const ProgramOp& op, const std::string& operand) {
    if (op.op == "gemm") {
      return fmt::format("custom-call({}), custom_call_target=\"__cublas$gemm\"", operand);
    }
    if (op.op == "call") {
      return fmt::format("custom-call({}), custom_call_target=\"my_own_call\"", operand);
    }
    if (op.op == "fft") return fmt::format("fft({}), fft_type=FFT, fft_length={{8}}", operand);
    if (op.op == "copy") return fmt::format("copy({})", operand);
    if (op.op == "all-reduce") {
      Once("add",
           "add { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
           "  ROOT z = f32[] add(x, y) }\n");
      return fmt::format("all-reduce({}), replica_groups={{}}, to_apply=add", operand);
    }
    if (op.op == "loop") {
      Once("go", "condition { p = f32[8] parameter(0)\n  ROOT go = pred[] constant(true) }\n");
      text_ += Computation("body_" + op.name, op.body);
      const std::string config =
          op.trips < 0
              ? ""
              : fmt::format(", backend_config={{\"known_trip_count\":{{\"n\":\"{}\"}}}}", op.trips);
      return fmt::format("while({}), condition=condition, body=body_{}{}", operand, op.name,
                         config);
    }
    if (op.op == "graph") {
      text_ += Computation("command_buffer_" + op.name, op.body);
      return fmt::format("call({}), to_apply=command_buffer_{}", operand, op.name);
    }
    Once(BodyName(op), fmt::format("{0} {{ p = f32[{1}] parameter(0)\n"
                                   "  ROOT n = f32[{1}] {2}(p) }}\n",
                                   BodyName(op), op.size, op.op));
    return fmt::format("fusion({}), kind=kLoop, calls={}", operand, BodyName(op));
  }

  void Once(const std::string& name, const std::string& text) {
    if (made_.insert(name).second) text_ += text;
  }

  std::string text_;
  std::set<std::string> made_;
};

class Runner {
 public:
  explicit Runner(int64_t trips) : trips_(trips) {}

  // Kernels are compiled in the order of the text, loops in their place.
  void Compile(const std::vector<ProgramOp>& ops) {
    for (const ProgramOp& op : ops) {
      if (op.op == "loop" || op.op == "graph") Compile(op.body);
      if (IsFusion(op)) kernel_.try_emplace(BodyName(op), SymbolOf(op.name));
    }
  }

  void Run(const std::vector<ProgramOp>& ops) {
    for (const ProgramOp& op : ops) {
      if (op.op == "loop") {
        for (int64_t k = 0; k < (op.trips < 0 ? trips_ : op.trips); ++k) Run(op.body);
        continue;
      }
      std::string symbol = op.op == "graph" ? "graph" : "copy";
      if (op.op == "gemm") symbol = "ampere_sgemm_128x64_nn";
      if (op.op == "fft") symbol = "void vector_fft<128>(float*)";
      if (op.op == "call") symbol = "my_own_kernel";
      if (op.op == "all-reduce") {
        symbol = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)";
      }
      if (IsFusion(op)) symbol = kernel_.at(BodyName(op));
      launches.push_back({symbol, op.name, op.size});
    }
  }

  std::vector<TrueLaunch> launches;

 private:
  int64_t trips_;
  std::map<std::string, std::string> kernel_;
};

}  // namespace

std::vector<ProgramOp> ReadProgram(std::istream& lines) {
  std::vector<ProgramOp> ops;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    ProgramOp op;
    if (!(words >> op.name)) continue;
    if (op.name == "end") return ops;
    std::string rest;
    words >> op.op;
    if (op.name == "loop") {
      static int loops = 0;
      op.trips = op.op == "?" ? -1 : std::stoll(op.op);
      op.name = "while." + std::to_string(++loops);
      op.op = "loop";
      op.body = ReadProgram(lines);
    } else if (op.name == "graph") {
      std::swap(op.name, op.op);
      op.body = ReadProgram(lines);
    } else if (op.op.empty()) {
      ADD_FAILURE() << "an instruction without an opcode: " << line;
    } else if (words >> rest) {
      op.size = std::stoll(rest);
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

std::string HloText(const std::string& module, const std::vector<ProgramOp>& program) {
  return TextMaker().Make(module, program);
}

std::vector<TrueLaunch> LaunchesOf(const std::vector<ProgramOp>& program, int64_t trips) {
  Runner runner(trips);
  runner.Compile(program);
  runner.Run(program);
  return std::move(runner.launches);
}

}  // namespace xlatrace::correlator
