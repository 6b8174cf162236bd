#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what operations cost on XLA:CPU, one by one: the CPU column of hlo/cost/weights.cc.

    cpu_op_costs.py          # with a Python that has JAX

Nanoseconds per element of f32 (unless stated otherwise), on one thread, for arrays that stay in the
caches, without the cost of an empty call."""

import os
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
from jax import lax

ELEMENTS = 1 << 15
ROUNDS, CALLS = 30, 6


def seconds(function, *operands):
    """The shortest of many calls."""
    compiled = jax.jit(function)
    compiled(*operands).block_until_ready()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            result = compiled(*operands)
        result.block_until_ready()
        best = min(best, (time.perf_counter() - start) / CALLS)
    return best


def main():
    x = jax.random.uniform(jax.random.key(0), (ELEMENTS,), jnp.float32, 0.1, 3.0)
    y = 0.7 * x + 0.5
    i = (1000 * x).astype(jnp.int32)
    j = i // 2 + 1
    operations = {
        "add": (lax.add, x, y),
        "multiply": (lax.mul, x, y),
        "negate": (lax.neg, x),
        "slice": (lambda a: a[1:], x),
        "broadcast": (lambda: jnp.full((ELEMENTS,), 1.0),),
        "atan2": (lax.atan2, x, y),
        "cbrt": (lax.cbrt, x),
        "cosine": (lax.cos, x),
        "divide": (lax.div, x, y),
        "divide, s32": (lax.div, i, j),
        "erf": (lax.erf, x),
        "exponential": (lax.exp, x),
        "exponential-minus-one": (lax.expm1, x),
        "log": (lax.log, x),
        "log-plus-one": (lax.log1p, x),
        "logistic": (lax.logistic, x),
        "power": (lax.pow, x, y),
        "remainder": (lax.rem, x, y),
        "remainder, s32": (lax.rem, i, j),
        "rsqrt": (lax.rsqrt, x),
        "sine": (lax.sin, x),
        "sqrt": (lax.sqrt, x),
        "tan": (lax.tan, x),
        "tanh": (lax.tanh, x),
    }
    empty = seconds(lambda a: a + 1, x[:1])
    for name, (function, *operands) in operations.items():
        print(f"{name:22} {1e9 * (seconds(function, *operands) - empty) / ELEMENTS:6.2f}", flush=True)


if __name__ == "__main__":
    main()
