# SPDX-License-Identifier: Apache-2.0
"""A training step whose modules, graphs and kernels are XLA's own."""

import os, sys, time  # noqa: E401, F401, for the programs that are appended to this text
import jax, jax.numpy as jnp  # noqa: E401
def loss(w, x):
    for a in w: x = jnp.tanh(x @ a)
    return jnp.mean(x * x)
@jax.jit
def step(w, x):
    value, gradient = jax.value_and_grad(loss)(w, x)
    return [a - 0.1 * g for a, g in zip(w, gradient)], value
size = int(os.environ.get("SIZE", "512"))
w = [jnp.eye(size) * 0.5 for _ in range(6)]
x = jnp.ones((256, size))
for n in range(5): w, v = step(w, x)
v.block_until_ready()
begin = time.perf_counter()
for n in range(int(os.environ.get("STEPS", "50"))): w, v = step(w, x)
v.block_until_ready()
print("seconds", time.perf_counter() - begin)
