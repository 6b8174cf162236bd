# SPDX-License-Identifier: Apache-2.0
"""Modules that share most of their kernels, in turn.

Training and evaluation of one model; evaluation is compiled for two batch sizes under one name. There are
also an occasional moving average, and operations outside of any jit."""

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, LAYERS = 128, 4


def put(tree, sharding=None):
    """To the device one by one: JAX's own transfers run side by side, in an order of their own."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf, sharding).block_until_ready(), tree)


def apply(parameters, x):
    for number, layer in enumerate(parameters):
        with jax.named_scope(f"layer_{number}"):
            mean = x.mean(1, keepdims=True)
            variance = jnp.square(x - mean).mean(1, keepdims=True)
            normal = (x - mean) * jax.lax.rsqrt(variance + 1e-5) * layer["scale"]
            x = x + jax.nn.gelu(normal @ layer["weights"] + layer["bias"])
    return x


def loss_of(parameters, x, labels):
    logits = apply(parameters, x)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


@functools.partial(jax.jit, donate_argnums=(0, 1))
def train_step(parameters, momentum, x, labels):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, x, labels)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
    return jax.tree.map(lambda p, m: p - 1e-2 * m, parameters, momentum), momentum, loss


@jax.jit
def eval_step(parameters, x, labels):
    right = jnp.argmax(apply(parameters, x), 1) == labels
    return loss_of(parameters, x, labels), right.mean()


@jax.jit
def average(old, new):
    return jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b, old, new)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=9)
    steps = arguments.parse_args().steps

    generator = np.random.default_rng(3)

    def weights(*shape):
        return (generator.standard_normal(shape) / 10).astype(np.float32)

    def model():
        return [
            {"weights": weights(WIDTH, WIDTH), "bias": weights(WIDTH), "scale": weights(WIDTH)}
            for _ in range(LAYERS)
        ]

    def batch(size):
        return put((weights(size, WIDTH), generator.integers(0, WIDTH, size, np.int32)))

    parameters, momentum, smooth = put(model()), put(model()), put(model())
    best = put(np.float32(0))
    for step in range(steps):
        parameters, momentum, loss = train_step(parameters, momentum, *batch(64))
        if step % 2:
            smooth = average(smooth, parameters)
        if step % 3 == 0:
            result = eval_step(parameters, *batch(64))
        if step % 3 == 2:
            result = eval_step(smooth, *batch(64))
        if step % 3:
            result = eval_step(smooth, *batch(32))
        best = jnp.maximum(best, result[1]) * 0.5 + loss
        jax.block_until_ready((parameters, result, best))
        print(f"step {step + 1}: done", flush=True)


if __name__ == "__main__":
    main()
