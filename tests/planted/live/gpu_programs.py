#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX programs for the fake GPU, one planted cause each, and clean ones: gpu_programs.py NAME.

XLA compiles them for a GPU and launches them; kernels take time and compute nothing. The mark of the
program defines the times. Products take `products` times the fake's 1.5 to 18 us (40). Kernels in `slow`
("NAME FACTOR; ...") take FACTOR times as long. Otherwise like cpu_programs.py."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from registry import clean, planted, run_one

rng = np.random.default_rng(0)


def draw(*shape, scale=0.05):
    values = rng.standard_normal(shape, np.float32) * scale
    return jax.device_put(values).block_until_ready()


def put(leaf):
    return jax.device_put(leaf).block_until_ready()


def square_weights(width, layers):
    return [draw(width, width) for _ in range(layers)]


def mlp_loss(weights, x):
    for w in weights:
        x = jax.nn.relu(x @ w)
    return jnp.mean(x * x)


def descend(loss, weights, *batch):
    value, slopes = jax.value_and_grad(loss)(weights, *batch)
    return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, slopes), value


# --- what the host does -----------------------------------------------------------------------


@planted("sync_each_step", quick=True)
def prints_the_loss():
    """Every step's loss is read before the next step is dispatched."""
    weights, x = square_weights(256, 4), draw(256, 256)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(25):
        weights, value = step(weights, x)
        float(value)
        time.sleep(0.001)


@planted("host_gap input_bound idle")
def reads_files_between_steps():
    """The host decodes a batch for five milliseconds, never waiting for the GPU."""
    weights, x = square_weights(256, 4), draw(256, 256)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(25):
        time.sleep(0.005)
        weights, value = step(weights, x)
    value.block_until_ready()


@planted("eager_ops eager_programs")
def statistics_outside_of_jit():
    """Ten small operations per step outside of jit."""
    weights, x = square_weights(256, 4), draw(256, 256)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    average = put(np.float32(0))
    for _ in range(25):
        weights, value = step(weights, x)
        for _ in range(3):
            average = jnp.sqrt(average * 0.9 + value * 0.1)
    average.block_until_ready()


@planted("recompile")
def lengths_as_they_come():
    """Each batch has another length."""
    weights = square_weights(128, 2)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x))
    for number in range(8):
        weights, value = step(weights, draw(64 + 8 * number, 128))
    value.block_until_ready()


@planted("launch_bound small_kernels", graphs=False, products=1)
def hundred_tiny_layers():
    """Sixty layers of 16 numbers each: all launches, no work."""
    weights, x = square_weights(16, 60), draw(16, 16)

    def loss(weights, x):
        for w in weights:
            x = x + jnp.tanh(x @ w)
        return jnp.mean(x * x)

    step = jax.jit(lambda weights, x: descend(loss, weights, x), donate_argnums=0)
    for _ in range(12):
        weights, value = step(weights, x)
    value.block_until_ready()


@planted("pauses")
def evaluation_pauses():
    """Every sixth step the host is away for a while."""
    weights, x = square_weights(256, 4), draw(256, 256)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for number in range(36):
        weights, value = step(weights, x)
        if number % 6 == 5:
            value.block_until_ready()
            time.sleep(0.03)


@planted("copy_bound runtime_copies copy_wait")
def large_batches_from_numpy():
    """A batch of 64 MB comes from the host in every step."""
    w = draw(256, 256)
    batch = rng.standard_normal((65_536, 256), np.float32)
    step = jax.jit(lambda w, x: w + 1e-6 * jnp.mean(x @ w), donate_argnums=0)
    for _ in range(12):
        w = step(w, put(batch))
    w.block_until_ready()


@planted("d2h_stall runtime_copies copy_wait")
def activations_are_saved():
    """64 MB of activations are fetched in every step."""
    w, x = draw(256, 256), draw(65_536, 256)
    step = jax.jit(lambda w, x: (w * 0.999, x @ w))
    for _ in range(12):
        w, seen = step(w, x)
        np.asarray(seen)


