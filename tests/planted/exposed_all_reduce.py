# SPDX-License-Identifier: Apache-2.0
"""Planted: gradients are summed over the devices when everything else is done."""

import functools

import jax
import numpy as np
import parts
from jax.sharding import PartitionSpec

DEVICES = 2


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = parts.block(layer, x)
    return parts.mean_square(x)


def step_of_one(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)
    grads = jax.lax.pmean(grads, "data")  # planted
    return parts.adam(state, grads), loss[None]


def make_step(mesh):
    mapped = jax.shard_map(
        step_of_one,
        mesh=mesh,
        in_specs=(PartitionSpec(), PartitionSpec("data")),
        out_specs=(PartitionSpec(), PartitionSpec("data")),
        check_vma=False,
    )

    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(state, batch):
        return mapped(state, batch)

    return train_step


def make(sizes, mesh=None):
    if mesh is None:
        mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    rng = np.random.default_rng(0)
    sizes.tokens //= 8  # Little work per device, as many gradients as ever.
    params = {"layers": parts.make_layers(rng, sizes)}
    return make_step(mesh), parts.with_moments(params), parts.features(rng, sizes)


if __name__ == "__main__":
    parts.main(make)
