#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time of the hook per compilation of JAX, as a share of the CPU time of compiling.

    bench/compile_cost.py [--count 40]

The listeners of the hook run in the thread that compiles. The program measures their CPU time, so the load of
the machine does not matter. Each program is compiled for COUNT shapes. Figures are of all of them together.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "xlatrace_hook"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from xlatrace_hook.compile_facts import CompileFacts  # noqa: E402


class MeasuredFacts(CompileFacts):
    """Adds up the CPU time of the listeners."""

    spent_s = 0.0
    depth = 0

    def _guarded(self, function):
        guarded = super()._guarded(function)

        def listener(*args, **kwargs):
            if self.depth:
                return guarded(*args, **kwargs)
            self.depth, start = 1, time.thread_time()
            try:
                guarded(*args, **kwargs)
            finally:
                self.spent_s += time.thread_time() - start
                self.depth = 0

        return listener


def one_line(x):
    return x + 1


def layers(params, x):
    for weights in params:
        x = jnp.tanh(x @ weights) + x
    return jnp.mean(x)


def wide(tree):
    return sum(jax.tree.leaves(tree))


def unrolled(x):
    for number in range(100):
        x = jnp.sin(x) * number
    return x


def calls(count):
    """(name, function, arguments of each call)."""
    weights = [np.ones((32, 32), np.float32)] * 8
    yield "one operation", one_line, [(np.ones(n + 1, np.float32),) for n in range(count)]
    yield "gradient of 8 layers", jax.grad(layers), [(weights, np.ones((n + 1, 32), np.float32)) for n in range(count)]
    yield "1,000 arguments", wide, [({f"leaf{k}": np.ones(n + 1, np.float32) for k in range(1000)},)
                                    for n in range(count // 10)]
    yield "200 equations", unrolled, [(np.ones(n + 1, np.float32),) for n in range(count // 4)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    options = parser.parse_args()
    jax.block_until_ready(jax.jit(one_line)(np.ones(3)))  # Starts the backend.
    with tempfile.TemporaryDirectory() as folder:
        facts = MeasuredFacts(jax, SimpleNamespace(folder=folder))
        facts.install()
        for name, function, arguments in calls(options.count):
            jitted = jax.jit(function)
            facts.spent_s, start = 0.0, time.process_time()
            for each in arguments:
                jax.block_until_ready(jitted(*each))
            cpu_s = time.process_time() - start
            spent_s = facts.spent_s
            print(f"{name:22} {len(arguments):4} compilations  {1e3 * cpu_s / len(arguments):8.2f} ms of CPU each, "
                  f"hook {1e3 * spent_s / len(arguments):6.2f} ms, {100 * spent_s / (cpu_s - spent_s):5.2f} %")


main()
