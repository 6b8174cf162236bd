// SPDX-License-Identifier: Apache-2.0

// The rules, one file per family. From the context a rule derives findings, excluded causes, or the
// data that it lacks. Ids are stable; docs/reference/findings.md has the catalogue.

#ifndef XLATRACE_ANALYSIS_FINDINGS_RULES_H_
#define XLATRACE_ANALYSIS_FINDINGS_RULES_H_

#include "analysis/findings/context.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// Can the data be trusted? `unattributed`, `ambiguous`, `graphs_not_expanded`, `autotune_in_trace`,
// `warmup_in_average`, `hidden_work`, `source_lines`. Need no steady step.
void CheckData(const Context& context, Report& report);
void CheckWarmUp(const Context& context, Report& report);
// Repeated compilation: `recompile`. Needs no steady step, because a run with repeated compilation
// has none.
void CheckCompilation(const Context& context, Report& report);
// Rules for recorded compilations with causes; false: the process recorded none. `recompile`,
// `slow_compile`, `baked_constant`, `cache_miss`, `slow_import`. In any case `autotuning`.
bool CheckRecordedCompilations(const Context& context, Report& report);
// Before the first step: `context_start`, `startup_code`. Needs no steady step.
void CheckStartup(const Context& context, Report& report);
// Evaluation between steps: `evaluation`. Uses all steps, steady or not.
void CheckEvaluation(const Context& context, Report& report);
// `copy_bound`, if no op lies in the step; `eager_programs`, if no step is known.
void CheckWholeRun(const Context& context, Report& report);
// Kernels without HLO: `exposed_collective`, `no_tensor_core`, and the kinds of work.
void CheckForeignKernels(const Context& context, Report& report);
// Kernels without HLO: `attention_unfused`.
void ReportKernelAttention(const Context& context, Report& report);

// Ops that TensorFlow runs itself: `eager_kernels`, `outside_xla`.
void CheckFrameworkOps(const Context& context, Report& report);

// All rules below use steady steps; without steady steps the whole run, with low confidence.
// Why the device waits: `launch_bound`, `small_kernels`, `sync_each_step`, `host_gap`,
// `host_callback`, `eager_ops`, `pauses`, `idle`.
void CheckHost(const Context& context, Report& report);
// `copy_in_step`, `d2h_stall`, `donation_missing`, `device_copies`.
void CheckCopies(const Context& context, Report& report);
// `exposed_collective`, `arrival_skew`, `low_busbw`.
void CheckCollectives(const Context& context, Report& report);
// `f32_upcast`, `f32_highest`, `gemm_bad_dims`.
void CheckProducts(const Context& context, Report& report);
// `float64`.
void CheckFloat64(const Context& context, Report& report);
// `attention_unfused`, `layout_copy`, `convert_only`, `scan_stack`, `slow_memory_op`,
// `elementwise_chain`.
void CheckMemory(const Context& context, Report& report);
// `scatter_add`, `sort_slow`, `random_numbers`, `slow_custom_call`.
void CheckIrregular(const Context& context, Report& report);
// `recompute`, `optimizer`, `dominant_op`.
void CheckStructure(const Context& context, Report& report);
// `odd_layer`.
void CheckLayers(const Context& context, Report& report);
// `step_jitter`, `overlap_slows_compute`.
void CheckTime(const Context& context, Report& report);
// `gemm_tail_waves`, `register_pressure`, `clock_throttle`.
void CheckKernels(const Context& context, Report& report);
// `gemm_split_k`: few tiles of results and a long sum.
void CheckLongSums(const Context& context, Report& report);
// `loop_overhead`: counters, slices and copies of loops.
void CheckLoops(const Context& context, Report& report);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_RULES_H_
