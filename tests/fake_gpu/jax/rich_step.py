# SPDX-License-Identifier: Apache-2.0
"""A training step with everything that makes attribution hard.

A scan over rematerialised layers, a while loop and a branch that depend on data. It also has gather and
scatter-add, sort, top_k, FFT, Cholesky and a triangular solve, products through cuBLASLt, and copies."""

import argparse
import functools
import os

# Products by the library, as they are on a GPU after autotuning more often than not.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_enable_triton_gemm=false"

import jax
import jax.numpy as jnp
import numpy as np

TABLE, WIDTH, ROWS, LAYERS, SIGNAL = 512, 128, 256, 3, 256


def put(tree):
    """To the device one by one: JAX's own transfers run side by side, in an order of their own."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf).block_until_ready(), tree)


def make_parameters(generator):
    def weights(*shape):
        return (generator.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)

    return {
        "table": weights(TABLE, WIDTH),
        "layers": {
            "up": weights(LAYERS, WIDTH, 2 * WIDTH),
            "down": weights(LAYERS, 2 * WIDTH, WIDTH),
        },
        "filter": weights(1, SIGNAL // 2 + 1)[0],
        "head": weights(WIDTH, WIDTH),
    }


@jax.checkpoint
def layer_of(x, layer):
    with jax.named_scope("mlp"):
        return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"], None


def spectrum(parameters, x):
    """Filters rows in the frequency domain."""
    with jax.named_scope("spectrum"):
        signal = jnp.concatenate([x, x[:, ::-1]], axis=1)
        transformed = jnp.fft.rfft(signal) * parameters["filter"]
        return x + jnp.fft.irfft(transformed, n=SIGNAL)[:, :WIDTH]


def whiten(x):
    """Cholesky of the covariance, then a triangular solve."""
    with jax.named_scope("whiten"):
        covariance = x.T @ x / ROWS + jnp.eye(WIDTH)
        factor = jnp.linalg.cholesky(covariance)
        return jax.scipy.linalg.solve_triangular(factor, x.T, lower=True).T


def loss_of(parameters, indices, targets):
    with jax.named_scope("embed"):
        x = parameters["table"][indices]
    with jax.named_scope("layers"):
        x, _ = jax.lax.scan(layer_of, x, parameters["layers"])
    x = spectrum(parameters, x)
    x = whiten(x)
    with jax.named_scope("loss"):
        return jnp.square(x @ parameters["head"] - targets).mean()


def newton_norm(x):
    """A while loop with a data-dependent end."""

    def unfinished(carry):
        _, change = carry
        return change > 1e-3

    def improve(carry):
        guess, _ = carry
        better = 0.5 * (guess + jnp.sum(jnp.square(x)) / guess)
        return better, jnp.abs(better - guess)

    with jax.named_scope("newton"):
        return jax.lax.while_loop(unfinished, improve, (jnp.float32(1), jnp.float32(1)))[0]


def rank(values):
    """Two sorts (a large one of keys alone, a small one of pairs) and the ten largest."""
    with jax.named_scope("rank"):
        ordered = jnp.sort(values.reshape(-1))
        sums = jnp.sum(jnp.square(values), axis=1)
        order = jax.lax.sort((sums, jnp.arange(ROWS)), num_keys=1)[1]
        largest, places = jax.lax.top_k(values.reshape(8, -1), 10)
        return ordered, order, largest, places


@functools.partial(jax.jit, donate_argnums=0)
def train_step(parameters, indices, targets):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, indices, targets)
    norm = newton_norm(gradients["head"])
    with jax.named_scope("clip"):
        # Products in both branches: nothing that XLA would turn into a select.
        gradients["head"] = jax.lax.cond(
            norm > 1.0,
            lambda g: jnp.tanh(g @ parameters["head"].T) / norm,
            lambda g: g @ jnp.roll(parameters["head"], 1, axis=0) * 1.5,
            gradients["head"],
        )
    with jax.named_scope("sgd"):
        parameters = jax.tree.map(lambda p, g: p - 1e-2 * g, parameters, gradients)
    ranks = rank(targets)
    with jax.named_scope("count"):
        counts = jnp.zeros(TABLE).at[indices].add(1.0)
    # The table once as it is and once reversed: results that are copies.
    return parameters, loss, ranks, counts, parameters["table"][::-1]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=4)
    steps = arguments.parse_args().steps

    generator = np.random.default_rng(1)
    parameters = put(make_parameters(generator))
    for step in range(1, steps + 1):
        indices = generator.integers(0, TABLE, ROWS, np.int32)
        targets = generator.standard_normal((ROWS, WIDTH)).astype(np.float32)
        parameters, *rest = train_step(parameters, *put((indices, targets)))
        jax.block_until_ready(rest)
        print(f"step {step}: done", flush=True)


if __name__ == "__main__":
    main()
