// SPDX-License-Identifier: Apache-2.0

// Kinds of findings: the table of docs/reference/findings.md. A percentage without another
// reference is relative to the step.

#include <array>

#include "analysis/findings/catalogue.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr auto kKinds = std::to_array<FindingKind>({
    {.id = "unattributed",
     .question = "Does device time lack its instruction because HLO is missing?",
     .condition = "5 % of the device time of steady steps has no instruction, and more HLO could "
                  "provide it. It is the first finding and has no saving",
     .saves = "-"},
    {.id = "ambiguous",
     .question = "Does device time fit several instructions?",
     .condition = "5 % of the device time of steady steps fits several instructions of the stored "
                  "HLO, as in light mode. It is the first finding and has no saving",
     .saves = "-"},
    {.id = "graphs_not_expanded",
     .question = "Are the kernels of CUDA graphs unknown?",
     .condition = "2 % of device time is CUDA graphs without nodes. Findings on idle time and "
                  "launches are then withheld",
     .saves = "-"},
    {.id = "recording_cost",
     .question = "Does recording make the ops slower?",
     .condition =
         "only on a CPU, whose profiler runs in the working threads. Ops of a step, at 0.7 us of "
         "recording each (`bench/cpu_recording_cost.py`), are a fifth of the step. All other "
         "findings lose one level of confidence, and `scan_stack` is withheld",
     .saves = "-"},
    {.id = "autotune_in_trace",
     .question = "Does the recording contain autotuning?",
     .condition = "1 % of device time is autotuning after the start of the second step",
     .saves = "-"},
    {.id = "autotuning",
     .question = "Does autotuning take long?",
     .condition = "XLA's ranges of autotuning take 1 % of the recorded time",
     .saves = "that time, in the whole run"},
    {.id = "recompile",
     .question = "Is a program compiled again?",
     .condition = "see [below](#recompile)",
     .saves = "their time per step"},
    {.id = "slow_compile",
     .question = "Does a compilation take long for a reason that the user can remove?",
     .condition = "the recorded process explains its compilations. A line makes 32 equations of "
                  "one operation (a Python loop). Or: a pass takes 30 % of a compilation. Or: ten "
                  "operations outside of jit are compiled. The time is 1 % of the recorded time",
     .saves = "that time, in the whole run"},
    {.id = "baked_constant",
     .question = "Does a large constant make compilation slow?",
     .condition = "an array of 1 MB is a constant of a program, and lowering or folding it takes 1 "
                  "% of the recorded time. If folding takes 30 % of the compilation, an array of "
                  "64 KiB",
     .saves = "that time"},
    {.id = "cache_miss",
     .question = "Does JAX's persistent cache miss?",
     .condition =
         "JAX's persistent cache is on. It holds the function under another key, or does not keep "
         "short compilations. They take 1 % of the recorded time. Or: the cache is off, no rule "
         "explains a compilation, and compiling without tracing and lowering takes 1 %",
     .saves = "their time"},
    {.id = "slow_import",
     .question = "Does an import take long?",
     .condition = "a module that the user's code imports, and that is no part of the framework, "
                  "takes 1 % of the recorded time",
     .saves = "that time"},
    {.id = "context_start",
     .question = "Does creating the device context take long?",
     .condition = "the first calls of the driver, which create the context of a GPU and load its "
                  "modules, take 1 % of the recorded time",
     .saves = "that time"},
    {.id = "startup_code",
     .question = "Does own code before the first step take long?",
     .condition =
         "a function or range of the user takes 1 % of the recorded time before the first step. "
         "Without steps, the time before the first work counts. Reports the longest one",
     .saves = "that time"},
    {.id = "evaluation",
     .question = "Does an evaluation between the steps take long?",
     .condition = "steps train, and another program runs between them (not as its own step: "
                  "docs/schema.md). It does not train, contains products, is called at least "
                  "twice, and takes a tenth of the time from the first step to the last",
     .saves = "its time per step, over all steps, with the idle time before and after its calls"},
    {.id = "copy_bound",
     .question = "Do copies between host and device take most of the time?",
     .condition = "half of the step (without steps: of busy time) is exposed copying from or to "
                  "the host. No op of XLA lies in the step. At least half of this is after the "
                  "first kernel; before it, weights are copied once",
     .saves = "those copies; at least the kernels that prefetching can hide"},
    {.id = "launch_bound",
     .question = "Does the device wait for launches?",
     .condition =
         "gaps below 50 us inside executions are 3 %. Gaps do not count if the next launch was "
         "made 10 us before the gap (view `launch_queue` has the lead of the host)",
     .saves = "their sum less 1.5 us per launch"},
    {.id = "small_kernels",
     .question = "Do many short kernels cost more than their work?",
     .condition = "kernels below 3 us cost 2 % at 1.2 us per start. Or: launches below 10 us are a "
                  "hundred per step, 40 % of all launches, and 2 % of the time",
     .saves = "that cost; their time"},
    {.id = "while_overhead",
     .question = "Does the host read the condition of a loop in each iteration?",
     .condition = "the host reads the condition of a loop with ten iterations per step (a copy of "
                  "at most 8 bytes inside an execution). Idle time around these copies is 3 %",
     .saves = "that idle time less 2 us per copy"},
    {.id = "loop_overhead",
     .question = "Do counters, slices and copies of loops take long?",
     .condition = "in loops with at least ten iterations, trip counters, slices and copies below "
                  "20 us each take 5 %, with 1.2 us per start. One execution is sufficient. On a "
                  "CPU or TPU: one op runs a loop of at least 1,000 iterations of at most 20 us",
     .saves = "that time; seven eighths of the time of the loop, less the time to move its bytes "
              "if the memory bandwidth is known"},
    {.id = "sync_each_step",
     .question = "Does the device become idle because the host waits for it?",
     .condition = "see [below](#idle-time)",
     .saves = "those gaps"},
    {.id = "input_bound",
     .question = "Does the device wait for input?",
     .condition = "see [below](#idle-time)",
     .saves = "those gaps"},
    {.id = "host_gap",
     .question = "Does the device wait for other work of the host?",
     .condition = "see [below](#idle-time)",
     .saves = "those gaps"},
    {.id = "copy_wait",
     .question = "Is the device idle around copies to or from the host?",
     .condition = "see [below](#idle-time)",
     .saves = "those gaps"},
    {.id = "idle",
     .question = "Is the device idle for an unknown reason?",
     .condition = "see [below](#idle-time)",
     .saves = "those gaps"},
    {.id = "hidden_products",
     .question = "Do products run in threads that the profile of a CPU does not show?",
     .condition =
         "only on a CPU. Inside executions, gaps of at least 50 us are a quarter of the "
         "step, before ops that read the result of a product. From 2 % on, \"not checked\" "
         "lists them. XLA:CPU runs large products in threads outside of the profile. Gaps "
         "that are too long for the product at 2 GFLOP/s do not count",
     .saves = "those gaps"},
    {.id = "host_callback",
     .question = "Does a Python callback stop the device?",
     .condition = "a Python callback inside the step",
     .saves = "its time and the idle time around it"},
    {.id = "eager_ops",
     .question = "Do small programs run between the steps?",
     .condition = "three small programs per step besides the main one. Each has at most four "
                  "launches and 2 %, and none is as large as the main program",
     .saves = "their time and the gaps before them; at least half of these gaps"},
    {.id = "eager_kernels",
     .question = "Does TensorFlow run ops eagerly?",
     .condition = "kernels that TensorFlow ran eagerly (reason `eager`) are at least 5 % of the "
                  "device's work",
     .saves = "between nothing and their time"},
    {.id = "outside_xla",
     .question = "Does TensorFlow run ops outside of XLA?",
     .condition = "ops that TensorFlow itself ran are at least 5 % of the device's work",
     .saves = "between nothing and the time of their elementwise ops and copies, which is the "
              "limit of fusion"},
    {.id = "eager_programs",
     .question = "Does a function run op by op?",
     .condition = "no step is known, and half of device time is in at least three programs of "
                  "elementwise work and reductions. Each has at most four ops",
     .saves = "their time less two passes over the largest array per call. If one is called at "
              "least ten times, also the gaps before them"},
    {.id = "too_few_calls",
     .question = "Are there too few calls to detect steps?",
     .condition = "no step is known, and idle time between calls of programs is 2 % of the run. "
                  "Programs with ten calls on a device are less than half of device time, so the "
                  "time of a loop cannot be estimated",
     .saves = "-"},
    {.id = "long_stall",
     .question = "Is the device idle for one long period?",
     .condition = "no executions or no step is known. A gap of at least 5 ms is a tenth of the "
                  "step or run (up to three per cause). Or such gaps occur in fewer than a tenth "
                  "of the steps (reported together). Reports the activity of the host",
     .saves = "those gaps"},
    {.id = "runtime_copies",
     .question = "Does the framework or the runtime copy?",
     .condition = "2 % is exposed copying without an instruction (on AMD GPUs, the runtime copies "
                  "with kernels)",
     .saves = "that time"},
    {.id = "no_tensor_core",
     .question = "Do f32 products run without tensor cores?",
     .condition = "without HLO names: kernels named as f32 on CUDA cores are 1 %",
     .saves = "three quarters of their time"},
    {.id = "copy_in_step",
     .question = "Does the step copy between host and device?",
     .condition =
         "copies between host and device, or kernels that read host memory, inside the step. An "
         "earlier start is recommended if other computation of the step could hide a tenth of them",
     .saves = "those kernels, and exposed copies"},
    {.id = "d2h_stall",
     .question = "Is reading back slower than the link?",
     .condition = "at least 1 MiB per step is read back below 60 % of the link's rate, and the "
                  "exposed part is 1 %",
     .saves = "that part"},
    {.id = "donation_missing",
     .question = "Does XLA copy arguments that are not donated?",
     .condition = "see [below](#donation_missing)",
     .saves = "the copies"},
    {.id = "device_copies",
     .question = "Do instructions only copy?",
     .condition = "other instructions that only copy",
     .saves = "the copies"},
    {.id = "arrival_skew",
     .question = "Do devices wait for each other?",
     .condition =
         "exposed collectives last 2 % longer than on the last device to arrive. Names the device "
         "with more own time in many steps, with the figures of the page Ranks. Also names the op "
         "that takes longer there, if it explains half of the excess. Withheld for several devices "
         "of one CPU, which share cores. Not in `ruled_out` if ranks of the exchange are missing",
     .saves = "that excess"},
    {.id = "exposed_collective",
     .question = "Is communication exposed?",
     .condition = "other exposed collective time is 2 %",
     .saves = "that time"},
    {.id = "uneven_busbw",
     .question = "Is one collective much slower than a similar one?",
     .condition = "among collectives of one kind and group, of at least 4 MiB, one reaches a third "
                  "of the rate of another. The other is at most twice as large",
     .saves = "its time less the time at the other's rate"},
    {.id = "low_busbw",
     .question = "Are collectives slower than their links?",
     .condition = "exposed collectives of at least 4 MiB within one host. The best run stays below "
                  "60 % of the rate that such links reach",
     .saves = "exposed time less the time at the expected rate"},
    {.id = "float64",
     .question = "Does the program compute in float64?",
     .condition = "ops with float64 results, or products with float64 operands, are 10 %. On a "
                  "CPU, the hidden time of products counts. Twelve or more ops are reported by the "
                  "layer with four fifths of their time",
     .saves = "half of their time. For products, the time at the f32 rate; on a CPU four fifths, "
              "because XLA uses other code"},
    {.id = "f32_upcast",
     .question = "Are 16-bit operands converted for an f32 product?",
     .condition = "operands of an f32 product were converted from 16 bits for it (GPUs only)",
     .saves = "time less the time at the 16-bit rate"},
    {.id = "f32_highest",
     .question = "Does the precision `highest` exclude tensor cores?",
     .condition = "an f32 product requests precision `highest`",
     .saves = "time less the time at the TF32 rate"},
    {.id = "gemm_bad_dims",
     .question = "Does the size of a dimension make a product slow?",
     .condition = "a contiguous dimension is not a multiple of 16 bytes, and the product loses a "
                  "quarter compared with the best aligned product of this run",
     .saves = "time less the time at that rate, plus kernels that pad"},
    {.id = "gemm_tail_waves",
     .question = "Does the last wave of a product leave the device empty?",
     .condition = "a product below 70 % of the achievable rate runs in fewer than three waves that "
                  "use less than 75 % of their slots. Persistent kernels do not count",
     .saves = "the share of empty slots in its time"},
    {.id = "gemm_split_k",
     .question = "Does a product have too few tiles?",
     .condition = "a product with few tiles: its sum is at least 2,048 and eight times its longer "
                  "side. Its tiles (128 x 128) are fewer than half of the multiprocessors (64 if "
                  "not known). It is below 35 % of both roofs. Without HLO: library products of at "
                  "least 20 us and 1 %, in a quarter as many blocks as multiprocessors",
     .saves = "the share of idle multiprocessors in its time (without HLO three quarters)"},
    {.id = "attention_unfused",
     .question = "Does attention write its scores to memory?",
     .condition =
         "ops that name attention read or write a [.., S, S] array with S >= 512, and a fused "
         "kernel would save 3 %. Without HLO: a softmax kernel lies between two product kernels "
         "and takes 5 % of device time. At most four elementwise kernels lie between them",
     .saves = "their time less that of a fused kernel; without HLO, the softmax and the kernels "
              "beside it"},
    {.id = "layout_copy",
     .question = "Do kernels only change the layout?",
     .condition = "kernels that only transpose or change the layout",
     .saves = "their time"},
    {.id = "convert_only",
     .question = "Do kernels only convert types?",
     .condition = "kernels that only convert",
     .saves = "their time"},
    {.id = "scan_stack",
     .question = "Does a loop copy its results into stacks?",
     .condition =
         "dynamic-update-slice in a loop body, with filling and copying its stacks, is 2 %",
     .saves = "its time"},
    {.id = "slow_memory_op",
     .question = "Does a memory-bound kernel miss the memory rate?",
     .condition = "a reduction or fusion runs below 40 % of the achievable memory rate and loses 3 "
                  "%. For several of one line (without lines, one layer), the largest is reported. "
                  "On a CPU: below 30 % of the best tenth of the run",
     .saves = "time less the time at that rate"},
    {.id = "elementwise_chain",
     .question = "Do two kernels pass an array through memory?",
     .condition =
         "a memory-bound fusion writes an array that only one other memory-bound fusion reads",
     .saves = "the time to write and read that array"},
    {.id = "register_pressure",
     .question = "Do registers limit the occupancy?",
     .condition = "a kernel of XLA uses at least 168 registers, which limit its occupancy to 25 %, "
                  "and it is below 40 % of both roofs",
     .saves = "its time less the time at the nearer roof"},
    {.id = "scatter_add",
     .question = "Is a scatter with addition slow?",
     .condition = "a scatter with addition takes twice the time of its bytes (without a known "
                  "memory rate: a tenth of the step). In backward it is the gradient of a lookup",
     .saves = "time less the time of its bytes, and less the gradient's half of the one-hot "
              "products that replace it"},
    {.id = "sort_slow",
     .question = "Does sorting take long?",
     .condition = "2 % of the step",
     .saves = "its time"},
    {.id = "random_numbers",
     .question = "Do random numbers take long?",
     .condition =
         "2 %. Random numbers inside a fusion that runs at 80 % of the memory rate do not count",
     .saves = "70 % of its time"},
    {.id = "slow_custom_call",
     .question = "Does a custom call take long?",
     .condition = "2 % of the step",
     .saves = "its time"},
    {.id = "recompute",
     .question = "Is work computed twice?",
     .condition = "see [below](#recompute)",
     .saves = "that time"},
    {.id = "optimizer",
     .question = "Does the optimizer take longer than its bytes?",
     .condition = "8 %, and 1.3 times the time of its bytes. From 40 % on without the second "
                  "condition, and then without a saving: fewer parameters must be updated",
     .saves = "time less the time of its bytes"},
    {.id = "odd_layer",
     .question = "Is one layer slower than its siblings?",
     .condition = "one of at least four sibling layers is 10 % and five spreads slower (without "
                  "collectives and parameter updates). The action names the op and its difference "
                  "from its counterparts: missing, more launches, shape, launch dimensions, "
                  "library kernel, concurrent collective, or none",
     .saves = "the difference from the median"},
    {.id = "dominant_op",
     .question = "Does one instruction or line take most of the time?",
     .condition = "one instruction is a quarter of device time, and no other rule covers it. Or: "
                  "the instructions of one line, without products, are two fifths. If its minimum "
                  "time is not known, it states that no remedy is known, and is the last finding",
     .saves = "its time beyond the minimum"},
    {.id = "pauses",
     .question = "Do a few steps have long pauses?",
     .condition =
         "at most a third of ten or more steps have a long gap. It is at least 1 ms, a tenth of a "
         "step, and three times the median of the longest gaps of other steps. All are 2 % of the "
         "time of all steps. Reports the steps and whether the gaps are regular. `step_jitter` and "
         "other rules skip these gaps. On a CPU, irregular gaps have low confidence",
     .saves = "those gaps"},
    {.id = "step_jitter",
     .question = "Do step times vary?",
     .condition = "the 95th percentile of at least ten steps is 5 % over the median. Reports the "
                  "part of the step that grows",
     .saves = "mean less median"},
    {.id = "clock_throttle",
     .question = "Do the clocks drop during the run?",
     .condition = "from the first to the last third of at least twelve steps, compute-bound ops "
                  "become 4 % slower, four fifths of them together. Memory-bound ops slow down by "
                  "less than half of that",
     .saves = "the lost time"},
    {.id = "overlap_slows_compute",
     .question = "Do collectives slow the kernels beside them?",
     .condition =
         "the same instruction takes 15 % longer beside a collective, with five samples each",
     .saves = "half of the lost time"},
    {.id = "job_slow_gpu",
     .question = "Do all ranks wait for a slow GPU?",
     .condition = "a job with several ranks, see [merge](../how-to/fleet.md)",
     .saves = "the time that the other ranks wait"},
    {.id = "job_slow_host",
     .question = "Do all ranks wait for a slow host?",
     .condition = "a job with several ranks, see [merge](../how-to/fleet.md)",
     .saves = "the time that the other ranks wait"},
    {.id = "job_link",
     .question = "Do all ranks wait for a slow link?",
     .condition = "a job with several ranks, see [merge](../how-to/fleet.md)",
     .saves = "the time that the other ranks wait"},
    {.id = "job_data",
     .question = "Do all ranks wait for the rank with the most data?",
     .condition = "a job with several ranks, see [merge](../how-to/fleet.md)",
     .saves = "the time that the other ranks wait"},
    {.id = "job_program",
     .question = "Do all ranks wait for the rank with the longest program?",
     .condition = "a job with several ranks, see [merge](../how-to/fleet.md)",
     .saves = "the time that the other ranks wait"},
    {.id = "job_one_off",
     .question = "Are single steps much longer?",
     .condition = "a job with several ranks, see [merge](../how-to/fleet.md)",
     .saves = "the time that the other ranks wait"},
    {.id = "job_unknown",
     .question = "Do all ranks wait for one rank for an unknown reason?",
     .condition = "a job with several ranks, see [merge](../how-to/fleet.md)",
     .saves = "the time that the other ranks wait"},
});

}  // namespace

std::span<const FindingKind> Kinds() { return kKinds; }

}  // namespace xlatrace::analysis::findings
