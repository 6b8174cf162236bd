// SPDX-License-Identifier: Apache-2.0

// The rules, one file per family. A rule gets the context and writes what it found, what it looked
// at and found fine, or why it cannot say. Ids are stable; docs/reference/findings.md has the
// catalogue.

#ifndef XLATRACE_ANALYSIS_FINDINGS_RULES_H_
#define XLATRACE_ANALYSIS_FINDINGS_RULES_H_

#include "analysis/findings/context.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// Can the data be trusted? `unattributed`, `ambiguous`, `graphs_not_expanded`, `autotune_in_trace`,
// `warmup_in_average`, `hidden_work`, `source_lines`. Need no steady step.
void JudgeData(const Context& context, Report& report);
void JudgeWarmUp(const Context& context, Report& report);
// Compilation that goes on: `recompile`. Needs no steady step, as there is none then.
void JudgeCompilation(const Context& context, Report& report);
// The same where the recorded process explains its compilations; false: it does not. `recompile`,
// `slow_compile`, `baked_constant`, `cache_miss`, `slow_import`.
bool JudgeRecordedCompilations(const Context& context, Report& report);
// What evaluates between steps: `evaluation`. Of all steps, steady or not.
void JudgeEvaluation(const Context& context, Report& report);
// `copy_bound`, where no op lies in the step; `eager_programs`, where no step is known.
void JudgeWholeRun(const Context& context, Report& report);
// Kernels that no HLO names: `exposed_collective`, `no_tensor_core`, and what kind of work it is.
void JudgeForeignKernels(const Context& context, Report& report);

// What TensorFlow runs itself: `eager_kernels`, `outside_xla`.
void JudgeFrameworkOps(const Context& context, Report& report);

// The rest is of steady steps; of the whole run, with low confidence, where there are none.
// Why the device waits: `launch_bound`, `small_kernels`, `sync_each_step`, `host_gap`,
// `host_callback`, `eager_ops`, `pauses`, `idle`.
void JudgeHost(const Context& context, Report& report);
// `copy_in_step`, `d2h_stall`, `donation_missing`, `device_copies`.
void JudgeCopies(const Context& context, Report& report);
// `exposed_collective`, `arrival_skew`, `low_busbw`.
void JudgeCollectives(const Context& context, Report& report);
// `f32_upcast`, `f32_highest`, `gemm_bad_dims`.
void JudgeProducts(const Context& context, Report& report);
// `float64`.
void JudgeFloat64(const Context& context, Report& report);
// `attention_unfused`, `layout_copy`, `convert_only`, `scan_stack`, `slow_memory_op`,
// `elementwise_chain`.
void JudgeMemory(const Context& context, Report& report);
// `scatter_add`, `sort_slow`, `random_numbers`, `slow_custom_call`.
void JudgeIrregular(const Context& context, Report& report);
// `recompute`, `optimizer`, `dominant_op`.
void JudgeStructure(const Context& context, Report& report);
// `odd_layer`.
void JudgeLayers(const Context& context, Report& report);
// `step_jitter`, `overlap_slows_compute`.
void JudgeTime(const Context& context, Report& report);
// `gemm_tail_waves`, `register_pressure`, `clock_throttle`.
void JudgeKernels(const Context& context, Report& report);
// `gemm_split_k`: few tiles of results and a long sum.
void JudgeLongSums(const Context& context, Report& report);
// `loop_overhead`: counters, slices and copies of loops.
void JudgeLoops(const Context& context, Report& report);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_RULES_H_
