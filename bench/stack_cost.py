#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much sampled stacks cost a program with steps of about 2 ms.

    bench/stack_cost.py build/release/lib/libxlatrace_stacks.so [--rate 100] [--blocks 40] [--jax]

One process runs blocks of steps, alternately sampled and not, so that both see the same machine. A
step is Python code below 40 frames, or with --jax a compiled function and 1 ms of Python. Figures
are differences of the mean steps, without the slowest fifth of each block. They have a 95 % interval
over pairs of blocks. Wall time fits an idle machine, CPU time of the main thread a busy one. The
sampler's own thread runs beside the program; its CPU time is the third figure.
"""

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "xlatrace_hook"))
STEPS = 100


def python_step(units):
    """Below 40 frames, as in a framework."""

    def below(depth):
        if depth > 0:
            return below(depth - 1)
        total = 0
        for i in range(units):
            total += i % 7
        return total

    return lambda: below(40)


def jax_step(units):
    import jax
    import jax.numpy as jnp

    x = jnp.ones((200, 200))
    f = jax.jit(lambda x: jnp.tanh(x @ x))
    python = python_step(units // 2)

    def step():
        python()
        f(x).block_until_ready()

    return step


def block(step):
    """Mean step in wall time, and in CPU time of this thread."""
    wall, cpu = [], []
    for _ in range(STEPS):
        start, start_cpu = time.perf_counter_ns(), time.thread_time_ns()
        step()
        wall.append(time.perf_counter_ns() - start)
        cpu.append(time.thread_time_ns() - start_cpu)
    return [statistics.fmean(sorted(times)[: STEPS * 4 // 5]) for times in (wall, cpu)]


def sampler_cpu_s():
    for task in os.listdir("/proc/self/task"):
        place = Path("/proc/self/task") / task
        if (place / "comm").read_text() == "xlatrace-stacks\n":
            return int((place / "schedstat").read_text().split()[0]) / 1e9
    return 0.0


def print_cost(name, pairs):
    differences = [100 * (sampled / plain - 1) for sampled, plain in pairs]
    error = 1.96 * statistics.stdev(differences) / len(differences) ** 0.5
    print(f"{name} {statistics.fmean(differences):+.2f} % +- {error:.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--rate", default="100")
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--threads", type=int, default=4, help="further threads, which wait")
    parser.add_argument("--jax", action="store_true")
    options = parser.parse_args()
    os.environ["XLATRACE_STACKS_LIBRARY"] = os.path.abspath(options.library)
    os.environ["XLATRACE_STACKS"] = options.rate
    from xlatrace_hook.stacks import Stacks

    units = 10_000
    step = python_step(units)
    step()
    start = time.perf_counter()
    step()
    units = int(units * 0.002 / (time.perf_counter() - start))
    step = jax_step(units) if options.jax else python_step(units)
    step()
    end = threading.Event()
    for _ in range(options.threads):
        threading.Thread(target=end.wait, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        stacks = Stacks()
        stacks.start(folder)
        pairs = []
        sampled_s = 0.0
        for number in range(options.blocks):
            pair = {}
            for sampled in (True, False) if number % 2 else (False, True):
                stacks.go_on() if sampled else stacks.pause()
                start = time.perf_counter()
                pair[sampled] = block(step)
                sampled_s += sampled * (time.perf_counter() - start)
            pairs.append((pair[True], pair[False]))
        own_s = sampler_cpu_s()
        stacks.stop()
        size = os.path.getsize(os.path.join(folder, "host.samples"))
    print(f"step without samples      {statistics.median(plain[0] for _, plain in pairs) / 1e6:.3f} ms")
    print_cost("wall time of the step    ", [(sampled[0], plain[0]) for sampled, plain in pairs])
    print_cost("CPU of the main thread   ", [(sampled[1], plain[1]) for sampled, plain in pairs])
    print(f"CPU of the sampler        {100 * own_s / sampled_s:.2f} % of one core")
    print(f"file                      {size / sampled_s:.0f} bytes per second")
    end.set()


main()
