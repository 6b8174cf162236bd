#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost of XLA:CPU's own profile per op: a loop of tiny ops, timed with and without it.

    bench/cpu_recording_cost.py [--steps 40]

Needs JAX. Prints the median step both ways, the ops of a step and the difference per op.
`recording_cost` (docs/reference/findings.md) assumes 0.7 us per op.
"""

import argparse
import glob
import statistics
import tempfile
import time

import jax
import jax.numpy as jnp


@jax.jit
def step(weights, inputs):
    def cell(state, x):
        hidden = jnp.tanh(jnp.concatenate([x, state], -1) @ weights)
        return hidden, hidden

    def loss(weights):
        del weights
        return jnp.mean(jax.lax.scan(cell, jnp.zeros((8, 32)), inputs)[1] ** 2)

    return jax.value_and_grad(loss)(weights)


def median_ms(weights, inputs, steps):
    taken = []
    for _ in range(steps):
        start = time.perf_counter()
        jax.block_until_ready(step(weights, inputs))
        taken.append(time.perf_counter() - start)
    return 1e3 * statistics.median(taken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    weights, inputs = jnp.ones((48, 32)) * 0.01, jnp.ones((256, 8, 16))
    median_ms(weights, inputs, 5)
    alone = median_ms(weights, inputs, options.steps)
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder)
        recorded = median_ms(weights, inputs, options.steps)
        jax.profiler.stop_trace()
        file = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)[0]
        profile = jax.profiler.ProfileData.from_file(file)
        ops = sum(
            1 for plane in profile.planes for line in plane.lines for event in line.events
            if any(name == "hlo_op" for name, _ in event.stats)
        ) / options.steps
    print(f"step {alone:.2f} ms, recorded {recorded:.2f} ms, {ops:.0f} ops: "
          f"{1e6 * (recorded - alone) / ops:.0f} ns each")


if __name__ == "__main__":
    main()
