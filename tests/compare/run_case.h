// SPDX-License-Identifier: Apache-2.0

// Runs of a few ops, as the tests of what is concluded from two of them need.

#ifndef XLATRACE_TESTS_COMPARE_RUN_CASE_H_
#define XLATRACE_TESTS_COMPARE_RUN_CASE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compare/changes.h"
#include "compare/comparison.h"
#include "compare/verdict.h"

namespace xlatrace::compare {

inline Op MakeOp(std::string instruction, std::string op_name, int64_t ns,
                 std::string kind = "gemm") {
  Op op;
  op.module = 0;
  op.handle = "o1";
  op.instruction = std::move(instruction);
  op.op_name = std::move(op_name);
  op.op_kind = std::move(kind);
  op.opcode = "dot";
  op.ns = ns;
  op.calls = 10;
  op.phase = model::Phase::kForward;
  return op;
}

// A run of one module without HLO, 10 steady steps; its step is its device time.
inline Run MakeRun(std::vector<Op> ops, std::string id) {
  Run run;
  run.content_id = std::move(id);
  run.path = run.content_id + ".db";
  run.devices = {{"Test", 1}};
  run.device_count = run.processes = 1;
  run.granularity = "kernel";
  run.steady = true;
  run.step_devices = 10;
  Module& module = run.modules.emplace_back();
  module.name = module.function = "train_step";
  module.role = "main";
  for (const Op& op : ops) run.device_ns += op.ns;
  run.step_ns = run.device_ns;
  run.steps.assign(10, run.step_ns);
  module.ns = run.device_ns;
  run.ops = std::move(ops);
  return run;
}

// The same without any step: sums of the whole recording, every op called `calls` times.
inline Run WithoutSteps(Run run, int64_t calls) {
  run.steady = false;
  run.steps.clear();
  run.step_ns = 0;
  run.step_devices = 1;
  for (Op& op : run.ops) op.calls = calls;
  return run;
}

// Three ops with names of their own, which take these times.
inline Run ThreeOps(int64_t a, int64_t b, int64_t c, std::string id) {
  return MakeRun(
      {MakeOp("dot.1", "jit(f)/a/dot_general", a), MakeOp("dot.2", "jit(f)/b/dot_general", b),
       MakeOp("dot.3", "jit(f)/c/dot_general", c)},
      std::move(id));
}

inline std::string SentenceOf(const Run& base, const Run& now) {
  const Comparison comparison = Compare(base, now);
  return ComputeVerdict(base, now, comparison, FindChanges(base, now, comparison), {&base}, {&now})
      .sentence;
}

}  // namespace xlatrace::compare

#endif  // XLATRACE_TESTS_COMPARE_RUN_CASE_H_
