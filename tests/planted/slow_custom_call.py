# SPDX-License-Identifier: Apache-2.0
"""Planted: a factorisation by a library that runs on a fraction of the device."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import parts


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = parts.block(layer, x)
    small = x[:1024, :1024].astype(jnp.float32)
    factor = jnp.linalg.cholesky(small @ small.T + jnp.eye(len(small)))  # planted
    return parts.mean_square(x) + jnp.log(jnp.diagonal(factor)).mean()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)
    return parts.adam(state, grads), loss


def make(sizes):
    rng = np.random.default_rng(0)
    params = {"layers": parts.make_layers(rng, sizes)}
    return train_step, parts.with_moments(params), parts.features(rng, sizes)


if __name__ == "__main__":
    parts.main(make)
