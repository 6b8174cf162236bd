# SPDX-License-Identifier: Apache-2.0
"""Large branches with mostly equal kernels, and consecutive loops with data-dependent ends and equal kernels.

With FAKE_GPU_PREDICATES either side of a branch is taken and loops differ in length.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, LAYERS, BATCH = 64, 4, 32


def put(tree, sharding=None):
    """To the device one by one: JAX's own transfers run side by side, in an order of their own."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf, sharding).block_until_ready(), tree)


def layers_of(weights, x, activation):
    for weight in weights:
        x = activation(x @ weight) + x
    return x


def conjugate_gradient(matrix, right, most):
    def improve(state):
        x, rest, direction, count = state
        image = matrix @ direction
        step = jnp.vdot(rest, rest) / jnp.vdot(direction, image)
        less = rest - step * image
        direction = less + jnp.vdot(less, less) / jnp.vdot(rest, rest) * direction
        return x + step * direction, less, direction, count + 1

    def unfinished(state):
        return (jnp.vdot(state[1], state[1]) > 1e-3) & (state[3] < most)

    return jax.lax.while_loop(unfinished, improve, (jnp.zeros_like(right), right, right, 0))[0]


def loss_of(weights, others, x, kind):
    x = jax.lax.cond(
        x.sum() > 0,
        lambda x: layers_of(weights, x, jnp.tanh),
        lambda x: layers_of(weights[::-1], x * 2, jnp.sin),
        x,
    )
    x = jax.lax.cond(
        x.mean() > 0,
        lambda x: layers_of(others, x, jnp.tanh),
        lambda x: layers_of(others[::-1], x, jnp.tanh) + 1,
        x,
    )
    branches = [
        lambda x: layers_of(weights, x, jnp.tanh),
        lambda x: jnp.sort(x, 0),
        lambda x: x,
    ]
    return jnp.square(jax.lax.switch(kind, branches, x)).mean()


@jax.jit
def train_step(weights, others, x, kind, matrix):
    loss, gradients = jax.value_and_grad(loss_of)(weights, others, x, kind)
    first = conjugate_gradient(matrix, x[0], 40)
    second = conjugate_gradient(matrix, first + jnp.sin(first), 40)
    third = conjugate_gradient(matrix, second + jnp.sin(second), 30)
    return [w - 0.1 * g for w, g in zip(weights, gradients)], loss, third


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=6)
    steps = arguments.parse_args().steps

    generator = np.random.default_rng(3)

    def numbers(*shape):
        return (generator.standard_normal(shape) / 10).astype(np.float32)

    weights = put([numbers(WIDTH, WIDTH) for _ in range(LAYERS)])
    others = put([numbers(WIDTH, WIDTH) for _ in range(LAYERS)])
    matrix = put(numbers(WIDTH, WIDTH))
    for step in range(steps):
        batch = put((numbers(BATCH, WIDTH), np.int32(step % 3)))
        weights, *rest = train_step(weights, others, *batch, matrix)
        jax.block_until_ready(rest)
        print(f"step {step + 1}: done", flush=True)


if __name__ == "__main__":
    main()
