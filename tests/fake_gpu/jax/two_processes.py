# SPDX-License-Identifier: Apache-2.0
"""Data parallel training over the devices of several processes (jax.distributed): gradients are
summed by an all-reduce over all of them. COORDINATOR PROCESSES NUMBER."""

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

WIDTH, LAYERS, BATCH = 256, 3, 64


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
    arguments.add_argument("coordinator")
    arguments.add_argument("processes", type=int)
    arguments.add_argument("number", type=int)
    arguments.add_argument("--steps", type=int, default=20)
    given = arguments.parse_args()
    jax.distributed.initialize(given.coordinator, given.processes, given.number)

    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    split = NamedSharding(mesh, PartitionSpec("data"))
    generator = np.random.default_rng(2)

    def put(value, sharding):
        """The same value is in every process; each device takes its part."""
        value = np.asarray(value, np.float32)
        return jax.make_array_from_callback(value.shape, sharding, lambda part: value[part])

    parameters = [
        {
            "weights": put(generator.standard_normal((WIDTH, WIDTH)), everywhere),
            "bias": put(np.zeros(WIDTH), everywhere),
        }
        for _ in range(LAYERS)
    ]
    print(f"devices: {jax.device_count()}, here: {jax.local_device_count()}", flush=True)
    for step in range(1, given.steps + 1):
        x, y = (put(generator.standard_normal((BATCH, WIDTH)), split) for _ in range(2))
        parameters, loss = train_step(parameters, x, y)
        loss.block_until_ready()
    print(f"step {given.steps}: done", flush=True)


if __name__ == "__main__":
    main()
