# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer to reverse sequences, in plain JAX.

    python train.py                 # 30 steps, a few seconds on two CPU cores
    python train.py --steps 200

The model reads `a b c d | d c b a` and is scored on the second half, so it has to learn to look
back. Nothing here is about profiling: run it as it is, or under `xlatrace record`.
"""

import argparse
import time

import jax
import jax.numpy as jnp

VOCAB = 16
HALF = 8  # length of the sequence that is to be reversed
SEQ = 2 * HALF  # what the model sees: the sequence, a separator, the reversed sequence but one
BATCH = 32
DIM = 128
HEADS = 4
FFN = 4 * DIM
SCANNED_LAYERS = 2  # alike, so one loop over stacked weights instead of a copy each
LEARNING_RATE = 4e-3
SEPARATOR = 0


# --- model ----------------------------------------------------------------------------------


@jax.custom_vjp
def gelu(x):
    """x * sigmoid(1.702 x), with a gradient that keeps one array instead of three."""
    return x * jax.nn.sigmoid(1.702 * x)


def gelu_forward(x):
    return gelu(x), x


def gelu_backward(x, gradient):
    gate = jax.nn.sigmoid(1.702 * x)
    return (gradient * (gate + 1.702 * x * gate * (1.0 - gate)),)


gelu.defvjp(gelu_forward, gelu_backward)


def layer_norm(x, scale):
    with jax.named_scope("layer_norm"):
        mean = x.mean(-1, keepdims=True)
        variance = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale


def attention(params, x):
    with jax.named_scope("attention"):
        batch, length, dim = x.shape
        h = layer_norm(x, params["norm_1"])
        q, k, v = (
            (h @ params[name]).reshape(batch, length, HEADS, dim // HEADS)
            for name in ("query", "key", "value")
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(dim // HEADS)
        causal = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, dim)
        return x + mixed @ params["out"]


def mlp(params, x):
    with jax.named_scope("mlp"):
        h = layer_norm(x, params["norm_2"])
        return x + gelu(h @ params["up"]) @ params["down"]


def block(params, x):
    return mlp(params, attention(params, x))


def forward(params, tokens):
    """Logits of the next token, for every position."""
    with jax.named_scope("embed"):
        x = params["embed"][tokens] + params["position"]

    with jax.named_scope("layer_0"):
        x = block(params["layer_0"], x)

    # Recomputed in the backward pass instead of keeping its activations.
    with jax.named_scope("layer_1"):
        x = jax.checkpoint(block)(params["layer_1"], x)

    with jax.named_scope("layers"):
        x, _ = jax.lax.scan(lambda x, layer: (block(layer, x), None), x, params["layers"])

    with jax.named_scope("head"):
        return layer_norm(x, params["norm"]) @ params["head"]


def loss_fn(params, batch):
    logits = forward(params, batch["tokens"])
    with jax.named_scope("loss"):
        log_probs = jax.nn.log_softmax(logits)
        picked = jnp.take_along_axis(log_probs, batch["targets"][..., None], axis=-1)[..., 0]
        return -jnp.mean(picked, where=batch["mask"])


# --- parameters and optimizer ---------------------------------------------------------------


def init_params(key):
    keys = iter(jax.random.split(key, 64))

    def dense(*shape):
        return jax.random.normal(next(keys), shape) / jnp.sqrt(shape[-2])

    def init_block(*stacked):
        return {
            "query": dense(*stacked, DIM, DIM),
            "key": dense(*stacked, DIM, DIM),
            "value": dense(*stacked, DIM, DIM),
            "out": dense(*stacked, DIM, DIM),
            "up": dense(*stacked, DIM, FFN),
            "down": dense(*stacked, FFN, DIM),
            "norm_1": jnp.ones((*stacked, DIM)),
            "norm_2": jnp.ones((*stacked, DIM)),
        }

    return {
        "embed": dense(VOCAB, DIM),
        "position": dense(SEQ, DIM),
        "layer_0": init_block(),
        "layer_1": init_block(),
        "layers": init_block(SCANNED_LAYERS),
        "norm": jnp.ones(DIM),
        "head": dense(DIM, VOCAB),
    }


def adam(params, grads, mu, nu, count, b1=0.9, b2=0.98, eps=1e-8):
    with jax.named_scope("optimizer/adam"):
        mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, mu, grads)
        nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * jnp.square(g), nu, grads)
        mu_scale = 1 / (1 - b1**count)
        nu_scale = 1 / (1 - b2**count)
        params = jax.tree.map(
            lambda p, m, v: p - LEARNING_RATE * m * mu_scale / (jnp.sqrt(v * nu_scale) + eps),
            params,
            mu,
            nu,
        )
        return params, mu, nu


def init_state(key):
    params = init_params(key)
    return {
        "params": params,
        "mu": jax.tree.map(jnp.zeros_like, params),
        "nu": jax.tree.map(jnp.zeros_like, params),
        "count": jnp.zeros(()),
    }


# --- training -------------------------------------------------------------------------------


def make_batch(key):
    forwards = jax.random.randint(key, (BATCH, HALF), 1, VOCAB)
    separator = jnp.full((BATCH, 1), SEPARATOR)
    sequence = jnp.concatenate([forwards, separator, forwards[:, ::-1]], axis=1)
    return {
        "tokens": sequence[:, :-1],
        "targets": sequence[:, 1:],
        "mask": jnp.arange(SEQ)[None] >= HALF,  # the first half cannot be predicted
    }


def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], batch)
    count = state["count"] + 1
    params, mu, nu = adam(state["params"], grads, state["mu"], state["nu"], count)
    return {"params": params, "mu": mu, "nu": nu, "count": count}, loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    key = jax.random.key(args.seed)
    state = jax.jit(init_state)(key)
    next_batch = jax.jit(make_batch)
    step = jax.jit(train_step, donate_argnums=0)

    started = time.perf_counter()
    for i in range(args.steps):
        state, loss = step(state, next_batch(jax.random.fold_in(key, i + 1)))
        if i % 5 == 0 or i == args.steps - 1:
            print(f"step {i:4d}  loss {loss:.4f}", flush=True)
    print(f"{args.steps} steps in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
