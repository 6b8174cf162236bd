#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX programs for a CPU, one planted cause each, and clean ones: cpu_programs.py NAME.

check_live.py records and judges them. A line with "# planted" is the one to be named, where the cause
is a line of the program; ids are those of docs/reference/findings.md.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
from registry import clean, planted, run_one

rng = np.random.default_rng(0)


def draw(*shape, scale=0.05):
    return jnp.asarray(rng.standard_normal(shape, np.float32) * scale)


def mlp_loss(weights, x):
    for w in weights:
        x = jax.nn.relu(x @ w)
    return jnp.mean(x * x)


def descend(loss, weights, *batch):
    value, slopes = jax.value_and_grad(loss)(weights, *batch)
    return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, slopes), value


def square_weights(width, layers):
    return [draw(width, width) for _ in range(layers)]


# --- what the step itself does ----------------------------------------------------------------


@planted("sort_slow dominant_op", quick=True)
def ranking_sort():
    """A ranking loss sorts every score of the batch."""
    w, x = draw(64, 64), draw(4096, 64)

    def loss(w, x):
        scores = (x @ w).reshape(-1)
        ranked = jnp.sort(scores)  # planted
        return jnp.mean(ranked * jnp.linspace(0, 1, ranked.size))

    step = jax.jit(lambda w, x: descend(loss, w, x))
    for _ in range(15):
        w, value = step(w, x)
        value.block_until_ready()


@planted("scatter_add dominant_op")
def histogram_scatter():
    """Counts of two million events, added one by one."""
    events = jnp.asarray(rng.integers(0, 5000, 2_000_000))

    @jax.jit
    def step(total, events):
        counts = jnp.zeros(5000).at[events].add(1.0)  # planted
        return total * 0.9 + counts

    total = jnp.zeros(5000)
    for _ in range(15):
        total = step(total, events).block_until_ready()


@planted("dominant_op slow_memory_op gather_slow")
def random_gather():
    """Single numbers are fetched from all over a table of 64 MB."""
    table, where = draw(16_000_000), jnp.asarray(rng.integers(0, 16_000_000, 1_000_000))

    @jax.jit
    def step(table, where, bias):
        picked = jnp.take(table, where)  # planted
        return jnp.tanh(picked).sum() + bias  # planted

    bias = jnp.float32(0)
    for _ in range(15):
        bias = step(table, where, bias).block_until_ready()


@planted("random_numbers")
def threefry_noise():
    """Noise for every pixel, from a counter-based generator."""
    image, key = draw(1024, 1024), jax.random.key(0)

    @jax.jit
    def step(image, key):
        noise = jax.random.normal(key, image.shape)  # planted
        return 0.9 * image + 0.1 * noise

    for number in range(15):
        image = step(image, jax.random.fold_in(key, number)).block_until_ready()


@planted("recompute")
def checkpoint_everything():
    """Every block is computed a second time for its gradients."""
    weights, x = square_weights(384, 6), draw(512, 384)

    @jax.checkpoint
    def block(w, x):
        return jnp.tanh(jax.nn.relu(x @ w) @ w.T)

    def loss(weights, x):
        for w in weights:
            x = block(w, x)  # planted
        return jnp.mean(x * x)

    step = jax.jit(lambda weights, x: descend(loss, weights, x))
    for _ in range(15):
        weights, value = step(weights, x)
        value.block_until_ready()


@planted("layout_copy dominant_op slow_memory_op")
def image_transposes():
    """Channels change places before and after something cheap."""
    images = draw(32, 64, 64, 64)

    @jax.jit
    def step(images):
        last = jnp.transpose(images, (0, 2, 3, 1))  # planted
        shifted = jnp.roll(jax.lax.optimization_barrier(last), 1, axis=1)
        return jnp.transpose(jax.lax.optimization_barrier(shifted), (0, 3, 1, 2)) * 0.99  # planted

    for _ in range(15):
        images = step(images).block_until_ready()


@planted("optimizer")
def adam_of_a_wide_table():
    """Adam visits twelve million parameters for a batch that touches few."""
    table = {"table": draw(100_000, 120), "head": draw(120, 8)}
    zeros = jax.tree.map(jnp.zeros_like, table)
    rows = jnp.asarray(rng.integers(0, 100_000, 64))

    def loss(p, rows):
        return jnp.mean(jnp.tanh(p["table"][rows] @ p["head"]) ** 2)

    @jax.jit
    def train_step(p, m, v, rows):
        g = jax.grad(loss)(p, rows)
        with jax.named_scope("adam"):
            m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)  # planted
            v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)  # planted
            p = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, m, v)  # planted
        return p, m, v

    p, m, v = table, zeros, zeros
    for _ in range(15):
        p, m, v = jax.block_until_ready(train_step(p, m, v, rows))


