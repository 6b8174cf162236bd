# SPDX-License-Identifier: Apache-2.0
"""Causes that make one compilation, or the time before the first step, slow."""

from cause import Cause
from planted.source import block
from signatures import body, signature, timed, work_text


def _once(call):
    """One slow first call, and fast calls after it."""
    return f"""
for number in range(3):
{block(timed(call, "number == 0"), 1)}
"""


def baked_constant(rng):
    """XLA evaluates an operation on an array that the function captures."""
    size = rng.randint(20_000, 45_000)
    form = rng.choice(("jnp.cumsum(jnp.asarray(<C_TABLE>))", "jnp.sort(jnp.asarray(<C_TABLE>))",
                       "jnp.cumsum(jnp.asarray(<C_TABLE>) * 0.5)"))
    if "cumsum" in form:
        size *= 8
    return Cause(
        words=("constants?", "folding", "folded", "baked"), argument="C_TABLE", places=("fn", "call"), functions=f"""
<C_TABLE> = np.random.default_rng({rng.randint(0, 99)}).normal(size={size}).astype(np.float32)


@jax.jit
def <fn>(values):
    table = {form}  #@hot
    return jnp.sum(values) * table[{rng.randint(1, 99)}]
""", body=_once("<fn>(features)"), counts=f"{4 * size}")


def unrolled_loop(rng):
    count = rng.randint(36, 55)
    statement = rng.choice((
        "values = jnp.sin(values) * (number + 1.5) + jnp.roll(values, number + 1)",
        "values = jnp.where(values > number, jnp.cos(values), jnp.roll(values, number + 2) + number)",
    ))
    loop = rng.choice((f"for number in range({count}):  #@hot\n        {statement}  #@hot",
                       f"number = 0\n    while number < {count}:  #@hot\n        {statement}  #@hot\n        number += 1  #@hot"))
    return Cause(words=("unroll\\w*", "Python loops?"), places=("fn", "call"), functions=f"""
@jax.jit
def <fn>(values):
    {loop}
    return jnp.sum(values)
""", body=_once("<fn>(features[0])"), counts=str(count))


def large_scan(rng):
    count = rng.randint(36, 50)
    return Cause(
        words=("scan\\w*", "loop body", "while"), function="fn_body", other_functions=("fn",),
        places=("fn_body", "fn", "call"), functions=f"""
def <fn_body>(carry, element):
    for number in range({count}):
        carry = jnp.sin(carry) * (number + 1.5) + jnp.roll(carry, number + 1) * element
    return carry, jnp.sum(carry)


@jax.jit
def <fn>(values):
    last, sums = jax.lax.scan(<fn_body>, values, jnp.arange({rng.randint(4, 40)}, dtype=jnp.float32))  #@hot
    return jnp.sum(last) + jnp.sum(sums)
""", body=_once("<fn>(features[0])"), counts=str(count))


def slow_fusion(rng):
    """One line becomes one large fusion, whose code takes long to generate."""
    size = rng.randint(130, 180)
    form = rng.choice((
        f"jnp.concatenate([values[start:start + 3] for start in range({size})])",
        f"jnp.stack([values[start:start + 5].sum() * start for start in range({size // 2})])",
    ))
    return Cause(words=("fusion\\w*", "instruction", "unroll\\w*"), places=("fn", "call"), functions=f"""
@jax.jit
def <fn>(values):
    scaled = jnp.tanh(values) * 2.0
    parts = {form.replace("values", "scaled")}  #@hot
    return jnp.max(parts) + jnp.mean(scaled)
""", body=_once(f"<fn>(jnp.arange({size + 10}, dtype=jnp.float32))"))


def slow_tracing(rng):
    """Python computes for long while the function is traced, and little is compiled."""
    form = rng.choice((
        """
        best = {}
        for first in range(size):
            for second in range(size):
                best[first, second] = min(abs(first - second), best.get((first - 1, second), first))
        return sum(best.values()) / len(best)
        """, """
        found = [n for n in range(2, size) if all(n % d for d in range(2, int(n**0.5) + 1))]
        steps = 0
        for n in range(1, size * 8):
            while n > 1 and steps < 10**9:
                n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return len(found) / steps
        """))
    size = rng.randint(900, 1300) if "best" in form else rng.randint(2500, 4000)
    return Cause(
        words=("trac\\w*",), function="fn_slow", other_functions=("fn",), places=("fn_slow", "fn"), functions=f"""
def <fn_slow>(size):
{block(form, 1)}


@jax.jit
def <fn>(values):
    weight = <fn_slow>({size})
    return jnp.sum(values * weight)
""", body=_once("<fn>(features)"))


