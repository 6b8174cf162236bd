# SPDX-License-Identifier: Apache-2.0
"""Nothing planted: normalised blocks, whose means run at the memory's rate."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import parts


def normalise(x):
    square = jnp.square(x.astype(jnp.float32)).mean(-1, keepdims=True)
    return x * jax.lax.rsqrt(square + 1e-5).astype(x.dtype)


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = x + jax.nn.gelu(normalise(x) @ layer["up"]) @ layer["down"]
    return parts.mean_square(normalise(x))


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
