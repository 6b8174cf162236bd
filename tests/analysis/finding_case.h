// SPDX-License-Identifier: Apache-2.0

// A small program with times, to put a rule to the test: HLO text, how long each instruction takes
// in a step, and what lies between.

#ifndef XLATRACE_TESTS_ANALYSIS_FINDING_CASE_H_
#define XLATRACE_TESTS_ANALYSIS_FINDING_CASE_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "hlo/op_category.h"
#include "hlo/text/text_reader.h"
#include "tests/analysis/finding_text.h"
#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis {

class FindingCase {
 public:
  using Work = std::vector<std::pair<std::string, int64_t>>;

  explicit FindingCase(const std::string& hlo, int devices = 1) {
    auto read = hlo::ReadText(std::make_shared<const std::string>(hlo));
    if (!read) throw std::invalid_argument(read.error().message);
    module_ = std::move(*read);
    for (int d = 0; d < devices; ++d) {
      b.AddDevice();
      model::Device& device = b.run.devices.back();
      device.compute_capability = "9.0";
      device.sm_count = 132;
      device.clock_hz = 1'980'000'000;
      device.memory_bandwidth_bytes_per_s = 3'350'000'000'000;
      b.AddLane(d + 1);
      b.AddLane(d + 1);
    }
    module_id_ = b.AddModule();
    for (const model::Instruction& i : module_.instructions) {
      b.AddInstruction(module_id_, model::Phase::kUnknown, hlo::KindOf(module_, i));
      model::InstructionRow& row = b.attribution.instructions.back();
      row.name = i.name;
      row.opcode = i.opcode;
      row.shape = i.shape;
      row.op_name = i.metadata.op_name;
      row.source_file = i.metadata.source_file;
      if (i.metadata.source_line > 0) row.source_line = i.metadata.source_line;
    }
  }

  // One step on a device: instructions in sequence from `at_us` (microseconds), each with its time.
  // A name with the prefix "+" runs on the second stream; "~" is idle time.
  int64_t Step(int64_t at_us, const Work& work, model::Id device = 1) {
    const auto execution = b.AddExecution(module_id_, device, at_us * 1000, 0);
    int64_t now = at_us * 1000;
    for (const auto& [what, us] : work) {
      if (what == "~") {
        now += us * 1000;
        continue;
      }
      const bool aside = what[0] == '+';
      const std::string name = aside ? what.substr(1) : what;
      model::Id instruction = 0;
      for (size_t i = 0; i < b.attribution.instructions.size(); ++i) {
        if (b.attribution.instructions[i].name == name) instruction = static_cast<model::Id>(i + 1);
      }
      b.AddActivity(2 * (device - 1) + (aside ? 2 : 1), now, now + us * 1000,
                    {.instruction = instruction, .execution = execution, .symbol = name});
      if (!aside) now += us * 1000;
    }
    b.attribution.executions.back().end_ns = now;
    return now / 1000;
  }

  // The only device becomes the host's CPU.
  void RunOnCpu() {
    b.run.devices[0] = {};
    b.run.devices[0].process_id = 1;
    b.run.devices[0].kind = model::DeviceKind::kCpu;
  }

  // The program trains: every instruction is of the backward pass.
  void Train() {
    for (model::InstructionRow& row : b.attribution.instructions) {
      row.phase = model::Phase::kBackward;
    }
  }

  // The launch configuration of an instruction. Call it after the steps and before Run.
  model::LaunchConfig& ConfigOf(const std::string& name) {
    for (model::LaunchConfig& config : b.run.configs) {
      if (config.symbol == name) return config;
    }
    throw std::invalid_argument(name);
  }
  void SetLaunch(const std::string& name, int64_t blocks, int64_t threads, int64_t registers,
                 int64_t shared_bytes = 0) {
    model::LaunchConfig& config = ConfigOf(name);
    for (int i = 0; i < 3; ++i) config.grid[i] = config.block[i] = 1;
    config.grid[0] = blocks;
    config.block[0] = threads;
    config.registers_per_thread = registers;
    config.shared_memory_dynamic_bytes = shared_bytes;
  }
  // `steps` equal steps, back to back, not analysed yet.
  void AddSteps(int steps, const Work& work) {
    int64_t at = 0;
    for (int k = 0; k < steps; ++k) at = Step(at, work);
  }

