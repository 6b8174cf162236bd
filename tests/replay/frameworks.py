# SPDX-License-Identifier: Apache-2.0
"""Pairs of JAX programs: on the CPU (cpu_programs.py), and compiled for a GPU, on the fake one (gpu_programs.py)."""

from typing import Any

from pairs import Change, Flag, Op, Pair, Side, Without

# XLA's kernels of matrix products, and what the fake's libraries call theirs.
PRODUCTS = ("gemm*", "cutlass*", "nvjet*", "ampere*", "sm80*", "cublas*")


# Times of kernels, independent of the program: the first prefix that fits.
EVEN = {"even_us": {product[:-1]: 200.0 for product in PRODUCTS} | {"": 12.0}}




def factors(products: int = 40, /, **kernels: float) -> str:
    rows = [f"kernel {name} times {products}\n" for name in PRODUCTS]
    return "".join(rows + [f"kernel {name}* times {value}\n" for name, value in kernels.items()])


def on_cpu(name: str, program: str, about: str, *changes: Change) -> Pair:
    before, after = Side(program), Side(program, {"changed": True})
    return Pair(name, "jax_cpu", about, before, after, changes, host=True)


def on_gpu(
    name: str, program: str, about: str, before: dict[str, Any], after: dict[str, Any],
    *changes: Change, host: bool = False,
) -> Pair:  # fmt: skip
    return Pair(name, "jax_gpu", about, Side(program, before), Side(program, after), changes, host=host)


def named(opcode: str) -> str:
    """Instructions of the step's module with this name."""
    return f"op_name LIKE '%/{opcode}' AND module LIKE 'jit%'"


def cpu_pairs() -> list[Pair]:
    sort = "op_name LIKE '%sort'"
    wide = "op_name = 'jit(step)/dot_general'"
    return [
        on_cpu("cpu_sort_faster", "sorting", "a sort of a quarter as much", Op(sort)),
        on_cpu("cpu_sort_removed", "sort_gone", "a sort that nobody needs is gone", Without(sort)),
        on_cpu("cpu_sleep_gone", "sleeping", "the host no longer sleeps", Flag("--no-gaps")),
        on_cpu("cpu_host_work_gone", "decoding", "numpy no longer works between steps",
               Flag("--no-gaps")),
        on_cpu("cpu_float32", "precise", "one product in float32 instead of float64", Op(wide)),
        on_cpu("cpu_recompute_off", "checkpointed", "no block is computed twice",
               Flag("--no-recompute")),
        on_cpu("cpu_transposes_removed", "transposing", "two transposes are gone",
               Without("op_name LIKE '%transpose' AND op_kind IN ('transpose', 'copy')"
                       " AND op_name NOT LIKE '%jvp%'")),
        on_cpu("cpu_noise_faster", "noisy", "a quarter of the random numbers",
               Op("op_name LIKE '%random%' OR op_name LIKE '%normal%' OR op_name LIKE '%threefry%'")),
        on_cpu("cpu_callback_removed", "measuring", "no callback into Python",
               Without("op_name LIKE '%pure_callback%'")),
        on_cpu("cpu_sort_and_sleep", "two_changes", "a faster sort, and no sleep", Op(sort),
               Flag("--no-gaps")),
        on_cpu("cpu_gather_faster", "gathering", "half of the rows", Op("op_kind = 'scatter_gather'")),
        # Ops inside a loop would be scaled with it; the loop leaves gaps between iterations.
        on_cpu("cpu_scan_unrolled", "scanning", "a scan's layers one after another",
               Op("op_kind = 'gemm'"), Op("op_kind NOT IN ('gemm', 'control')"), Flag("--no-gaps")),
    ]  # fmt: skip


def gpu_pairs() -> list[Pair]:
    scatter = "op_name LIKE '%scatter%' AND op_kind = 'scatter_gather'"
    slow = {"scenario": factors(input_scatter_fusion=60, wrapped_scatter=60, scatter=60)}
    fast = {"scenario": factors(input_scatter_fusion=15, wrapped_scatter=15, scatter=15)}
    # Beside which what the host takes is little.
    long = {"scenario": factors(400, input_scatter_fusion=600, wrapped_scatter=600, scatter=600)}
    shorter = {"scenario": factors(400, input_scatter_fusion=150, wrapped_scatter=150, scatter=150)}
    link = {"scenario": factors(all_reduce=300, nccl=300), "devices": 2}
    faster = {"scenario": factors(all_reduce=150, nccl=150), "devices": 2}
    plain = {"scenario": factors()}
    off = {"graphs": False}
    done = {"changed": True}
    return [
        on_gpu("xla_scatter_faster", "scattered", "a scatter a quarter as long, in a command buffer",
               slow, fast, Op(scatter)),
        on_gpu("xla_scatter_faster_no_graph", "scattered", "the same, kernel by kernel",
               slow | off, fast | off, Op(scatter)),
        on_gpu("xla_scatter_faster_read", "reading", "the same, and the host reads every loss",
               long, shorter, Op(scatter), host=True),
        on_gpu("xla_two_ops", "scattered", "the scatter faster, and products half as long",
               slow, {"scenario": factors(20, input_scatter_fusion=15, wrapped_scatter=15, scatter=15)},
               Op(scatter), Op("op_kind = 'gemm'")),
        on_gpu("xla_batch_there", "fetching", "no batch from the host in every step", plain,
               plain | done, Flag("--copies gone --no-gaps")),
        on_gpu("xla_link_faster", "parallel", "two devices, a link twice as fast", link, faster,
               Flag("--collective-bandwidth 2x")),
        on_gpu("xla_sleep_gone", "sleeping", "the host no longer waits and sleeps", plain,
               plain | done, Flag("--no-gaps")),
        # Both sides' kernels have names of their own, and so would have times of their own.
        on_gpu("xla_recompute_off", "checkpointed", "no block is computed twice", EVEN, EVEN | done,
               Flag("--no-recompute")),
    ]  # fmt: skip


def pairs() -> list[Pair]:
    return gpu_pairs() + cpu_pairs()