@planted("host_callback", quick=True)
def python_metric():
    """A metric is computed by numpy in the middle of the step."""
    w, x = draw(256, 256), draw(512, 256)

    def slow_metric(a):
        time.sleep(0.02)
        return np.float32(np.percentile(a, 99))

    def loss(w, x):
        y = jnp.tanh(x @ w)
        spread = jax.pure_callback(  # planted
            slow_metric, jax.ShapeDtypeStruct((), np.float32), jax.lax.stop_gradient(y)
        )
        return jnp.mean(y * y) / (1 + spread)

    step = jax.jit(lambda w, x: descend(loss, w, x))
    for _ in range(15):
        w, value = step(w, x)
        value.block_until_ready()


@planted("loop_overhead while_overhead small_kernels dominant_op")
def tiny_scan():
    """A recurrence over 2,000 time steps of 8 numbers each."""
    w, x = draw(8, 8), draw(2000, 8)

    @jax.jit
    def step(w, x):
        def cell(state, now):
            state = jnp.tanh(state @ w + now)
            return state, state.sum()

        _, out = jax.lax.scan(cell, jnp.zeros(8), x)  # planted
        return w * 0.999 + out.mean() * 1e-3

    for _ in range(15):
        w = step(w, x).block_until_ready()


@planted("scan_stack")
def scan_that_keeps_all():
    """A scan writes every state into a stack for the gradients."""
    w, x = draw(4, 4), draw(128, 4)

    def loss(w, x):
        def cell(state, now):
            return jnp.sin(state + now.sum() + w.sum()), None

        state, _ = jax.lax.scan(cell, jnp.ones((512, 512)), x)  # planted
        return state.mean()

    step = jax.jit(lambda w, x: descend(loss, w, x))
    for _ in range(12):
        w, value = step(w, x)
        value.block_until_ready()


@planted("dominant_op slow_memory_op gemm_bad_dims attention_unfused")
def one_hot_lookup():
    """An embedding by a product with one-hot rows."""
    table, tokens = draw(8000, 128), jnp.asarray(rng.integers(0, 8000, 1024))

    def loss(table, tokens):
        rows = jax.nn.one_hot(tokens, 8000) @ table  # planted
        return jnp.mean(jnp.tanh(rows) ** 2)

    step = jax.jit(lambda table, tokens: descend(loss, table, tokens))
    for _ in range(15):
        table, value = step(table, tokens)
        value.block_until_ready()


@planted("attention_unfused dominant_op")
def long_attention():
    """Scores of 1,024 by 1,024 for each of four heads, written out."""
    q = draw(4, 1024, 16, scale=1.0)

    @jax.jit
    def step(q):
        with jax.named_scope("attention"):
            scores = jnp.einsum("hqd,hkd->hqk", q, q) / 4  # planted
            weights = jax.nn.softmax(scores)  # planted
            return jnp.einsum("hqk,hkd->hqd", weights, q)  # planted

    for _ in range(15):
        q = step(q).block_until_ready()


@planted("dominant_op slow_memory_op")
def running_sum():
    """A running sum over a long axis, for each of many rows."""
    x = draw(64, 65_536)

    @jax.jit
    def step(x):
        total = jnp.cumsum(x, axis=1)  # planted
        return x * 0.999 + total[:, -1:] * 1e-6  # planted

    for _ in range(12):
        x = step(x).block_until_ready()


@planted("odd_layer dominant_op")
def one_heavy_layer():
    """Five of six layers are equal; one has eight times their width."""
    widths = [128, 128, 128, 2048, 128, 128]
    weights = [(draw(128, width), draw(width, 128)) for width in widths]
    x = draw(512, 128)

    def loss(weights, x):
        for number, (up, down) in enumerate(weights):
            with jax.named_scope(f"layer_{number}"):
                x = x + jax.nn.relu(x @ up) @ down  # planted
        return jnp.mean(x * x)

    step = jax.jit(lambda weights, x: descend(loss, weights, x))
    for _ in range(15):
        weights, value = step(weights, x)
        value.block_until_ready()


@planted("slow_custom_call")
def triangular_solve():
    """A direct solver inside the step takes nearly all of it."""
    matrix = jnp.asarray(np.eye(512, dtype=np.float32) * 4) + draw(512, 512)

    @jax.jit
    def step(matrix, right):
        factor = jnp.linalg.cholesky(matrix @ matrix.T)  # planted
        return jax.scipy.linalg.cho_solve((factor, True), right)  # planted

    right = draw(512, 256)
    for _ in range(12):
        right = step(matrix, right).block_until_ready()


