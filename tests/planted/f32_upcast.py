# SPDX-License-Identifier: Apache-2.0
"""Planted: a bf16 model whose largest product is computed in f32."""

import functools

import jax
import numpy as np
import parts
from jax.numpy import float32


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        h = jax.nn.gelu(x @ layer["up"])
        x = x + (h.astype(float32) @ layer["down"].astype(float32)).astype(x.dtype)  # planted
    return parts.mean_square(x)


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