  // A small program of its own, with one instruction; returns the instruction's id. Call before
  // RunHelper.
  model::Id AddHelper() {
    return b.AddInstruction(b.AddModule(model::ModuleRole::kHelper), model::Phase::kUnknown);
  }
  // Runs it on device 1 for `us`; returns when it ends.
  int64_t RunHelper(int64_t at_us, model::Id instruction, int64_t us) {
    const model::Id module =
        b.attribution.instructions[static_cast<size_t>(instruction) - 1].module_id;
    const auto execution = b.AddExecution(module, 1, at_us * 1000, (at_us + us) * 1000);
    b.AddActivity(1, at_us * 1000, (at_us + us) * 1000,
                  {.instruction = instruction, .execution = execution, .symbol = "helper"});
    return at_us + us;
  }

  // `steps` equal steps, back to back.
  const model::AnalysisTables& Steps(int steps, const Work& work) {
    int64_t at = 0;
    for (int k = 0; k < steps; ++k) at = Step(at, work);
    return Run();
  }

  // The process compiles jit_step.
  void Compile(int64_t from_us, int64_t until_us, bool tracing = false) {
    const model::CompileSpan span{1, from_us * 1000, until_us * 1000, tracing};
    options.compiles.push_back(span);
    b.run.compiles.push_back(span);
    options.named_compiles.push_back(
        {1, 0, tracing ? model::kTracing : "jit_step", span.start_ns, span.end_ns,
         tracing ? model::CompileStage::kTrace : model::CompileStage::kCompile});
  }

  const model::AnalysisTables& Run() {
    tables = Analyze(
        b.run, b.attribution,
        [this](model::Id id) -> Result<const model::HloModule*> {
          return id == module_id_ ? &module_ : nullptr;
        },
        options);
    return tables;
  }

  // Null: no such finding.
  const model::FindingRow* Find(const std::string& id) const {
    for (const model::FindingRow& row : tables.findings) {
      if (row.id == id) return &row;
    }
    return nullptr;
  }
  const model::RuledOutRow* FindRuledOut(const std::string& id) const {
    for (const model::RuledOutRow& row : tables.ruled_out) {
      if (row.id == id) return &row;
    }
    return nullptr;
  }
  // The sentences of a finding or of a cause that is ruled out; all ids if there is none.
  std::string TextOfFinding(const std::string& id) const {
    const model::FindingRow* row = Find(id);
    return row == nullptr ? id + " is not among: " + Ids() : TextOf(*row);
  }
  std::string TextOfRuledOut(const std::string& id) const {
    const model::RuledOutRow* row = FindRuledOut(id);
    return row == nullptr ? id + ": absent" : TextOf(*row);
  }
  std::string Ids() const {
    std::string ids;
    for (const model::FindingRow& row : tables.findings) ids += (ids.empty() ? "" : " ") + row.id;
    return ids;
  }

  // Printed by failing tests.
  std::string Ops() const {
    std::string ops = Ids();
    for (const model::OpTimeRow& row : tables.op_times) {
      if (row.instruction_id <= 0) continue;
      const auto& i = b.attribution.instructions[static_cast<size_t>(row.instruction_id) - 1];
      ops += "; " + i.name + " " + std::string(Text(i.op_kind)) + " " + std::string(Text(i.phase)) +
             " " + std::to_string(row.self_ns) + " ns " + std::to_string(row.bytes.value_or(-1)) +
             " bytes " + row.bound_by;
    }
    return ops;
  }

  RunBuilder b;
  AnalysisOptions options;
  model::AnalysisTables tables;

 private:
  model::HloModule module_;
  model::Id module_id_ = 0;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_TESTS_ANALYSIS_FINDING_CASE_H_