# --- what the host does between steps ---------------------------------------------------------


@planted("input_bound host_gap", quick=True)
def slow_loader():
    """Python makes each batch while nothing runs."""
    weights = square_weights(256, 3)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x))
    for _ in range(15):
        batch = np.sort(np.random.default_rng(1).standard_normal((1500, 256)), axis=0)
        weights, value = step(weights, batch[:256].astype(np.float32))
        value.block_until_ready()


@planted("input_bound", quick=True)
def loader_with_a_name():
    """The same work in pure Python, with the name of the loader."""
    weights = square_weights(256, 3)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x))
    batch = np.ones((256, 256), np.float32)
    for _ in range(15):
        with jax.profiler.TraceAnnotation("next_batch"):
            time.sleep(0.04)
        weights, value = step(weights, batch)
        value.block_until_ready()


@planted("recompile", quick=True)
def ragged_batches():
    """Each batch has another length, and each length is another program."""
    weights = square_weights(128, 2)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x))
    for number in range(12):
        weights, value = step(weights, draw(100 + number, 128))
        value.block_until_ready()


@planted("eager_ops eager_programs host_gap")
def eager_metrics():
    """Fifteen small operations per step outside of jit."""
    weights, x = square_weights(64, 2), draw(64, 64)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x))
    average = jnp.float32(0)
    for _ in range(25):
        weights, value = step(weights, x)
        for _ in range(5):
            average = jnp.sqrt(average * 0.9 + value * 0.1 + 1e-6)
        average.block_until_ready()


@planted("pauses")
def checkpoints_now_and_then():
    """Every fifth step waits until the weights have been written."""
    weights, x = square_weights(384, 3), draw(384, 384)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x))
    for number in range(25):
        weights, value = step(weights, x)
        value.block_until_ready()
        if number % 5 == 4:
            time.sleep(0.15)


@planted("eager_programs eager_ops host_gap too_few_calls")
def no_jit_at_all():
    """A model whose author forgot jax.jit."""
    weights, x = [draw(64, 64) for _ in range(3)], draw(64, 64)
    for _ in range(12):
        y = x
        for w in weights:
            y = jnp.tanh(y @ w + 0.1) * 0.5 + y
        jnp.mean(y * y).block_until_ready()


# --- clean ------------------------------------------------------------------------------------


@clean
def wide_products():
    """Products large enough for nothing else to matter."""
    weights, x = square_weights(768, 4), draw(768, 768)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x))
    for _ in range(15):
        weights, value = step(weights, x)
    value.block_until_ready()


@clean(quick=True)
def power_iteration():
    """One product after another, no training."""
    a, v = draw(1024, 1024, scale=0.02), draw(1024, 1024)

    @jax.jit
    def step(a, v):
        for _ in range(3):
            v = a @ v
        return v / jnp.linalg.norm(v)

    for _ in range(15):
        v = step(a, v)
    v.block_until_ready()


@clean
def steps_in_a_scan():
    """Ten steps of training in one call."""
    weights, batches = square_weights(512, 3), draw(10, 512, 512)

    @jax.jit
    def ten_steps(weights, batches):
        return jax.lax.scan(lambda w, x: descend(mlp_loss, w, x), weights, batches)

    for _ in range(10):
        weights, values = ten_steps(weights, batches)
    values.block_until_ready()


@clean
def evaluation_only():
    """Inference, batch after batch."""
    weights, x = square_weights(1024, 3), draw(768, 1024)
    forward = jax.jit(lambda weights, x: mlp_loss(weights, x))
    values = [forward(weights, x) for _ in range(20)]
    values[-1].block_until_ready()


@clean
def residual_mixer():
    """Residual blocks of two products, donated state.

    XLA copies weights that are read after their memory was reused for the new ones. With this many rows
    the copy is less than 1 % of the step."""
    weights = [(draw(512, 1024), draw(1024, 512)) for _ in range(3)]
    x = draw(2048, 512)

    def loss(weights, x):
        for number, (up, down) in enumerate(weights):
            with jax.named_scope(f"block_{number}"):
                x = x + jax.nn.relu(x @ up) @ down
        return jnp.mean(x * x)

    step = jax.jit(lambda weights, x: descend(loss, weights, x), donate_argnums=0)
    for _ in range(15):
        weights, value = step(weights, x)
    value.block_until_ready()


@clean
def two_lengths_compiled_once():
    """Two shapes in turn, both compiled before the loop's third step."""
    weights, short, long = square_weights(768, 3), draw(512, 768), draw(640, 768)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x))
    for number in range(16):
        weights, value = step(weights, short if number % 2 else long)
    value.block_until_ready()


if __name__ == "__main__":
    run_one()
