# SPDX-License-Identifier: Apache-2.0
"""Ten small models in JAX with three structural regressions each.

A model is text with placeholders for names ({step}) and sizes ({D}). A regression replaces parts of the
text. `test` is the test that must fail: `program` compares with a baseline, `run` limits recompilations
and reads by the host. `line` is a part of the line that the failure must name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Tuple


@dataclass(frozen=True)
class Regression:
    name: str
    test: str
    replace: Tuple[Tuple[str, str], ...]
    line: str


@dataclass(frozen=True)
class Model:
    name: str
    text: str
    regressions: Tuple[Regression, ...]


def one(name: str, test: str, old: str, new: str, line: str = "") -> Regression:
    """A regression in one place; the line is the first new one unless given."""
    return Regression(name, test, ((old, new),), line or new.strip().splitlines()[0].strip())


MODELS: List[Model] = []


def model(name: str, text: str, *regressions: Regression) -> None:
    MODELS.append(Model(name, text.lstrip("\n"), regressions))


model(
    "mlp",
    '''
import functools
import jax
import jax.numpy as jnp

def {layer}({w}, {x}):
    {h} = jnp.dot({x}, {w})
    {h} = {h} - {h}.mean(-1, keepdims=True)
    return jax.nn.gelu({h})

def {loss}({params}, {x}):
    for {w} in {params}:
        {x} = {layer}({w}, {x})
    return ({x} ** 2).mean()

@functools.partial(jax.jit, donate_argnums=0)
def {step}({params}, {x}):
    {grads} = jax.grad({loss})({params}, {x})
    return [{w} - 0.1 * {g} for {w}, {g} in zip({params}, {grads})]

def arguments():
    return [jnp.ones(({D}, {D}), jnp.bfloat16)] * {L}, jnp.ones(({B}, {D}), jnp.bfloat16)

def run():
    {params} = [jnp.ones(({D}, {D}), jnp.bfloat16) for _ in range({L})]
    for _ in range(3):
        {params} = {step}({params}, arguments()[1])
    return {params}

function = {step}
''',
    one(
        "lost donation",
        "program",
        "@functools.partial(jax.jit, donate_argnums=0)",
        "@jax.jit",
    ),
    one(
        "added upcast",
        "program",
        "    return jax.nn.gelu({h})",
        "    return jax.nn.gelu({h}.astype(jnp.float32)).astype({x}.dtype)",
    ),
    one(
        "host round trip in the program",
        "program",
        "    {grads} = jax.grad({loss})({params}, {x})\n",
        "    {grads} = jax.grad({loss})({params}, {x})\n"
        "    jax.debug.print('norm {{}}', {grads}[0][0, 0])\n",
        "jax.debug.print(",
    ),
)

model(
    "attention",
    '''
import jax
import jax.numpy as jnp
import numpy as np

{mask_of} = lambda n: jnp.tril(jnp.ones((n, n), bool))

def {attend}({q}, {k}, {v}, {mask}):
    {scores} = jnp.einsum("bqhd,bkhd->bhqk", {q}, {k})
    {scores} = jnp.where({mask}, {scores}, -1e9)
    {p} = jax.nn.softmax({scores}, axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", {p}, {v})

@jax.jit
def {step}({w}, {x}, {mask}):
    {qkv} = jnp.einsum("btd,dchk->cbthk", {x}, {w})
    {y} = {attend}({qkv}[0], {qkv}[1], {qkv}[2], {mask})
    return {y}.reshape({x}.shape)

def arguments():
    {x} = jnp.ones(({B}, {T}, {H} * {K}), jnp.bfloat16)
    return jnp.ones(({H} * {K}, 3, {H}, {K}), jnp.bfloat16), {x}, {mask_of}({T})

def run():
    {out} = []
    for _ in range(3):
        {out}.append({step}(*arguments()))
    return {out}

function = {step}
''',
    one(
        "softmax in float32",
        "program",
        "    {p} = jax.nn.softmax({scores}, axis=-1)",
        "    {p} = jax.nn.softmax({scores}.astype(jnp.float32), axis=-1).astype({v}.dtype)",
    ),
    one(
        "layout copy",
        "program",
        "    return {y}.reshape({x}.shape)",
        "    return {y}.transpose(0, 2, 1, 3).reshape({x}.shape)",
    ),
    Regression(
        "constant baked in",
        "program",
        (
            (
                "    {scores} = jnp.where({mask}, {scores}, -1e9)",
                "    {scores} = jnp.where(np.tril(np.ones(({T}, {T}), bool)), {scores}, -1e9)",
            ),
        ),
        "np.tril(np.ones(",
    ),
)

model(
    "rnn",
    '''
import jax
import jax.numpy as jnp

def {cell}({w}, {carry}, {x}):
    {carry} = jnp.tanh({carry} @ {w} + {x})
    return {carry}, {carry}.sum()

@jax.jit
def {step}({w}, {start}, {xs}):
    {end}, {sums} = jax.lax.scan(lambda c, x: {cell}({w}, c, x), {start}, {xs})
    return {end}, {sums}

def arguments():
    return jnp.ones(({D}, {D})), jnp.ones(({B}, {D})), jnp.ones(({T}, {B}, {D}))

def run():
    {state} = arguments()[1]
    for _ in range(3):
        {state}, _ = {step}(arguments()[0], {state}, arguments()[2])
    return {state}

function = {step}
''',
    one(
        "unrolled scan",
        "program",
        "    {end}, {sums} = jax.lax.scan(lambda c, x: {cell}({w}, c, x), {start}, {xs})\n"
        "    return {end}, {sums}\n",
        "    {sums} = []\n"
        "    for {x} in {xs}:\n"
        "        {start}, {s} = {cell}({w}, {start}, {x})\n"
        "        {sums}.append({s})\n"
        "    return {start}, jnp.stack({sums})\n",
        "{start}, {s} = {cell}({w}, {start}, {x})",
    ),
    one(
        "work that belongs outside of the loop",
        "program",
        "    {carry} = jnp.tanh({carry} @ {w} + {x})",
        "    {carry} = jnp.tanh({carry} @ jnp.linalg.matrix_power({w}, 2) + {x})",
    ),
    one(
        "result read in the training loop",
        "run",
        "        {state}, _ = {step}(arguments()[0], {state}, arguments()[2])\n",
        "        {state}, {last} = {step}(arguments()[0], {state}, arguments()[2])\n"
        "        print(float({last}[-1]))\n",
        "print(float({last}[-1]))",
    ),
)

model(
    "data_parallel",
    '''
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

{mesh} = Mesh(np.array(jax.devices()[:2]), ("data",))

def {loss}({w}, {x}):
    return (jnp.tanh({x} @ {w}) ** 2).mean()

@jax.jit
@functools.partial(jax.shard_map, mesh={mesh}, in_specs=(P(), P("data")), out_specs=P())
def {step}({w}, {x}):
    {value}, {g} = jax.value_and_grad({loss})({w}, {x})
    {g} = jax.lax.pmean({g}, "data")
    {value} = jax.lax.pmean({value}, "data")
    return {w} - 0.1 * {g}, {value}

def arguments():
    {x} = jax.device_put(jnp.ones(({B} * 2, {D})), NamedSharding({mesh}, P("data")))
    return jax.device_put(jnp.ones(({D}, {D})), NamedSharding({mesh}, P())), {x}

def run():
    {w}, {x} = arguments()
    for _ in range(3):
        {w}, {value} = {step}({w}, {x})
    return {w}

function = {step}
''',
    one(
        "extra all-gather",
        "program",
        "    {value}, {g} = jax.value_and_grad({loss})({w}, {x})\n",
        "    {x} = jax.lax.all_gather({x}, \"data\", tiled=True)\n"
        "    {value}, {g} = jax.value_and_grad({loss})({w}, {x})\n",
    ),
    one(
        "second all-reduce",
        "program",
        "    return {w} - 0.1 * {g}, {value}",
        "    return jax.lax.pmean({w} - 0.1 * {g}, \"data\"), {value}",
    ),
    one(
        "function made again in the loop",
        "run",
        "        {w}, {value} = {step}({w}, {x})\n",
        "        {w}, {value} = jax.jit(lambda *a: {step}(*a))({w}, {x})\n",
    ),
)

model(
    "remat",
    '''
import jax
import jax.numpy as jnp

@jax.checkpoint
def {block}({w}, {x}):
    {h} = jnp.sin({x} @ {w}["up"])
    return {x} + jnp.cos({h} @ {w}["down"])

def {loss}({params}, {x}):
    for {w} in {params}:
        {x} = {block}({w}, {x})
    return ({x} ** 2).sum()

@jax.jit
def {step}({params}, {x}):
    return jax.grad({loss})({params}, {x})

def arguments():
    {w} = dict(up=jnp.ones(({D}, 4 * {D})), down=jnp.ones((4 * {D}, {D})))
    return [{w}] * {L}, jnp.ones(({B}, {D}))

def run():
    {x} = arguments()[1]
    for _ in range(3):
        {out} = {step}(arguments()[0], {x})
    return {out}

function = {step}
''',
    one(
        "lost rematerialization",
        "program",
        "@jax.checkpoint\ndef {block}({w}, {x}):",
        "def {block}({w}, {x}):",
    ),
    one(
        "broken fusion",
        "program",
        "    {h} = jnp.sin({x} @ {w}[\"up\"])\n",
        "    {h} = jnp.sin({x} @ {w}[\"up\"])\n    {h} = {h}.at[0, 0].set(0.0)\n",
        "{h} = {h}.at[0, 0].set(0.0)",
    ),
    one(
        "another shape in each iteration",
        "run",
        "        {out} = {step}(arguments()[0], {x})",
        "        {out} = {step}(arguments()[0], {x}[_:])",
    ),
)

model(
    "convolution",
    '''
import jax
import jax.numpy as jnp

def {conv}({w}, {x}):
    return jax.lax.conv_general_dilated(
        {x}, {w}, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

@jax.jit
def {step}({params}, {x}):
    for {w} in {params}:
        {x} = {conv}({w}, {x})
        {x} = jax.nn.relu({x})
    return {x}.mean((1, 2))

def arguments():
    return [jnp.ones((3, 3, {C}, {C}))] * {L}, jnp.ones(({B}, {S}, {S}, {C}))

def run():
    {x} = arguments()[1]
    for _ in range(2):
        {out} = {step}(arguments()[0], {x})
    return {out}

function = {step}
''',
    one(
        "layout changed for each convolution",
        "program",
        "        {x} = {conv}({w}, {x})\n",
        "        {x} = {conv}({w}, {x}.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)\n",
    ),
    one(
        "convolution computed twice",
        "program",
        "        {x} = jax.nn.relu({x})",
        "        {x} = jax.nn.relu({x}) + {conv}({w} * 2, {x})",
    ),
    one(
        "lower resolution lost",
        "program",
        "    return {x}.mean((1, 2))",
        "    return jax.image.resize({x}, (*{x}.shape[:1], 2 * {S}, 2 * {S}, {C}), 'nearest').mean((1, 2))",
    ),
)

model(
    "embedding",
    '''
import jax
import jax.numpy as jnp

def {loss}({table}, {ids}, {labels}):
    {x} = {table}[{ids}]
    {logits} = {x} @ {table}.T
    {picked} = jnp.take_along_axis({logits}, {labels}[..., None], axis=-1)
    return (jax.nn.logsumexp({logits}, axis=-1) - {picked}[..., 0]).mean()

@jax.jit
def {step}({table}, {ids}, {labels}):
    return {table} - 0.1 * jax.grad({loss})({table}, {ids}, {labels})

def arguments():
    {ids} = jnp.zeros(({B}, {T}), jnp.int32)
    return jnp.ones(({V}, {D})), {ids}, {ids}

def run():
    {table}, {ids}, {labels} = arguments()
    for _ in range(3):
        {table} = {step}({table}, {ids}, {labels})
    return {table}

function = {step}
''',
    one(
        "gather as a product with one-hot rows",
        "program",
        "    {x} = {table}[{ids}]",
        "    {x} = jax.nn.one_hot({ids}, {V}) @ {table}",
    ),
    one(
        "labels as one-hot rows",
        "program",
        "    {picked} = jnp.take_along_axis({logits}, {labels}[..., None], axis=-1)",
        "    {picked} = ({logits} * jax.nn.one_hot({labels}, {V})).sum(-1, keepdims=True)",
    ),
    one(
        "batch made on the host and read back",
        "run",
        "        {table} = {step}({table}, {ids}, {labels})\n",
        "        {table} = {step}({table}, {ids}, {labels})\n        {last} = {table}.tolist()\n",
        "{last} = {table}.tolist()",
    ),
)

model(
    "adam",
    '''
import functools
import jax
import jax.numpy as jnp

def {moments}({m}, {v}, {g}):
    return 0.9 * {m} + 0.1 * {g}, 0.99 * {v} + 0.01 * {g} ** 2

def {update}({w}, {m}, {v}, {g}, {t}):
    {m}, {v} = {moments}({m}, {v}, {g})
    {scale} = jnp.sqrt(1 - 0.99 ** {t}) / (1 - 0.9 ** {t})
    return {w} - 0.01 * {scale} * {m} / (jnp.sqrt({v}) + 1e-8), {m}, {v}

{step} = jax.jit({update}, donate_argnums=(0, 1, 2))

def arguments():
    {w} = jnp.ones(({D}, {E}))
    return {w}, jnp.zeros_like({w}), jnp.zeros_like({w}), jnp.ones(({D}, {E})), jnp.float32(1)

def run():
    {w}, {m}, {v}, {g}, {t} = arguments()
    for _ in range(3):
        {w}, {m}, {v} = {step}({w}, {m}, {v}, {g}, {t})
    return {w}

function = {step}
''',
    one(
        "moments are not donated",
        "program",
        "{step} = jax.jit({update}, donate_argnums=(0, 1, 2))",
        "{step} = jax.jit({update}, donate_argnums=0)",
    ),
    one(
        "state kept in another layout",
        "program",
        "    return 0.9 * {m} + 0.1 * {g}, 0.99 * {v} + 0.01 * {g} ** 2",
        "    return 0.9 * {m} + 0.1 * {g}, (0.99 * {v}.T + 0.01 * {g}.T ** 2)[::-1].T",
    ),
    one(
        "step number is a static argument",
        "run",
        "        {w}, {m}, {v} = {step}({w}, {m}, {v}, {g}, {t})\n",
        "        {w}, {m}, {v} = jax.jit({update}, static_argnums=4)({w}, {m}, {v}, {g}, _ + 1)\n",
    ),
)

model(
    "decoder",
    '''
import functools
import jax
import jax.numpy as jnp

@functools.partial(jax.jit, donate_argnums=1)
def {step}({w}, {cache}, {x}, {at}):
    {k} = ({x} @ {w})[:, None]
    {cache} = jax.lax.dynamic_update_slice({cache}, {k}, (0, {at}, 0))
    {p} = jax.nn.softmax(jnp.einsum("bd,btd->bt", {x}, {cache}))
    return {cache}, jnp.einsum("bt,btd->bd", {p}, {cache})

def arguments():
    {cache} = jnp.zeros(({B}, {T}, {D}))
    return jnp.ones(({D}, {D})), {cache}, jnp.ones(({B}, {D})), jnp.int32(0)

def run():
    {w}, {cache}, {x}, {at} = arguments()
    for _ in range(3):
        {cache}, {x} = {step}({w}, {cache}, {x}, {at})
        {at} = {at} + 1
    return {x}

function = {step}
''',
    one(
        "cache written through a mask",
        "program",
        "    {cache} = jax.lax.dynamic_update_slice({cache}, {k}, (0, {at}, 0))",
        "    {cache} = jnp.where((jnp.arange({T}) == {at})[None, :, None], {k}, {cache})",
    ),
    one(
        "cache grows",
        "run",
        "        {at} = {at} + 1\n",
        "        {at} = {at} + 1\n        {cache} = jnp.pad({cache}, ((0, 0), (0, 1), (0, 0)))\n",
        "{cache}, {x} = {step}({w}, {cache}, {x}, {at})",
    ),
    one(
        "cache repeated for each query",
        "program",
        "    {p} = jax.nn.softmax(jnp.einsum(\"bd,btd->bt\", {x}, {cache}))",
        "    {p} = jax.nn.softmax((jnp.sort({cache}, axis=1) * {x}[:, None]).sum(-1))",
    ),
)

model(
    "evaluation",
    '''
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def {step}({w}, {x}, {y}):
    {logits} = jnp.tanh({x} @ {w}[0]) @ {w}[1]
    {right} = ({logits}.argmax(-1) == {y})
    return {right}.sum(), jax.nn.log_softmax({logits}).mean()

def arguments():
    {w} = jnp.ones(({D}, {E})), jnp.ones(({E}, {C}))
    return {w}, jnp.ones(({B}, {D})), jnp.zeros(({B},), jnp.int32)

def run():
    {total} = jnp.zeros((), jnp.int32)
    for _ in range(3):
        {count}, {value} = {step}(*arguments())
        {total} = {total} + {count}
    return {total}

function = {step}
''',
    one(
        "count read in the loop",
        "run",
        "        {total} = {total} + {count}\n",
        "        {total} = {total} + int(np.asarray({count}))\n",
    ),
    one(
        "sort for the best class",
        "program",
        "    {right} = ({logits}.argmax(-1) == {y})",
        "    {right} = (jnp.argsort({logits})[:, -1] == {y})",
    ),
    one(
        "weights baked in",
        "program",
        "    {logits} = jnp.tanh({x} @ {w}[0]) @ {w}[1]",
        "    {logits} = jnp.tanh({x} @ np.eye({D}, {E}, dtype=np.float32)) @ {w}[1]",
    ),
)