@planted("while_overhead", graphs=False, predicates=3)
def search_until_it_converges():
    """The host reads the loop's condition in each iteration."""
    a, v = draw(128, 128), draw(128, 1)

    @jax.jit
    def solve(a, v):
        def more(state):
            return jnp.abs(state[1]).sum() > 1e-6  # planted

        def once(state):
            v, r = state
            for _ in range(3):
                v = v + 0.1 * (r - a @ v)  # planted
            return v, r * 0.9  # planted

        return jax.lax.while_loop(more, once, (v, v))[0]  # planted

    for _ in range(400):
        v = solve(a, v)
    v.block_until_ready()


# --- what the step does -----------------------------------------------------------------------


@planted("sort_slow", slow="sort* 3")
def sorts_all_scores():
    """The step sorts every score of the batch."""
    w, x = draw(256, 256), draw(1024, 256)

    def loss(w, x):
        scores = (x @ w).reshape(-1)
        ranked = jnp.sort(scores)  # planted
        return jnp.mean(ranked * ranked[::-1])

    step = jax.jit(lambda w, x: descend(loss, w, x), donate_argnums=0)
    for _ in range(15):
        w, value = step(w, x)
    value.block_until_ready()


@planted("scatter_add", slow="input_scatter_fusion* 90", quick=True)
def sums_by_segment():
    """Messages are added to the nodes of a graph, one by one."""
    w, x = draw(256, 256), draw(4096, 256)
    nodes = put(rng.integers(0, 300, 4096).astype(np.int32))

    def forward(w, x, nodes):
        messages = x @ w
        return jax.ops.segment_sum(messages, nodes, num_segments=300)  # planted

    step = jax.jit(lambda w, x, nodes: (w * 0.999, forward(w, x, nodes).mean()), donate_argnums=0)
    for _ in range(15):
        w, value = step(w, x, nodes)
    value.block_until_ready()


@planted("random_numbers", slow="loop_compare_select_fusion* 60")
def dropout_everywhere():
    """Masks from threefry in each of four layers."""
    weights, x, key = square_weights(512, 4), draw(2048, 512), put(jax.random.key(0))

    def loss(weights, x, key):
        for number, w in enumerate(weights):
            mask = jax.random.bernoulli(jax.random.fold_in(key, number), 0.9, x.shape)  # planted
            x = jax.nn.relu(x @ w) * mask
        return jnp.mean(x * x)

    step = jax.jit(lambda weights, x, key: descend(loss, weights, x, key), donate_argnums=0)
    for _ in range(12):
        weights, value = step(weights, x, key)
    value.block_until_ready()


@planted("recompute")
def blocks_computed_twice():
    """jax.checkpoint around every block."""
    weights, x = square_weights(256, 6), draw(512, 256)

    @jax.checkpoint
    def block(w, x):
        return jnp.tanh(jax.nn.relu(x @ w) @ w.T)

    def loss(weights, x):
        for w in weights:
            x = block(w, x)  # planted
        return jnp.mean(x * x)

    step = jax.jit(lambda weights, x: descend(loss, weights, x), donate_argnums=0)
    for _ in range(12):
        weights, value = step(weights, x)
    value.block_until_ready()


@planted("exposed_collective low_busbw", devices=2, slow="all_reduce* 400; nccl* 400")
def gradients_over_a_slow_link():
    """Two devices wait for each other's gradients."""
    mesh = Mesh(np.array(jax.devices()), ("data",))
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    weights = [jax.device_put(w, whole).block_until_ready() for w in square_weights(256, 4)]
    x = jax.device_put(draw(256, 256), rows).block_until_ready()
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(12):
        weights, value = step(weights, x)
    value.block_until_ready()


