# SPDX-License-Identifier: Apache-2.0
"""A step of many kinds of elementwise work, reductions and moves, in sizes that can be timed."""

import os

import jax
import jax.numpy as jnp

ROWS, COLUMNS = 512, 256
STEPS = int(os.environ.get("STEPS", "20"))


def gates(x, y):
    with jax.named_scope("gates"):
        return jax.nn.sigmoid(x) * jnp.tanh(y) + jax.nn.gelu(x - y)


def distribution(x):
    with jax.named_scope("distribution"):
        logs = jax.nn.log_softmax(x)
        return logs, -jnp.sum(jnp.exp(logs) * logs, axis=-1)


def waves(x, t):
    with jax.named_scope("waves"):
        return jnp.sin(x * t) + jnp.cos(x) * jax.lax.rsqrt(1.0 + x * x)


def quantise(x):
    with jax.named_scope("quantise"):
        scale = jnp.max(jnp.abs(x), axis=-1, keepdims=True) / 127.0
        return jnp.clip(jnp.round(x / scale), -127, 127).astype(jnp.int8), scale


def low_precision(x, y):
    with jax.named_scope("low_precision"):
        a, b = x.astype(jnp.bfloat16), y.astype(jnp.bfloat16)
        return jnp.where(a > b, a * b, a + b).astype(jnp.float32)


def shuffle(x):
    with jax.named_scope("shuffle"):
        halves = jnp.concatenate([x[:, COLUMNS // 2 :], -x[:, : COLUMNS // 2]], axis=1)
        return halves + jnp.pad(x[1:], ((0, 1), (0, 0)))


@jax.jit
def step(x, y, t):
    def value(x):
        logs, entropy = distribution(gates(x, y) + shuffle(x))
        return jnp.mean(entropy) + jnp.mean(waves(x, t) * low_precision(logs, y))

    loss, gradient = jax.value_and_grad(value)(x)
    codes, scale = quantise(gradient)
    with jax.named_scope("update"):
        y = 0.9 * y + 0.1 * jnp.square(gradient)
        x = x - 1e-3 * codes.astype(jnp.float32) * scale / (jnp.sqrt(y) + 1e-8)
    return x, y, loss


def main():
    x = jax.random.normal(jax.random.key(0), (ROWS, COLUMNS), jnp.float32)
    y = jnp.abs(jax.random.normal(jax.random.key(1), (ROWS, COLUMNS), jnp.float32))
    for i in range(STEPS):
        x, y, loss = step(x, y, jnp.float32(0.5 + i))
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
