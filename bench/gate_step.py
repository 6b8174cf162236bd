#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step in JAX for `bench/gate_harness.py command`: the same program in every process.

usage: bench/gate_step.py [--slower PART]

A loop of matrix products takes 100 rounds in every step; PART (0.03) adds this share of rounds. The
number of rounds is an argument, so that the program is the same.
"""

import argparse

import jax
import jax.numpy as jnp

STEPS = 40
ROUNDS = 100


@jax.jit
def train_step(weights, batch, rounds):
    def loss(weights):
        hidden = jnp.tanh(batch @ weights["in"])
        return jnp.mean((hidden @ weights["out"] - batch) ** 2)

    state = jax.lax.fori_loop(0, rounds, lambda _, value: jnp.tanh(value @ weights["in"]), batch)
    gradient = jax.grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradient), jnp.sum(state)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slower", type=float, default=0)
    rounds = round(ROUNDS * (1 + parser.parse_args().slower))
    weights = {name: jax.random.normal(jax.random.key(i), (128, 128)) * 0.05
               for i, name in enumerate(("in", "out"))}
    batch = jax.random.normal(jax.random.key(2), (128, 128))
    for _ in range(STEPS):
        weights, state = train_step(weights, batch, rounds)
        state.block_until_ready()


if __name__ == "__main__":
    main()
