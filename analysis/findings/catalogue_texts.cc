// SPDX-License-Identifier: Apache-2.0

// Titles, advice and checks of all findings.

#include <array>

#include "analysis/findings/catalogue.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr auto kTexts = std::to_array<FindingTexts>({
    // Data of the recording.
    {.key = "unattributed",
     .title = "Attach the HLO of this run",
     .action = "Dump the HLO with `XLA_FLAGS=--xla_dump_to=DIR`, then run `xlatrace attach RUN.db "
               "--modules DIR`. \"not known\" in `xlatrace summary` lists the reasons.",
     .check = "The coverage on the first screen rises."},
    {.key = "ambiguous",
     .title = "Record the launch ranges of XLA",
     .action = "Record with `xlatrace record` without `--mode light`, or with `nsys profile "
               "--trace=cuda,nvtx`. The ranges identify the instruction of each launch.",
     .check = "The coverage on the first screen rises."},
    {.key = "graphs_not_expanded",
     .title = "Record the kernels inside CUDA graphs",
     .action = "Record with xlatrace, or with `nsys profile --cuda-graph-trace=node`. This "
               "recording has one row per graph.",
     .check = "No activity has the kind `graph`."},
    {.key = "recording_cost",
     .title = "Compare with the time of a step without a profile",
     .action = "Recording an op on a CPU takes at least 0.7 us, so short ops look too long. Fewer "
               "and larger ops make the program faster.",
     .check = "A step takes equally long with and without a profile."},
    {.key = "autotune_in_trace",
     .title = "Keep the autotuning results of XLA",
     .action = "Set `jax_compilation_cache_dir`, which also keeps the results of autotuning. Or "
               "record after warm-up.",
     .check = "Later steps have no device time of origin `autotune`.",
     .in_tensorflow = "Record after warm-up, because XLA tunes kernels in the first calls of a "
                      "program."},

    // Compilation.
    {.key = "autotuning",
     .title = "Keep autotuning results of {function}",
     .action = "Set `jax_compilation_cache_dir`, or "
               "`--xla_gpu_per_fusion_autotune_cache_dir=DIR` in XLA_FLAGS. The next run reads "
               "the results from there.",
     .check = "In the next run, the stage `autotune` of the view `compile` is short."},
    {.key = "recompile",
     .title = "Stop recompiling {function}{at}",
     .action = "Give every step the same shapes and types: pad, bucket lengths, or drop the last "
               "batch. `JAX_EXPLAIN_CACHE_MISSES=1` prints the argument that differs.",
     .check = "One program of the function runs, and no compilation follows its first call.",
     .in_tensorflow = "Call the `tf.function` with the same shapes and types: pad to few lengths, "
                      "or drop the last batch. `input_signature=` rejects other shapes."},
    {.key = "recompile/between_steps",
     .title = "Stop compiling between steps{at}",
     .action = "",
     .check = "No compilation follows the first step."},
    {.key = "recompile/shape",
     .title = "",
     .action = "Give {argument} one shape, or few shapes. Pad it, bucket lengths, or drop the last "
               "batch.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/dtype",
     .title = "",
     .action = "Give {argument} one dtype at the line that creates it.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/python_scalar",
     .title = "",
     .action = "Pass {argument} as an array of one dtype in every call (`jnp.asarray(x, dtype)`). "
               "Python numbers have weak types, and int differs from float.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/weak_type",
     .title = "",
     .action = "Create {argument} with an explicit dtype (`jnp.asarray(x, dtype)`). Results of "
               "Python numbers have weak types.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/structure",
     .title = "",
     .action = "Pass the same tree in every call. Some calls have no {argument}.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/static",
     .title = "",
     .action = "Pass {argument} as an array instead of a static argument, or use few values. XLA "
               "compiles a program for each value of a static argument.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/static_object",
     .title = "",
     .action = "Pass the same object as {argument}, or give its class `__eq__` and `__hash__` (a "
               "frozen dataclass). JAX compares it by identity.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/donation",
     .title = "",
     .action = "Jit the function once, with one `donate_argnums`. Only some calls donate "
               "{argument}.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/sharding",
     .title = "",
     .action = "Place {argument} with the same sharding before the first call "
               "(`jax.device_put(x, sharding)`). Or set `out_shardings`, so that results have the "
               "sharding of the arguments.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/mesh",
     .title = "",
     .action = "Create one mesh, and call the function under this mesh each time.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/layout",
     .title = "",
     .action = "Keep one layout of {argument}.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/closure",
     .title = "",
     .action = "Call `jax.jit` once, and pass {argument} as an argument. The value of a captured "
               "variable is a constant of the program.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/configuration",
     .title = "",
     .action = "Set {argument} once, before the first call.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/options",
     .title = "",
     .action = "Jit the function once, with one set of options.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/new_function",
     .title = "",
     .action = "Call `jax.jit` once, before the loop. JAX compiles each new lambda, partial or "
               "inner function again.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/cache_cleared",
     .title = "",
     .action = "Do not clear JAX's caches (`jax.clear_caches`, `clear_cache`) between calls.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "recompile/other_difference",
     .title = "",
     .action = "Call the function with the same arguments each time.",
     .check = "`xlatrace summary --by compile` lists no recompilation of {function}."},
    {.key = "slow_compile",
     .title = "Shorten the compilation of {function}{at}",
     .action = "Simplify the code that the pass {pass} transforms. Or keep the program in the "
               "persistent cache (`jax_compilation_cache_dir`).",
     .check = "The view `compile` lists a shorter time of {pass}."},
    {.key = "slow_compile/folding",
     .title = "",
     .action = "Pass large constants as arguments of the jitted function. XLA computes constant "
               "expressions while it compiles.",
     .check = ""},
    {.key = "slow_compile/unrolled",
     .title = "Roll the Python loop in {function}{at}",
     .action = "Use `jax.lax.scan` or `jax.lax.fori_loop` instead of a Python loop. JAX traces "
               "each iteration of a Python loop, and XLA compiles all of them.",
     .check = "The view `compile_detail` lists fewer equations."},
    {.key = "slow_compile/operations",
     .title = "Jit {count} single operations{at}",
     .action = "Put the operations into one jitted function, or compute initial values with NumPy. "
               "JAX compiles each operation outside of jit per shape and dtype.",
     .check = "The view `compile` has fewer rows with `is_operation`."},
    {.key = "baked_constant",
     .title = "Pass {constant} to {function} as an argument{at}",
     .action = "Make the array an argument of the jitted function. A constant is copied into the "
               "program, folded by XLA, and stored twice.",
     .check = "The view `compile_detail` lists no constant of this size."},
    {.key = "cache_miss",
     .title = "Keep the cache key of {function} between runs",
     .action = "Keep program, constants, `XLA_FLAGS`, compile options, versions and devices the "
               "same between runs. Pass changing values as arguments.",
     .check = "The view `compile_detail` lists `cache_hit` for the function in the next run."},
    {.key = "cache_miss/short",
     .title = "Keep short compilations in the persistent cache",
     .action = "Set `jax_persistent_cache_min_compile_time_secs` to 0. Set "
               "`jax_persistent_cache_min_entry_size_bytes` to -1.",
     .check = ""},
    {.key = "cache_miss/none",
     .title = "Keep compiled programs in the persistent cache",
     .action =
         "Set `jax_compilation_cache_dir` (`JAX_COMPILATION_CACHE_DIR`) to a folder. For short "
         "compilations, set `jax_persistent_cache_min_compile_time_secs` to 0.",
     .check = ""},
    {.key = "slow_import",
     .title = "Import {module} later{at}",
     .action = "Import the module in the function that needs it. Keep work out of the top level of "
               "the module.",
     .check = "`python -X importtime -c 'import {module}'` prints a shorter time."},
    {.key = "evaluation",
     .title = "Run {function} less often{at}",
     .action = "Evaluate on fewer batches, or less often. A separate process can evaluate a "
               "checkpoint while the training continues.",
     .check = "More steps run in the same time, and each step takes as long as before."},

    {.key = "context_start",
     .title = "Reuse the device context",
     .action =
         "Run several jobs in one process, and warm up before the measured part. Load modules "
         "at their first use (`CUDA_MODULE_LOADING=LAZY`, default since CUDA 12.2).",
     .check = "The node backend_start of `time_tree` takes less time."},
    {.key = "startup_code",
     .title = "Shorten {function}{at}",
     .action = "Make {function} shorter, or keep its result in a file. Or run it in another thread "
               "beside imports and compilation.",
     .check = "The node startup of `time_tree` has less time in {function}."},

    // Copies.
    {.key = "copy_bound",
     .title = "Keep data on the device: avoid copies {direction}",
     .action = "Keep weights and data on the device instead of copying them each time. Prefetch "
               "the next part on another stream during computation.",
     .check = "The time of copies between host and device falls."},
    {.key = "copy_bound/pageable",
     .title = "",
     .action = "Keep weights and data on the device, or prefetch the next part during "
               "computation. Use pinned host memory, because copies of pageable memory are slower.",
     .check = ""},
    {.key = "copy_bound/results",
     .title = "",
     .action = "Keep results on the device, and reduce them there. Read results back less often.",
     .check = ""},
    {.key = "copy_bound/pageable_results",
     .title = "",
     .action = "Keep results on the device, reduce them there, and read back less often. Use "
               "pinned host memory, because copies of pageable memory are slower.",
     .check = ""},
    {.key = "runtime_copies",
     .title = "Copy less {direction}",
     .action = "Place data once where it is used (`jax.device_put` with the right sharding, "
               "donated state). Pass results on without a round trip to the host.",
     .check = "The exposed copies of a step fall.",
     .in_tensorflow =
         "Compile with `jit_compile=True`, because TensorFlow keeps int32, shapes and conditions "
         "on the host. Copy input ahead with `tf.data.experimental.prefetch_to_device`.",
     .in_pytorch =
         "Create data on the device, or copy it from pinned memory during computation. Use "
         "`DataLoader(pin_memory=True)` and `.to(device, non_blocking=True)`."},
    {.key = "copy_in_step",
     .title = "Keep data in device memory, not on the host{at}",
     .action = "If the memory suffices, keep the data of every step on the device{offload}. Or "
               "start the copy earlier, so that computation hides it.",
     .check = "The optimised HLO has no copy between memory spaces, and exposed copies fall."},
    {.key = "copy_in_step/no_cover",
     .title = "",
     .action = "If the memory suffices, keep the data of every step on the device{offload}. An "
               "earlier start of the copy hides at most {hides}.",
     .check = ""},
    {.key = "d2h_stall",
     .title = "Read back less data{at}",
     .action = "Reduce on the device, read every N steps, and start copies early "
               "(`x.copy_to_host_async()`). A low rate is typical of pageable memory, so use "
               "pinned memory.",
     .check = "Fewer bytes per step go to the host, and exposed copies fall.",
     .in_tensorflow = "Reduce on the device, and read every N steps. A low rate is typical of "
                      "pageable memory.",
     .in_pytorch = "Reduce on the device, and read every N steps. Copy into pinned memory with "
                   "`non_blocking=True`."},
    {.key = "copy_wait",
     .title = "Copy earlier between host and device{at}",
     .action =
         "Copy while earlier work runs (prefetch to the device). Reduce results on the device "
         "before reading them back.",
     .check = "Copies run beside kernels.",
     .in_pytorch = "Copy from pinned memory while earlier work runs (`non_blocking=True`). Reduce "
                   "results on the device before reading them back."},
    {.key = "donation_missing",
     .title = "Donate the state of {function}{at}",
     .action = "Use {donate}, so that XLA need not copy the arguments. The output must have the "
               "shape and type of the argument.",
     .check = "`input_output_alias` in the HLO names the parameter, and the copy is gone.",
     .in_tensorflow = "Hold the state in a `tf.Variable`, and `assign` it inside the compiled "
                      "function. XLA then shares its buffer instead of copying it."},
    {.key = "donation_missing/new_memory",
     .title = "",
     .action = "Use {donate}, so that results reuse the memory of the arguments. The system "
               "provides new memory page by page, which takes time.",
     .check = "`input_output_alias` in the HLO names the parameters, and each op takes about the "
              "same time in all steps.",
     .in_tensorflow = "Hold the state in a `tf.Variable`, and `assign` it inside the compiled "
                      "function. The results then reuse its buffer."},
    {.key = "device_copies",
     .title = "Avoid the copy on the device{at}",
     .action = "Do not return an input as an output. Read an array before an in-place op (scatter, "
               "dynamic-update-slice) overwrites it.",
     .check = "The optimised HLO does not contain the copy."},
    {.key = "device_copies/loop",
     .title = "",
     .action = "Do not carry unchanged values through the loop, and do not return an input as an "
               "output. Read a buffer before the loop overwrites it.",
     .check = ""},

    // Idle time.
    {.key = "launch_bound",
     .title = "Launch fewer kernels{at}",
     .action = "Run the ops in command buffers (`xla_gpu_enable_command_buffer`, with WHILE for "
               "loops), or unroll the loop. Or use a larger batch, so that each launch has more "
               "work.",
     .check = "The idle time inside executions falls, and the kernels take as long as before."},
    {.key = "launch_bound/no_programs",
     .title = "",
     .action = "Compile the work ({compile}) or capture it in CUDA graphs, and use a larger batch. "
               "A profiler that records stacks slows the host, so the real saving is smaller.",
     .check = "Launches find earlier work still running, and the idle time falls."},
    {.key = "small_kernels",
     .title = "Merge the small kernels{at}",
     .action = "Batch the work (vmap, larger batch), or unroll the loop so that XLA fuses across "
               "iterations. Or stack similar parameters into one array.",
     .check = "The number of launches per step falls."},
    {.key = "while_overhead",
     .title = "Use a static trip count for the loop{at}",
     .action = "Use a static length (`lax.scan`, `fori_loop` with constant bounds), or check "
               "convergence every k iterations. Or put WHILE into command buffers "
               "(`xla_gpu_enable_command_buffer`).",
     .check = "An iteration has no copy of a few bytes to the host.",
     .in_tensorflow = "Use a static length (`tf.range` of a Python number), or check convergence "
                      "every k iterations. Or put WHILE into command buffers "
                      "(`xla_gpu_enable_command_buffer`)."},
    {.key = "loop_overhead",
     .title = "Do more work per loop iteration{at}",
     .action = "Use `scan(unroll=n)`, or process a block of time steps or layers per iteration. "
               "Capture constant arrays instead of slicing them, and stack fewer results.",
     .check = "A step has fewer launches, and the share of counters and slices falls.",
     .in_tensorflow = "Process a block of time steps per iteration, or unroll the loop (Keras: "
                      "`unroll=True`). Stack fewer results."},
    {.key = "loop_overhead/short",
     .title = "",
     .action = "Use fewer and larger iterations: `scan(unroll=n)`, `jax.vmap`, or a block of time "
               "steps. Or use one op for all (`jnp.cumsum`, `lax.associative_scan`).",
     .check = "The time of the loop falls with the number of its iterations.",
     .in_tensorflow = "Use fewer and larger iterations: a block of time steps, or "
                      "`tf.vectorized_map`. Or use one op for all (`tf.cumsum`)."},
    {.key = "sync_each_step",
     .title = "Stop waiting for the device{during}{at}",
     .action = "Read metrics of the previous step, or every N steps (`x.copy_to_host_async()`). "
               "Avoid `float(loss)`, `.item()`, print and `block_until_ready` in the loop.",
     .check = "The device always has queued work, and the idle time after waits is gone.",
     .in_tensorflow = "Read metrics every N steps instead of `float(loss)`, `.numpy()` or print in "
                      "the loop. Keras: use `compile(steps_per_execution=N)` and few callbacks per "
                      "batch.",
     .in_pytorch = "Read metrics every N steps instead of `.item()`, `float(loss)` or print in the "
                   "loop. Avoid copies from or to pageable memory in the loop."},
    {.key = "input_bound",
     .title = "Prepare the next batch earlier{at}",
     .action =
         "Load and copy the next batch during the step (Grain, `tf.data` with prefetch). Call "
         "`jax.device_put` for it right after the dispatch of a step.",
     .check = "The gap before each step falls below 0.3 ms.",
     .in_tensorflow =
         "End the pipeline with `dataset.prefetch(tf.data.AUTOTUNE)`, and use parallel "
         "`map` and `interleave`. Or use `tf.data.experimental.prefetch_to_device`.",
     .in_pytorch = "Load the next batch while the device computes: `DataLoader(num_workers=N, "
                   "pin_memory=True, persistent_workers=True)`."},
    {.key = "input_bound/function",
     .title = "Load batches earlier: {function}{at}",
     .action = "",
     .check = "The device is not idle during {function}."},
    {.key = "input_bound/cpu",
     .title = "",
     .action = "Load the next batch in another thread or process during the step (Grain, `tf.data` "
               "with prefetch).",
     .check = "The idle part of the step shrinks.",
     .in_tensorflow = "Load the next batch during the step: end the pipeline with "
                      "`dataset.prefetch(tf.data.AUTOTUNE)`."},
    {.key = "host_gap",
     .title = "Dispatch the next step earlier{at}",
     .action = "Read metrics of the previous step, and run no Python work between steps. Jit the "
               "whole step as one function, or run several steps with `lax.scan`.",
     .check = "The gap before each step shrinks.",
     .in_tensorflow = "Put the whole step into one `tf.function`, without Python work between "
                      "steps. Or run several steps per call (Keras: "
                      "`compile(steps_per_execution=N)`).",
     .in_pytorch = "Run no Python work between steps, and read metrics of the previous step. Or "
                   "compile more of the step (`torch.compile`)."},
    {.key = "host_gap/function",
     .title = "Overlap {function} with device work{at}",
     .action =
         "Make {function} shorter, or run it in another thread or process. Or launch the next "
         "step before {function}.",
     .check = "The device is not idle during {function}."},
    {.key = "host_gap/long",
     .title = "Shorten the host's work in the longest gaps{at}",
     .action = "Check the host's work in the longest gaps: input, Python code, a lock, a waiting "
               "thread. Then compile more of it (`jax.jit`), or prefetch.",
     .check = "Launches find earlier work still running, and the idle time falls.",
     .in_tensorflow = "Check the host's work in the longest gaps: input, Python code, a waiting "
                      "thread. Then run several steps per call, or use `dataset.prefetch`.",
     .in_pytorch = "Check the host's work in the longest gaps: input, Python code, a lock, a "
                   "waiting thread. Then compile more of it (`torch.compile`), or prefetch."},
    {.key = "host_gap/set_up",
     .title = "Call {calls} before the main work",
     .action = "Warm up before the measured part, so that contexts and kernels are loaded. Keep "
               "memory in a pool, and reuse streams, modules and graphs.",
     .check = "The main work contains no {calls}."},
    {.key = "host_gap/calls",
     .title = "Dispatch the calls of programs faster{at}",
     .action = "If the program normally runs this way, put several calls into one jitted function "
               "or `lax.scan`. Keep arguments on the device.",
     .check = "The gaps between calls shrink.",
     .in_tensorflow = "If the program normally runs this way, put several calls into one "
                      "`tf.function`. Keras: use `compile(steps_per_execution=N)`."},
    {.key = "host_gap/script",
     .title = "Shorten the script's work between calls{at}",
     .action = "Prepare batches and write checkpoints in another thread or process. "
               "`jax.profiler.TraceAnnotation` shows which part takes the time.",
     .check = "The idle part of the step shrinks.",
     .in_tensorflow = "Prepare batches and write checkpoints in another thread or process. "
                      "`tf.profiler.experimental.Trace` shows which part takes the time."},
    {.key = "host_gap/script_function",
     .title = "Shorten {function} between calls{at}",
     .action =
         "Run {function} in another thread or process, or less often. Work that does not need "
         "the result of a step can run beside the step.",
     .check = "The idle part of the step shrinks."},
    {.key = "host_gap/start",
     .title = "Reduce the memory that the program needs{at}",
     .action = "The runtime needs the time to get memory and wake threads, not the script. Use "
               "smaller temporaries, donated arguments, or several steps per call.",
     .check = "The idle part of the step shrinks."},
    {.key = "host_gap/cpu",
     .title = "Do more work in one call{at}",
     .action = "Compile the whole step as one function (`jax.jit`), or several steps with "
               "`lax.scan`. Prepare input in another thread.",
     .check = "The idle part of the step shrinks.",
     .in_tensorflow = "Compile the whole step as one `tf.function`, or run several steps per call "
                      "(Keras: `compile(steps_per_execution=N)`). Use `dataset.prefetch`."},
    {.key = "idle",
     .title = "Record the host to explain the idle time{at}",
     .action =
         "Record with xlatrace, or with host calls and ranges. The host's work in the longest "
         "gaps shows the cause: input, dispatch or synchronisation.",
     .check = "The idle time falls."},
    {.key = "idle/launched",
     .title = "Check why launched work starts late{at}",
     .action = "The host launched in time, so check waits for other streams, transfers and "
               "devices. Or the recording lacks work, for example a sampled or filtered trace.",
     .check = ""},
    {.key = "long_stall",
     .title = "Explain the long idle period{during}",
     .action =
         "Record after startup, because loading, compiling and first allocations are not part "
         "of a step. In the middle of a run, check the host's work in that period.",
     .check = "The longest idle period of the run is shorter."},
    {.key = "long_stall/many",
     .title = "Explain {count} long idle periods{during}",
     .action = "",
     .check = ""},
    {.key = "hidden_products",
     .title = "Make the matrix products cheaper{at}",
     .action = "Use smaller products or a narrower type. XLA:CPU computes large products in a "
               "thread pool, which `perf record` shows.",
     .check = "The idle part of the step shrinks."},
    {.key = "hidden_products/float64",
     .title = "Compute the products in float32{at}",
     .action = "Use float32, which takes at most half of the time of float64. XLA:CPU computes "
               "large products in a thread pool, which `perf record` shows.",
     .check = ""},
    {.key = "host_callback",
     .title = "Move the Python callback out of the step{at}",
     .action =
         "Compute the value with jnp or an FFI call. Run `debug.print` and `io_callback` only "
         "every N steps (`lax.cond`).",
     .check = "The optimised HLO has no Python callback.",
     .in_tensorflow = "Compute the value with TensorFlow ops instead of `tf.py_function`. Print "
                      "only every N steps."},
    {.key = "pauses",
     .title = "Shorten the pauses{during} in {count} of {steps} steps",
     .action = "Check for work in some steps only: checkpoints, evaluation, logging, garbage "
               "collection. Run such work in another thread or process.",
     .check = "No step is much longer than the median step."},
    {.key = "pauses/input",
     .title = "",
     .action = "Prefetch more than one batch ahead. Input is late in some steps, for example while "
               "a file opens or a shuffle buffer fills.",
     .check = ""},
    {.key = "pauses/synchronisation",
     .title = "",
     .action = "Read metrics of the previous step, or copy them with `x.copy_to_host_async()`. In "
               "some steps the host waits for the device.",
     .check = "",
     .in_tensorflow = "Read metrics of the previous step. In some steps the host waits for the "
                      "device.",
     .in_pytorch = "Read metrics of the previous step, or copy them with `non_blocking=True`. In "
                   "some steps the host waits for the device."},
    {.key = "pauses/copy",
     .title = "",
     .action = "Make checkpoints, metrics and evaluation asynchronous, from a copy on the device. "
               "Some steps copy to or from the host.",
     .check = ""},

    // Several programs.
    {.key = "eager_ops",
     .title = "Move {count} programs into the step{at}",
     .action = "Compute inside jit, or on the host with NumPy. Between steps run {programs}.",
     .check = "Only the main module runs in a step."},
    {.key = "eager_kernels",
     .title = "Wrap the eager ops in tf.function",
     .action =
         "Put the step into a function with `@tf.function`, so that its ops run as one graph. "
         "With `jit_compile=True`, XLA can fuse the ops.",
     .check = "No device time has the reason `eager`."},
    {.key = "outside_xla",
     .title = "Compile TensorFlow's ops with XLA",
     .action = "Set `jit_compile=True` on the `tf.function` (Keras: "
               "`model.compile(jit_compile=True)`). A fusion saves one launch and one pass over "
               "memory per op.",
     .check = "A step has fewer launches, and `op_time` lists instructions instead."},
    {.key = "outside_xla/left_out",
     .title = "Compile the ops that XLA does not compile yet",
     .action = "Set `jit_compile=True` on the `tf.function` (Keras: "
               "`model.compile(jit_compile=True)`). It also compiles the ops that autoclustering "
               "left out.",
     .check = ""},
    {.key = "eager_programs",
     .title = "Jit the caller of {count} programs{at}",
     .action = "Put `jax.jit` around the function that calls the programs. XLA then fuses their "
               "operations into few passes over memory.",
     .check = "One program runs instead, and fewer bytes are moved.",
     .in_tensorflow = "Put `tf.function(jit_compile=True)` around the function that calls the "
                      "programs. XLA then fuses their operations into few passes over memory."},
    {.key = "too_few_calls",
     .title = "Record a loop of at least 20 steps",
     .action =
         "Call the measured function at least 20 times in a loop, as the program will run it. "
         "The time between single calls belongs to the script.",
     .check = "xlatrace detects steps, and reports their idle time."},

    // Several devices.
    {.key = "arrival_skew",
     .title = "Balance the work before {collective}{at}",
     .action = "Compare the devices with `xlatrace summary --by device`. Uneven data, one slow "
               "kernel or lower clocks make a device late.",
     .check = "The collective takes about the same time on all devices."},
    {.key = "arrival_skew/op",
     .title = "Balance {op} across the devices{at}",
     .action = "Give each device the same amount of data, or make {op} faster. On the last device, "
               "{op} takes {more} longer than on the median device.",
     .check = ""},
    {.key = "arrival_skew/device_op",
     .title = "Speed up {op} on {device}{at}",
     .action = "Compare the data and the clocks of {device} with those of other devices. The shape "
               "is the same, and {op} takes {more} longer.",
     .check = ""},
    {.key = "arrival_skew/device_scatter",
     .title = "Speed up {op} on {device}{at}",
     .action = "Check for many additions to the same row on {device}, because they wait for each "
               "other. The shape is the same, and {op} takes {more} longer.",
     .check = ""},
    {.key = "arrival_skew/device",
     .title = "Speed up {device}: the other devices wait",
     .action =
         "Compare {device} with the others (`xlatrace summary --by device`). Uneven data, one "
         "slow kernel or lower clocks make a device late.",
     .check = ""},
    {.key = "arrival_skew/kernel_device",
     .title = "Speed up {device}: others wait in {collective}",
     .action = "Check the idle time and the kernels of {device} before {collective}. Devices that "
               "arrive early wait inside the collective.",
     .check = ""},
    {.key = "arrival_skew/stalls_of",
     .title = "Remove the stalls of {device} before {collective}",
     .action = "Shorten the longest gaps of {device} before {collective} first. All other devices "
               "wait during such a gap.",
     .check = ""},
    {.key = "arrival_skew/stalls",
     .title = "Remove the stalls of devices before {collective}",
     .action = "Shorten the longest gaps before {collective} first. All other devices wait during "
               "such a gap.",
     .check = ""},
    {.key = "exposed_collective",
     .title = "Overlap communication with computation{at}",
     .action = "Set `jax.jit(..., compiler_options={\"optimization_level\": \"O1\"})` for the "
               "latency-hiding scheduler and pipelined collectives. Or communicate less: larger "
               "batch per device, gradients in bf16.",
     .check = "The exposed time of collectives falls, and the step gets shorter.",
     .in_tensorflow =
         "Start all-reduces of gradients during backward: "
         "`tf.distribute.experimental.CommunicationOptions(bytes_per_pack=...)`. Or communicate "
         "less: larger batch per device, gradients in bf16."},
    {.key = "exposed_collective/kernel",
     .title = "Overlap {collective} with computation",
     .action = "Start the exchange earlier, and compute during it. Or exchange less: larger batch "
               "per device, 16 bits, fewer and larger messages.",
     .check = ""},
    {.key = "exposed_collective/kernel_with_waiting",
     .title = "Overlap {collective} with computation",
     .action = "Start the exchange earlier, or exchange less (larger batch per device, 16 bits). "
               "Part of the time may be waiting for other devices.",
     .check = ""},
    {.key = "low_busbw",
     .title = "Check the links that slow the collectives{at}",
     .action = "Run `nvidia-smi nvlink -s` and `nvidia-smi topo -m`; `NCCL_DEBUG=INFO` prints the "
               "path. Combine small collectives into larger ones.",
     .check = "The view `collective` lists a higher bus bandwidth."},
    {.key = "uneven_busbw",
     .title = "Make {op} as fast as {other}{at}",
     .action = "Check the kernels beside {op}, its layout, and whether other devices are late. "
               "{other} has the same kind, the same devices and no larger size.",
     .check = "Both collectives reach the same bus bandwidth."},
    {.key = "overlap_slows_compute",
     .title = "Let collectives use fewer multiprocessors{at}",
     .action = "Try `--xla_gpu_nccl_collective_max_nchannels=8` (4 to 16), which lowers the "
               "bandwidth. Or run collectives beside matrix products instead of memory-bound work.",
     .check = "A kernel takes the same time with and without a collective beside it."},

    // Products.
    {.key = "float64",
     .title = "Compute in float32 instead of float64{at}",
     .action = "Turn `jax_enable_x64` off, or give arrays a dtype where they are created. Keep "
               "float64 for sums that need it, because this changes numerics.",
     .check = "The shapes of the ops contain f32, and the loss curve is unchanged.",
     .in_tensorflow = "Use `tf.cast` where inputs are created, and "
                      "`keras.config.set_floatx(\"float32\")`. Keep float64 for sums that need it, "
                      "because this changes numerics."},
    {.key = "f32_upcast",
     .title = "Keep the product in {type}{at}",
     .action = "Leave the operands in {type}, and request an f32 result "
               "(`preferred_element_type=jnp.float32`). Tensor cores accumulate in f32.",
     .check = "The operands of the dot are {type} in the optimised HLO.",
     .in_tensorflow = "Leave the operands in {type}, and cast the result to f32. Tensor cores "
                      "accumulate in f32."},
    {.key = "f32_highest",
     .title = "Let the f32 product use TF32{at}",
     .action = "If the accuracy allows, remove `precision='highest'` "
               "(`jax_default_matmul_precision`), or use BF16_BF16_F32_X3. This changes numerics.",
     .check = "The name of the kernel contains no sgemm, and the loss curve is unchanged."},
    {.key = "gemm_bad_dims",
     .title = "Pad dimension {size} to {padded}{at}",
     .action = "Make the array {padded} wide, and mask the added elements. Tensor cores load rows "
               "at full width only if rows are multiples of 16 bytes.",
     .check = "The product reaches the rate of products with even sizes."},
    {.key = "gemm_tail_waves",
     .title = "Fill the last wave of the product{at}",
     .action = "Choose a batch or sequence length whose tiles are a multiple of the "
               "multiprocessors. Or merge products (q, k and v), batch with vmap, or use split-K.",
     .check = "The number of waves is near a whole number, and the rate rises."},
    {.key = "gemm_split_k",
     .title = "Split the long sum of the product{at}",
     .action = "Batch such products (one einsum or vmap), or use split-K or stream-K kernels. By "
               "hand: reshape K to (k, K/k), multiply in a batch, then add.",
     .check = "The launch has more blocks or splitK in its name, and takes less time."},
    {.key = "gemm_split_k/kernel",
     .title = "Use more blocks for {kernel}",
     .action =
         "Batch small products, or split a long sum (split-K, stream-K). A larger batch gives "
         "products more rows.",
     .check = "The launch has more blocks, and the kernel takes less time."},
    {.key = "no_tensor_core",
     .title = "Use tensor cores (TF32) in {kernel}",
     .action =
         "If the accuracy allows, enable TF32 with `jax_default_matmul_precision`. Or compute "
         "in bf16; both change numerics.",
     .check = "No kernel has sgemm or ffma in its name.",
     .in_tensorflow = "If the accuracy allows, call "
                      "`tf.config.experimental.enable_tensor_float_32_execution(True)`. Or compute "
                      "in bf16; both change numerics.",
     .in_pytorch = "If the accuracy allows, call `torch.set_float32_matmul_precision('high')`; for "
                   "convolutions set `torch.backends.cudnn.allow_tf32`. Or compute in bf16; both "
                   "change numerics."},
    {.key = "no_tensor_core/fp16",
     .title = "Use tensor cores (fp16) in {kernel}",
     .action = "If the accuracy allows, compute in float16. This changes numerics.",
     .check = "",
     .in_tensorflow = "If the accuracy allows, call "
                      "`tf.keras.mixed_precision.set_global_policy('mixed_float16')`. This changes "
                      "numerics.",
     .in_pytorch = "If the accuracy allows, use `torch.autocast('cuda', torch.float16)` with "
                   "`torch.amp.GradScaler`. This changes numerics."},

    // Memory-bound work.
    {.key = "attention_unfused",
     .title = "Use a fused attention kernel{at}",
     .action = "Use `jax.nn.dot_product_attention(q, k, v, implementation='cudnn')` with bf16 or "
               "f16. Or use a kernel of Pallas or Transformer Engine.",
     .check = "Each layer runs one attention kernel, and no op has a [.., S, S] array.",
     .in_tensorflow = "Compute scores in bf16, because TensorFlow has no fused attention for GPUs. "
                      "Keras 3 on JAX has one: `MultiHeadAttention(flash_attention=True)`."},
    {.key = "attention_unfused/kernels",
     .title = "Fuse the attention around {kernel}",
     .action = "Use `jax.nn.dot_product_attention(..., implementation='cudnn')`, or "
               "`torch.nn.functional.scaled_dot_product_attention`.",
     .check = "A kernel with flash or fmha in its name replaces the softmax.",
     .in_tensorflow = "Use a fused attention kernel (`keras.config.enable_flash_attention()`).",
     .in_pytorch = "Use `torch.nn.functional.scaled_dot_product_attention` with fp16 or bf16. For "
                   "transformers: `attn_implementation='sdpa'`."},
    {.key = "layout_copy",
     .title = "Avoid the transpose{at}",
     .action = "Use einsum subscripts so that products read the other order, or store the weight "
               "transposed. Keep one order of batch, length and heads.",
     .check = "The line has no transpose or copy kernel."},
    {.key = "convert_only",
     .title = "Convert types once, outside of loops{at}",
     .action = "Cast parameters once per step, outside of loops, or keep a 16-bit copy. Return "
               "activations in the type of their reader.",
     .check = "No fusion only converts types."},
    {.key = "scan_stack",
     .title = "Save fewer results in the scan{at}",
     .action = "Put `jax.checkpoint` around the scanned block, or use a policy that saves less; "
               "backward then recomputes. Or unroll the loop, which needs no stack.",
     .check = "The loop fills, copies and updates fewer stacked arrays.",
     .in_tensorflow = "Put `tf.recompute_grad` around the body of the loop. Or unroll the loop "
                      "(Keras: `unroll=True`), which needs no stack."},
    {.key = "slow_memory_op",
     .title = "Speed up the {work}{at}",
     .action = "Check its operands with `xlatrace show`: transposes, column broadcasts and many "
               "operands are slow. Split the fusion with `lax.optimization_barrier`.",
     .check = "The op reaches a higher memory rate.",
     .in_tensorflow = "Check its operands with `xlatrace show`: transposes, column broadcasts and "
                      "many operands are slow. Compute repeated values once, before the fusion."},
    {.key = "slow_memory_op/reduction",
     .title = "",
     .action = "Sum over the minor dimension, in two steps, or as a product with ones. Keep the "
               "input in 16 bits.",
     .check = ""},
    {.key = "slow_memory_op/transpose",
     .title = "",
     .action = "Compute in the order of the input, then transpose (`lax.optimization_barrier` "
               "between both). A CPU computes and transposes element by element.",
     .check = "",
     .in_tensorflow = "Compute in the order of the input, then transpose. A CPU computes and "
                      "transposes element by element."},
    {.key = "elementwise_chain",
     .title = "Fuse the two memory-bound kernels{at}",
     .action = "Remove the obstacle to fusion: a reduction, a layout change, or a custom call. Or "
               "pass 16 bits, or write one Pallas or Triton kernel.",
     .check = "One fusion replaces two, and the bytes per step fall."},
    {.key = "register_pressure",
     .title = "Use fewer than {registers} registers{at}",
     .action =
         "Cut the fusion with `lax.optimization_barrier`, or vmap over fewer elements. Or use "
         "a checkpoint boundary, or f32 instead of f64.",
     .check = "The kernel uses fewer registers, and its occupancy rises.",
     .in_tensorflow = "Compute less at once (`tf.map_fn` over parts), or put `tf.recompute_grad` "
                      "inside. Or use float32 instead of float64."},

    // Irregular work.
    {.key = "scatter_add",
     .title = "Sort the indices of the scatter-add{at}",
     .action =
         "Sort the indices, and use `jax.ops.segment_sum(..., indices_are_sorted=True)`, with "
         "`unique_indices=True` if true. Add in f32, or use a one-hot product for small "
         "tables.",
     .check = "The scatter fusion is gone, and the step is shorter by about its time.",
     .in_tensorflow = "Sort the indices, and use `tf.math.segment_sum`. Add in f32, or use a "
                      "one-hot product for small tables."},
    {.key = "scatter_add/lookup",
     .title = "Sort the ids of the {embedding}lookup{at}",
     .action = "",
     .check = ""},
    {.key = "scatter_add/one_hot",
     .title = "Use a one-hot product{at}",
     .action = "Use `jax.nn.one_hot(ids, size) @ table`, whose gradient is a matrix product. Or "
               "sort the ids, and use `jax.ops.segment_sum(..., indices_are_sorted=True)`.",
     .check = "",
     .in_tensorflow = "Use `tf.one_hot(ids, size) @ table`, whose gradient is a matrix product. Or "
                      "sort the ids, and use `tf.math.segment_sum`."},
    {.key = "sort_slow",
     .title = "Sort less{at}",
     .action =
         "Sort once before the loop, or pack key and index into one value. Or select top-k in "
         "two stages.",
     .check = "A step has fewer and shorter sort kernels."},
    {.key = "sort_slow/wide",
     .title = "Sort 32-bit keys instead of 64-bit keys{at}",
     .action = "Use 32-bit keys. Sorting 64-bit keys needs many small kernels.",
     .check = ""},
    {.key = "random_numbers",
     .title = "Use cheaper random numbers{at}",
     .action =
         "Set `jax.config.update('jax_default_prng_impl', 'rbg')`, which gives other numbers. "
         "Or use masks of 8 or 16 bits, fewer dropouts, and keys that are split once.",
     .check = "No op has threefry in its op_name.",
     .in_tensorflow =
         "Use fewer layers of dropout and noise. Or draw the numbers of several layers "
         "at once: `tf.random.stateless_uniform(..., alg='philox')`."},
    {.key = "random_numbers/cpu",
     .title = "",
     .action = "Draw fewer numbers, or the numbers of several layers at once. Use masks of 8 or 16 "
               "bits, and create constant masks outside of the step.",
     .check = "The time of random numbers falls.",
     .in_tensorflow =
         "Use fewer layers of dropout and noise. Or draw the numbers of several layers "
         "at once: `tf.random.stateless_uniform(..., alg='philox')`."},
    {.key = "slow_custom_call",
     .title = "Speed up or avoid {target}{at}",
     .action = "Compare the call with plain jnp code, because XLA cannot fuse into it. Tune its "
               "tiles and stages for this shape.",
     .check = "The custom call takes less time."},
    {.key = "slow_custom_call/kernel",
     .title = "Speed up the kernel {target}{at}",
     .action = "",
     .check = "The kernel takes less time."},
    {.key = "slow_custom_call/linear_algebra",
     .title = "",
     .action = "Factorise every N steps, batch small matrices (vmap), or use matrix products "
               "(Newton-Schulz). Solvers use a fraction of the device.",
     .check = ""},

    // Structure of the step.
    {.key = "recompute",
     .title = "Recompute less{at}",
     .action = "If memory allows, use "
               "`policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable`. Or checkpoint "
               "only every other block.",
     .check = "The recompute part falls, and the peak memory rises.",
     .in_tensorflow = "If memory allows, use `tf.recompute_grad` only around every other block "
                      "(Keras 3: a narrower `keras.RematScope`)."},
    {.key = "recompute/by_xla",
     .title = "Recompute less: reduce the peak memory",
     .action = "Use a slightly smaller batch, donated state, or `jax.checkpoint` at chosen places. "
               "XLA recomputes because memory is short.",
     .check = "",
     .in_tensorflow =
         "Use a slightly smaller batch, or `tf.recompute_grad` at chosen places (Keras "
         "3: `keras.RematScope`). XLA recomputes because memory is short."},
    {.key = "optimizer",
     .title = "Make the optimizer cheaper{at}",
     .action = "Stack the parameters of repeated layers, or flatten them (`optax.flatten`). Or "
               "shard the optimizer's state, and keep moments in bf16.",
     .check = "The optimizer takes less time in fewer kernels.",
     .in_tensorflow = "Stack the parameters of repeated layers into one variable. Or shard the "
                      "optimizer's state, and keep moments in bf16."},
    {.key = "optimizer/fewer",
     .title = "Update fewer parameters per step{at}",
     .action = "Update only the table rows of the batch (sparse updates), or keep less state "
               "(Adafactor, bf16 moments). Or use larger batches per update.",
     .check = "The phase optimizer takes less time."},
    {.key = "odd_layer",
     .title = "Make {layer} as fast as its {count} siblings",
     .action = "Compare {op} with its counterpart in a sibling (`xlatrace show`): layout, inputs, "
               "neighbours on other streams. {op} takes {more} longer there.",
     .check = "`xlatrace summary --by layer` lists about equal times of the layers."},
    {.key = "odd_layer/algorithm",
     .title = "",
     .action = "Keep the autotuning results (`jax_compilation_cache_dir`), and compile while the "
               "device is idle. {op} uses another algorithm: {detail}.",
     .check = ""},
    {.key = "odd_layer/shape",
     .title = "",
     .action = "Check why {op} has another shape than its siblings, for example in a first or last "
               "layer. {op}: {detail}.",
     .check = ""},
    {.key = "odd_layer/extra",
     .title = "",
     .action = "Check why only this layer has {op}. An input or output may need another layout or "
               "type, as in first and last layers.",
     .check = ""},
    {.key = "odd_layer/more_launches",
     .title = "",
     .action = "Check why {op} is launched more often than in the siblings: {detail}.",
     .check = ""},
    {.key = "odd_layer/collective",
     .title = "",
     .action = "Move the collective beside {op} to a matrix product, if possible. The collective "
               "uses multiprocessors and bandwidth.",
     .check = ""},
    {.key = "dominant_op",
     .title = "Speed up {op}{at}",
     .action = "No rule has advice for {op}, which is {description}. `xlatrace show {handle} "
               "run.db` lists its computation and its operands.",
     .check = "`xlatrace report NEW.db --base OLD.db` lists a shorter time per step."},
    {.key = "dominant_op/no_remedy",
     .title = "No remedy is known for {op}{at}",
     .action = "",
     .check = ""},
    {.key = "dominant_op/line",
     .title = "No remedy is known for the {count} ops{at}",
     .action = "No rule has advice for the ops; the largest is {description}. `xlatrace show "
               "{handle} run.db` lists its computation and its operands.",
     .check = ""},

    // Time.
    {.key = "step_jitter",
     .title = "Even out the slow steps: their {part} time varies",
     .action = "Compare steps {steps} with the median step. Possible reasons are checkpoints, "
               "evaluation, logging, garbage collection and other programs on the device.",
     .check = "The 95th percentile of the step time falls to the median."},
    {.key = "clock_throttle",
     .title = "Keep the clocks of the device high",
     .action = "Run `nvidia-smi -q -d PERFORMANCE,POWER,CLOCK` during the run to check power cap, "
               "heat and other jobs. Lock the clocks to compare runs.",
     .check = "Products take about the same time in the first and last steps."},

    // Jobs with several ranks (`xlatrace merge`).
    {.key = "job_slow_gpu",
     .title = "Check the slow GPU that all ranks wait for",
     .action = "Check clocks, power cap, temperature and other users (`nvidia-smi -q -d "
               "PERFORMANCE,CLOCK`). Or remove that GPU from the job.",
     .check = "In a new recording, the merged run names no rank or another one."},
    {.key = "job_slow_host",
     .title = "Check the slow host that all ranks wait for",
     .action = "Check other work on that host: input pipeline, CPU frequency, swapping.",
     .check = "In a new recording, the merged run names no rank or another one."},
    {.key = "job_link",
     .title = "Check the slow link that all ranks wait for",
     .action = "Check the network adapters and NVLinks of the host that the slow groups share.",
     .check = "In a new recording, the merged run names no rank or another one."},
    {.key = "job_data",
     .title = "Balance the data of the ranks",
     .action = "Give ranks equal amounts of data per step: pack or sort sequences by length.",
     .check = "In a new recording, the merged run names no rank or another one."},
    {.key = "job_program",
     .title = "Balance the pipeline stages",
     .action = "Move layers from the longest pipeline stage to the others.",
     .check = "In a new recording, the merged run names no rank or another one."},
    {.key = "job_one_off",
     .title = "Shorten the single long steps",
     .action =
         "Make checkpoints asynchronous, compile before the steps, and collect garbage on all "
         "ranks together.",
     .check = "In a new recording, the merged run names no rank or another one."},
    {.key = "job_unknown",
     .title = "Record the rank that all others wait for in detail",
     .action = "Keep the launches of that rank with `xlatrace merge --ranks`.",
     .check = "In a new recording, the merged run names no rank or another one."},
});

}  // namespace

std::span<const FindingTexts> AllTexts() { return kTexts; }

}  // namespace xlatrace::analysis::findings
