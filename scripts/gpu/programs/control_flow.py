# SPDX-License-Identifier: Apache-2.0
"""A step with a loop, a branch and a scan, which XLA may put into command buffers."""

import os

import jax
import jax.numpy as jnp


@jax.jit
def step(w, x, flag):
    x = jax.lax.fori_loop(0, 5, lambda _, h: jnp.tanh(h @ w), x)
    x = jax.lax.cond(flag > 0, lambda h: jnp.sin(h) @ w, lambda h: jnp.cos(h) * 2, x)
    x, sums = jax.lax.scan(lambda h, s: (jnp.exp(-h * s) @ w, h.sum()), x, jnp.arange(4.0))
    return x, sums.sum()


w = jnp.eye(256) * 0.5
x = jnp.ones((64, 256))
for n in range(int(os.environ.get("STEPS", "10"))):
    x, total = step(w, x, jnp.int32(n % 2))
total.block_until_ready()
