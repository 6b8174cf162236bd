# SPDX-License-Identifier: Apache-2.0
"""Planted: a recurrent cell so small that launching its kernels takes longer than running them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import parts


def loss_of(params, batch):
    def cell(h, x):
        h = jnp.tanh(x @ params["wx"] + h @ params["wh"])  # planted
        return h, h

    h = jnp.zeros((8, 64), jnp.bfloat16)
    _, states = jax.lax.scan(cell, h, batch["sequence"])  # planted (the loop)
    x = batch["x"]
    for layer in params["layers"]:
        x = parts.block(layer, x)
    return parts.mean_square(x) + parts.mean_square(states)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)
    return parts.adam(state, grads), loss


def make(sizes):
    rng = np.random.default_rng(0)
    params = {
        "wx": parts.weights(rng, 64, 64),
        "wh": parts.weights(rng, 64, 64),
        "layers": parts.make_layers(rng, sizes),
    }
    batch = parts.features(rng, sizes)
    batch["sequence"] = rng.standard_normal((512, 8, 64), np.float32).astype(jnp.bfloat16)
    return train_step, parts.with_moments(params), batch


if __name__ == "__main__":
    parts.main(make)
