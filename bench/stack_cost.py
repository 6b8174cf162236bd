#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much sampled stacks cost a program with steps of about 2 ms.

    bench/stack_cost.py build/release/lib/libxlatrace_stacks.so [--rate 100] [--blocks 100] [--jax]

One process runs short blocks of steps, alternately sampled and not, so that both see the same
machine. A step is Python code below 40 frames, or with --jax a compiled function and 1 ms of Python.
Its length is set by CPU time. A figure is the median, over pairs of blocks, of the difference of the
time per step, with a 95 % interval. A block has about ten samples, so its time contains their cost;
the median of single steps would not, because most steps have no sample. Wall time is
right on an idle machine only. A busy machine has more samples per step; the CPU time per sample is
the same there. The sampler's own thread runs in parallel, and its CPU time is a figure of its own.
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
STEPS = 50
STEP_S = 0.002


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
    """Wall time, CPU time of this thread, and CPU time of the process per step, in ns."""
    clocks = (time.perf_counter_ns, time.thread_time_ns, time.process_time_ns)
    starts = [clock() for clock in clocks]
    for _ in range(STEPS):
        step()
    return tuple((clock() - start) / STEPS for clock, start in zip(clocks, starts))


def units_of_step():
    """Units of `python_step` that take STEP_S of CPU time."""
    units = 10_000
    step = python_step(units)
    times = []
    for _ in range(20):
        start = time.thread_time()
        step()
        times.append(time.thread_time() - start)
    return int(units * STEP_S / statistics.median(times))


def sampler_cpu_s():
    for task in os.listdir("/proc/self/task"):
        place = Path("/proc/self/task") / task
        if (place / "comm").read_text() == "xlatrace-stacks\n":
            return int((place / "schedstat").read_text().split()[0]) / 1e9
    return 0.0


def print_median(name, differences, unit):
    differences = sorted(differences)
    # The interval of a median: order statistics, by the normal approximation of the binomial.
    count = len(differences)
    reach = int(0.98 * count**0.5) + 1
    low, high = (differences[min(max(count // 2 + side, 0), count - 1)] for side in (-reach, reach))
    print(f"{name} {statistics.median(differences):+.2f} {unit} ({low:+.2f} to {high:+.2f} {unit})")


def print_costs(pairs, rate):
    for name, i in (("wall time of the step    ", 0), ("CPU of the main thread   ", 1)):
        print_median(name, [100 * (sampled[i] / plain[i] - 1) for sampled, plain in pairs], "%")
    # The sampler's thread counts, too. The fastest of many blocks had the least company on its CPU.
    sampled_ns, plain_ns = (min(pair[side][2] for pair in pairs) for side in (0, 1))
    print(f"CPU of the process, fastest block  {sampled_ns / 1e6:.3f} ms per step with samples, "
          f"{plain_ns / 1e6:.3f} ms without: {100 * (sampled_ns / plain_ns - 1):+.2f} %")
    # The wall time of a step decides how many samples it has, so this figure fits any load.
    per_sample = [(sampled[1] - plain[1]) / (sampled[0] * rate / 1e9) / 1e3 for sampled, plain in pairs]
    print_median("CPU of main, per sample  ", per_sample, "us")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--rate", default="100")
    parser.add_argument("--blocks", type=int, default=100, help="pairs of blocks")
    parser.add_argument("--threads", type=int, default=4, help="further threads, which wait")
    parser.add_argument("--jax", action="store_true")
    options = parser.parse_args()
    os.environ["XLATRACE_STACKS_LIBRARY"] = os.path.abspath(options.library)
    os.environ["XLATRACE_STACKS"] = options.rate
    from xlatrace_hook.stacks import Stacks

    units = units_of_step()
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
    wall, cpu = (statistics.median(plain[i] for _, plain in pairs) / 1e6 for i in (0, 1))
    print(f"step without samples      {wall:.3f} ms, CPU time {cpu:.3f} ms")
    print_costs(pairs, float(options.rate))
    print(f"CPU of the sampler        {100 * own_s / sampled_s:.2f} % of one core")
    print(f"file                      {size / sampled_s:.0f} bytes per second")
    end.set()


main()