def slow_import(rng):
    """A module of the program computes or reads while it is imported."""
    form = rng.choice((
        "TABLE = {n: sum(int(c) for c in str(n * n)) for n in range(%d)}  #@hot" % rng.randint(500_000, 900_000),
        "TABLE = []\nfor n in range(%d):  #@hot\n    TABLE.append(repr(n) + str(n %% 7))  #@hot" % rng.randint(1_500_000, 2_500_000),
        "TABLE = []\ntime.sleep(%.2f)  #@hot" % rng.uniform(0.8, 2.0),
    ))
    return Cause(
        words=("import\\w*",), function="mod_slow", places=("call", "hot"), functions="", after_imports="""
start = time.perf_counter()
import <mod_slow>  #@call
<C_SECONDS> = time.perf_counter() - start
""", body="fresh.append(<C_SECONDS>)\nusual.append(len(<mod_slow>.TABLE))",
        files={"<mod_slow>.py": f"import time\n\n{form}\n"})


def slow_checkpoint_read(rng):
    megabytes = rng.randint(7, 14)
    write, read = rng.choice((
        ("np.savez_compressed('weights.npz', table=table)", "return np.load(path)['table']  #@hot"),
        ("gzip.open('weights.npz', 'wb', compresslevel=1).write(pickle.dumps(table.tolist()))",
         "with gzip.open(path, 'rb') as file:\n        return np.array(pickle.loads(file.read()), np.float32)  #@hot"),
    ))
    size = megabytes * 250_000 * (4 if "savez" in write else 1)
    return Cause(
        words=("checkpoint\\w*", "read\\w*", "load\\w*", "data", "host", "io"), places=("fn", "call"),
        imports="import gzip\nimport pickle", functions=f"""
def <fn>(path):
    {read}
""", body="""
start = time.perf_counter()
weights = <fn>("weights.npz")  #@call
fresh.append(time.perf_counter() - start)
usual.append(float(jnp.sum(weights[:100])))
""", data=f"""
import gzip
import pickle

import numpy as np

table = np.random.default_rng(1).integers(0, 1000, {size}).astype(np.float32)
{write}
""")


CACHE = """
jax.config.update("jax_compilation_cache_dir", {folder})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
"""


def _cached(rng, words, *, folder="os.path.abspath('cache')", settings="", **more):
    made = signature(rng, "other")
    return Cause(
        words=words, functions=f"{work_text(rng)}\n\n@jax.jit\ndef <fn>({made.parameters}):{body(made)}\n",
        after_imports=CACHE.format(folder=folder).strip() + "\n" + settings, body=f"""
other = np.ones({rng.randint(3, 40)}, np.float32)
{_once(f"<fn>({made.call})").strip()}
""", in_module=False, **more)


def cold_cache(rng):
    """The folder of the persistent cache is empty."""
    return _cached(rng, ("miss\\w*", "cold", "empty", "not in the cache"))


def warm_cache(rng):
    """An earlier run filled the persistent cache: nothing is compiled."""
    return _cached(rng, ("hits?", "warm", "from the (persistent )?cache"), earlier={})


def cache_key_path(rng):
    """The path of the source is part of the key, and the earlier run was in another folder."""
    return _cached(
        rng, ("path\\w*", "metadata", "source"), folder="os.environ['CACHE_FOLDER']", argument="metadata",
        other_arguments=("jax_compilation_cache_include_metadata_in_key", "path", "program.py"),
        settings='jax.config.update("jax_compilation_cache_include_metadata_in_key", True)\n',
        earlier={}, earlier_folder="earlier")


def cache_key_flag(rng):
    """The earlier run had another value of a flag that is part of the key."""
    flag, before, now = rng.choice((
        ("--xla_cpu_enable_fast_math", "false", "true"), ("--xla_cpu_enable_fast_min_max", "false", "true"),
        ("--xla_llvm_disable_expensive_passes", "false", "true")))
    text = f'os.environ["XLA_FLAGS"] = "{flag}={{}}"'
    return _cached(rng, ("flags?", "options?", "settings?"), before_imports=text.format(now), argument=flag.strip("-"),
                   earlier={text.format(now): text.format(before)})
