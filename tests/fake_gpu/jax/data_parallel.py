# SPDX-License-Identifier: Apache-2.0
"""Data parallel training over all devices of this process: the batch is split, gradients are summed
by an all-reduce."""

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

WIDTH, LAYERS, BATCH = 1024, 3, 64


def put(tree, sharding):
    """To the devices one by one: JAX's own transfers run side by side, in an order of their own."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf, sharding).block_until_ready(), tree)


def loss_of(parameters, x, y):
    for number, layer in enumerate(parameters):
        with jax.named_scope(f"layer_{number}"):
            x = jnp.tanh(x @ layer["weights"] + layer["bias"])
    with jax.named_scope("loss"):
        return jnp.square(x - y).mean()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(parameters, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
    with jax.named_scope("sgd"):
        return jax.tree.map(lambda p, g: p - 1e-2 * g, parameters, gradients), loss


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=5)
    steps = arguments.parse_args().steps

    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    split = NamedSharding(mesh, PartitionSpec("data"))
    generator = np.random.default_rng(2)
    parameters = put(
        [
            {
                "weights": generator.standard_normal((WIDTH, WIDTH)).astype(np.float32),
                "bias": np.zeros(WIDTH, np.float32),
            }
            for _ in range(LAYERS)
        ],
        everywhere,
    )
    print(f"devices: {jax.device_count()}", flush=True)
    for step in range(1, steps + 1):
        x, y = (
            put(generator.standard_normal((BATCH, WIDTH)).astype(np.float32), split)
            for _ in range(2)
        )
        parameters, loss = train_step(parameters, x, y)
        loss.block_until_ready()
        print(f"step {step}: done", flush=True)


if __name__ == "__main__":
    main()
