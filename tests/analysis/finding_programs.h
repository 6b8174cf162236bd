// SPDX-License-Identifier: Apache-2.0

// Programs and questions that the tests of several rules share.

#ifndef XLATRACE_TESTS_ANALYSIS_FINDING_PROGRAMS_H_
#define XLATRACE_TESTS_ANALYSIS_FINDING_PROGRAMS_H_

#include <string>

#include <nlohmann/json.hpp>

#include "model/derived.h"

namespace xlatrace::analysis {

// The value of the first evidence whose text holds `part`; -1: there is none.
inline double EvidenceOf(const model::FindingRow& row, const std::string& part) {
  for (const auto& item : nlohmann::json::parse(row.evidence_json)) {
    if (item["text"].get<std::string>().find(part) != std::string::npos) return item["value"];
  }
  return -1;
}

// The end of a line of HLO: what it is called, and its line of a.py.
inline std::string At(const std::string& op_name, int line) {
  return ", metadata={op_name=\"jit(step)/" + op_name +
         "\" source_file=\"a.py\" source_line=" + std::to_string(line) + "}\n";
}

// `x` and `y`, which reads it (67 MB each), and what `body` makes of them.
inline std::string Entry(const std::string& body, const std::string& before = "") {
  return "HloModule jit_step, is_scheduled=true\n" + before +
         "ENTRY e {\n"
         "  x = f32[4096,4096]{1,0} parameter(0)\n"
         "  y = f32[4096,4096]{1,0} exponential(x)" +
         At("jvp(net)/exp", 3) + body + "\n}";
}

// Forward (`a`, `t`), recomputed (`r`), exchanged (`g`) and backward (`b`): 4 MiB each.
inline constexpr char kPlain[] = R"(HloModule jit_step, is_scheduled=true
sum { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q) }
ENTRY e {
  x = f32[1024,1024]{1,0} parameter(0)
  a = f32[1024,1024]{1,0} exponential(x), metadata={op_name="jit(step)/jvp(net)/exp" source_file="a.py" source_line=3}
  t = f32[1024,1024]{1,0} transpose(a), dimensions={1,0}, metadata={op_name="jit(step)/jvp(net)/transpose" source_file="a.py" source_line=4}
  r = f32[1024,1024]{1,0} negate(t), metadata={op_name="jit(step)/transpose(jvp(net))/checkpoint/rematted_computation/neg" source_file="a.py" source_line=5}
  g = f32[1024,1024]{1,0} all-reduce(r), to_apply=sum, metadata={op_name="jit(step)/transpose(jvp(net))/psum" source_file="a.py" source_line=6}
  ROOT b = f32[1024,1024]{1,0} sine(g), metadata={op_name="jit(step)/transpose(jvp(net))/sin" source_file="a.py" source_line=7}
})";

// `a`, then `b`: the least that a case needs. With a target, `c` between them calls it.
inline std::string TwoOps(const std::string& target = "") {
  constexpr char kShape[] = " = f32[1024,1024]{1,0} ";
  std::string text = "HloModule jit_step, is_scheduled=true\nENTRY e {\n";
  text += std::string("  x") + kShape + "parameter(0)\n";
  text += std::string("  a") + kShape + "exponential(x)" + At("jvp(net)/exp", 3);
  if (!target.empty()) {
    text += std::string("  c") + kShape + "custom-call(a), custom_call_target=\"" + target + "\"" +
            At("jvp(net)/call", 5);
  }
  return text + "  ROOT b" + kShape + "sine(" + (target.empty() ? "a" : "c") + ")" +
         At("jvp(net)/sin", 7) + "}";
}

// An f32 product of 2 * 4096^3 = 137 GFLOP.
inline std::string Product(const std::string& precision) {
  return Entry(
      "  ROOT dot = f32[4096,4096]{1,0} dot(y, x), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}" +
      precision + At("jvp(net)/dot_general", 12));
}

// An all-reduce `g` beside what computes.
inline std::string WithCollective() {
  return Entry("  g = f32[4096,4096]{1,0} all-reduce(x), to_apply=sum" + At("jvp(net)/psum", 90) +
                   "  ROOT r = (f32[4096,4096]{1,0}, f32[4096,4096]{1,0}) tuple(y, g)",
               "sum { p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"
               "  ROOT s = f32[] add(p, q) }\n");
}

// `z` reads what `y` writes (67 MB each way), and so may `w`.
inline std::string Chain(bool another_user) {
  return Entry("  z = f32[4096,4096]{1,0} sine(y)" + At("jvp(net)/sin", 95) +
               (another_user ? "  w = f32[4096,4096]{1,0} cosine(y)" + At("jvp(net)/cos", 96) +
                                   "  ROOT r = (f32[4096,4096]{1,0}, f32[4096,4096]{1,0}) "
                                   "tuple(z, w)"
                             : "  ROOT r = (f32[4096,4096]{1,0}) tuple(z)"));
}

}  // namespace xlatrace::analysis

#endif  // XLATRACE_TESTS_ANALYSIS_FINDING_PROGRAMS_H_