@planted("layout_copy", slow="input_transpose* 60; wrapped_transpose* 60; loop_transpose* 60", quick=True)
def channels_change_places():
    """The result of a step gets a new layout."""
    w, x = draw(256, 256), draw(64, 256, 256)

    @jax.jit
    def step(w, x):
        return w * 0.999 + 1e-6 * (x @ w).mean(), jnp.transpose(x, (0, 2, 1))

    for _ in range(12):
        w, x = step(w, x)
    w.block_until_ready()


@planted("host_callback", graphs=False, platforms="cuda,cpu")
def logs_by_callback():
    """A callback into Python in the middle of every step."""
    weights, x = square_weights(128, 2), draw(128, 128)

    def log(value):
        time.sleep(0.002)

    def loss(weights, x):
        value = mlp_loss(weights, x)
        jax.debug.callback(log, value)  # planted
        return value

    step = jax.jit(lambda weights, x: descend(loss, weights, x))
    for _ in range(12):
        weights, value = step(weights, x)
    value.block_until_ready()


@planted("optimizer", products=1, slow="loop_add_subtract* 400")
def many_small_parameters():
    """Adam over many small arrays, each its own kernels."""
    weights, x = square_weights(32, 30), draw(32, 32)
    zeros = [put(np.zeros((32, 32), np.float32)) for _ in weights]
    others = [put(np.zeros((32, 32), np.float32)) for _ in weights]

    @jax.jit
    def train_step(p, m, v, x):
        g = jax.grad(mlp_loss)(p, x)
        with jax.named_scope("adam"):
            m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]  # planted
            v = [0.99 * a + 0.01 * b * b for a, b in zip(v, g)]  # planted
            p = [a - 1e-3 * b / (jnp.sqrt(c) + 1e-8) for a, b, c in zip(p, m, v)]  # planted
        return p, m, v

    p, m, v = weights, zeros, others
    for _ in range(12):
        p, m, v = train_step(p, m, v, x)
    jax.block_until_ready(p)


# --- clean ------------------------------------------------------------------------------------


@clean(products=400)
def queued_products():
    """The host is far ahead of products."""
    weights, x = square_weights(512, 8), draw(512, 512)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(30):
        weights, value = step(weights, x)
    value.block_until_ready()


@clean(products=400, quick=True)
def forward_only():
    """Inference, batch after batch, read at the end."""
    weights, x = square_weights(512, 16), draw(512, 512)
    forward = jax.jit(mlp_loss)
    values = [forward(weights, x) for _ in range(30)]
    values[-1].block_until_ready()


@clean(devices=2, products=400)
def two_devices_in_step():
    """Gradients are summed quickly."""
    mesh = Mesh(np.array(jax.devices()), ("data",))
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    weights = [jax.device_put(w, whole).block_until_ready() for w in square_weights(256, 16)]
    x = jax.device_put(draw(256, 256), rows).block_until_ready()
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(20):
        weights, value = step(weights, x)
    value.block_until_ready()


@clean(products=400)
def scanned_layers():
    """A scan over layers of products."""
    stack, x = draw(8, 512, 512), draw(512, 512)

    def loss(stack, x):
        x, _ = jax.lax.scan(lambda x, w: (jax.nn.relu(x @ w), None), x, stack)
        return jnp.mean(x * x)

    step = jax.jit(lambda stack, x: descend(loss, stack, x), donate_argnums=0)
    for _ in range(20):
        stack, value = step(stack, x)
    value.block_until_ready()


@clean(products=400)
def reads_the_loss_rarely():
    """The loss is read every 25 steps."""
    weights, x = square_weights(512, 8), draw(512, 512)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for number in range(50):
        weights, value = step(weights, x)
        if number % 25 == 24:
            float(value)


@clean(graphs=False, products=400)
def without_graphs():
    """Every kernel launched by itself, and the queue is full nevertheless."""
    weights, x = square_weights(512, 8), draw(512, 512)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(30):
        weights, value = step(weights, x)
    value.block_until_ready()


if __name__ == "__main__":
    run_one()
