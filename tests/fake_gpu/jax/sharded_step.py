# SPDX-License-Identifier: Apache-2.0
"""Layers that are scanned, rematerialised and sharded by hand over the devices of this process.

Parameters are gathered and gradients scattered in every layer, activations exchanged all to all and
passed around a ring.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

WIDTH, LAYERS, BATCH = 128, 3, 64


def put(tree, sharding):
    """To the device one by one: JAX's own transfers run side by side, in an order of their own."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf, sharding).block_until_ready(), tree)


def layer_of(x, layer):
    with jax.named_scope("layer"):
        up = jax.lax.all_gather(layer["up"], "data", axis=0, tiled=True)
        down = jax.lax.all_gather(layer["down"], "data", axis=0, tiled=True)
        hidden = jax.nn.gelu(x @ up)
        parts = hidden.reshape(jax.lax.axis_size("data"), -1, hidden.shape[-1])
        exchanged = jax.lax.all_to_all(parts, "data", 0, 0).reshape(hidden.shape)
        return x + exchanged @ down, None


def loss_of(parameters, x, targets):
    x, _ = jax.lax.scan(jax.checkpoint(layer_of), x, parameters["layers"])
    size = jax.lax.axis_size("data")
    ring = [(rank, (rank + 1) % size) for rank in range(size)]
    with jax.named_scope("ring"):
        for _ in range(2):
            x = x + jax.lax.ppermute(x, "data", ring) * 0.5
    return jax.lax.pmean(jnp.square(x @ parameters["head"] - targets).mean(), "data")


def update(parameters, x, targets):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, x, targets)
    gradients["head"] = jax.lax.psum(gradients["head"], "data")
    squares = sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(gradients))
    scale = 1e-2 * jax.lax.rsqrt(jax.lax.psum(squares, "data") + 1)
    return jax.tree.map(lambda p, g: p - scale * g, parameters, gradients), loss


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=4)
    steps = arguments.parse_args().steps

    generator = np.random.default_rng(3)

    def weights(*shape):
        return (generator.standard_normal(shape) / 10).astype(np.float32)

    devices = jax.device_count()
    mesh = jax.make_mesh((devices,), ("data",))
    rows, columns = PartitionSpec("data"), PartitionSpec(None, "data")
    specification = {"layers": {"up": columns, "down": columns}, "head": PartitionSpec()}
    train_step = jax.jit(
        jax.shard_map(
            update,
            mesh=mesh,
            in_specs=(specification, rows, rows),
            out_specs=(specification, PartitionSpec()),
            check_vma=False,
        ),
        donate_argnums=0,
    )
    layers = {"up": weights(LAYERS, WIDTH, 2 * WIDTH), "down": weights(LAYERS, 2 * WIDTH, WIDTH)}
    parameters = {
        "layers": put(layers, NamedSharding(mesh, columns)),
        "head": put(weights(WIDTH, WIDTH), NamedSharding(mesh, PartitionSpec())),
    }
    for step in range(steps):
        batch = (weights(BATCH * devices, WIDTH), weights(BATCH * devices, WIDTH))
        parameters, loss = train_step(parameters, *put(batch, NamedSharding(mesh, rows)))
        loss.block_until_ready()
        print(f"step {step + 1}: done", flush=True)


if __name__ == "__main__":
    main()
