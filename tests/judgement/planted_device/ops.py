# SPDX-License-Identifier: Apache-2.0
"""Training steps in which one kind of op takes most of the time."""

from cause import Cause


def gemm(rng):
    size, count = rng.randint(500, 900), rng.randint(1, 3)
    product = rng.choice(("x @ w", "jnp.dot(x, w)", "jnp.einsum('ij,jk->ik', x, w)"))
    return Cause(words=("gemm", "matrix product"), x=f"uniform(({size}, {size}))", w=f"uniform(({size}, {size}))",
                 body=f"for _ in range({count}):\n    x = {product}  #@hot\nreturn x")


def elementwise(rng):
    functions = rng.sample(("jnp.sin", "jnp.tanh", "jnp.exp", "jnp.cos", "jnp.log1p", "jax.nn.sigmoid"), 4)
    lines = "\n".join(f"x = {function}(x * w)  #@hot" for function in functions)
    return Cause(words=("elementwise",), x=f"uniform(({rng.randint(2_000_000, 4_000_000)},))",
                 body=f"{lines}\nreturn x")


def reduction(rng):
    shape = rng.choice(("(3000, 4000)", "(8, 1500000)", "(9000000,)"))
    form = rng.choice(("jnp.sum(x * x)", "jnp.max(jnp.abs(x))", "jnp.mean(jnp.abs(x - w))"))
    return Cause(words=("reduction",), x=f"uniform({shape})", body=f"return {form}  #@hot")


def softmax(rng):
    heads, length = rng.randint(4, 8), rng.randint(700, 1000)
    form = rng.choice((
        "return jax.nn.softmax(x * w, axis=-1)  #@hot",
        "raised = jnp.exp(x - x.max(axis=-1, keepdims=True))  #@hot\n"
        "return raised / raised.sum(axis=-1, keepdims=True)  #@hot"))
    return Cause(words=("softmax", "reduction", "elementwise"), part=0.3, body=form,
                 x=f"uniform(({heads}, {length}, {length}))")


def sort(rng):
    form = rng.choice(("jnp.sort(x, axis=1)", "jnp.argsort(x, axis=1)", "-jnp.sort(-x, axis=1)"))
    return Cause(words=("sort",), x=f"uniform(({rng.randint(8, 15)}, {rng.randint(10_000, 20_000)}))", steps=20,
                 body=f"return {form}  #@hot")


def scatter(rng):
    size, count = rng.randint(10_000, 40_000), rng.randint(2_500_000, 4_000_000)
    form = rng.choice((f"jnp.zeros({size}).at[w].add(x)", f"jax.ops.segment_sum(x, w, num_segments={size})"))
    return Cause(words=("scatter",), x=f"uniform(({count},))", w=f"places({count}, {size})",
                 body=f"return {form}  #@hot")


def gather(rng):
    size, count = rng.randint(100_000, 200_000), rng.randint(200_000, 400_000)
    form = rng.choice(("x[w]", "jnp.take(x, w, axis=0)"))
    return Cause(words=("gather",), x=f"uniform(({size}, 16))", w=f"places({count}, {size})",
                 body=f"return {form}  #@hot")


def convolution(rng):
    channels = rng.choice((16, 32, 48))
    return Cause(words=("convolution",), x=f"uniform(({rng.randint(4, 8)}, 64, 64, {channels}))",
                 w=f"uniform((3, 3, {channels}, {2 * channels}))",
                 body='return jax.lax.conv_general_dilated(  #@hot\n    x, w, (1, 1), "SAME", '
                      'dimension_numbers=("NHWC", "HWIO", "NHWC"))  #@hot')


def scan(rng):
    count = rng.randint(40_000, 90_000)
    return Cause(words=("scan", "while", "loop", "control"), part=0.1, x="uniform((16,))", body=f"""
def <fn_body>(carry, index):
    carry = jnp.tanh(carry * w + index)  #@hot
    return carry, carry[0]  #@hot
return jax.lax.scan(<fn_body>, x, jnp.arange({count}, dtype=jnp.float32))[1]  #@hot""")


def cumulative_sum(rng):
    return Cause(words=("cumsum", "reduce.window", "reduction"), part=0.2,
                 x=f"uniform(({rng.randint(3000, 5000)}, {rng.randint(200, 500)}))",
                 body=f"return {rng.choice(('jnp.cumsum', 'jnp.cumprod'))}(x, axis=0)  #@hot")


def fourier(rng):
    form = rng.choice(("jnp.abs(jnp.fft.fft(x, axis=1))", "jnp.abs(jnp.fft.rfft2(x))"))
    return Cause(words=("fft",), x=f"uniform(({rng.randint(200, 400)}, {rng.choice((4096, 8192, 6000))}))", part=0.4,
                 body=f"return {form}  #@hot")


def random_bits(rng):
    form = rng.choice(("normal", "uniform", "gumbel"))
    return Cause(words=("random",), x="jax.random.key(3)",
                 body=f"return jax.random.{form}(x, ({rng.randint(1_000_000, 3_000_000)},)) * w  #@hot")
