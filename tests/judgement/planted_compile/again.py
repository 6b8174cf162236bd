# SPDX-License-Identifier: Apache-2.0
"""Causes that compile a function again: something in the signature, the function or the configuration differs."""

from cause import Cause
from planted.source import block
from signatures import MEDIAN, body, signature, timed, work_text


def _jitted(rng, made, decorator="@jax.jit"):
    return f"{work_text(rng)}\n\n{decorator}\ndef <fn>({made.parameters}):{body(made)}\n"


def _varied(rng, words, leaf, count, fresh, *, before="", made=None, functions=None, **more):
    """Calls with a leaf that differs. `fresh` is the condition for a new compilation after the first one."""
    made = made or signature(rng)
    calls = timed(f"<fn>({made.call})", fresh)
    text = f"""
other = np.ones({rng.randint(3, 40)}, np.float32)
{block(before)}
for number in range({count}):
    leaf = {leaf}
{block(calls, 1)}
fresh.pop(0)
"""
    return Cause(words=words, functions=functions or _jitted(rng, made), body=text, argument=made.path,
                 baseline=MEDIAN, **more)


def shape(rng):
    every, base = rng.randint(1, 3), rng.randint(5, 60)
    kind = rng.choice(("({n},)", "({n}, 3)", "(2, {n})")).format(n=f"{base} + number // {every}")
    return _varied(rng, ("shape\\w*",), f"np.ones({kind}, np.float32)", every * rng.randint(4, 7),
                   f"number % {every} == 0")


def dtype(rng):
    kinds = rng.sample(("np.float32", "np.float16", "np.int32", "np.int8", "jnp.bfloat16", "np.uint8"),
                       rng.randint(3, 5))
    size, count = rng.randint(5, 60), len(kinds)
    return _varied(rng, ("dtype\\w*",), f"np.ones({size}, ({', '.join(kinds)})[number % {count}])",
                   count * rng.randint(2, 4), f"number < {count}")


def weak_type(rng):
    strong_first = rng.random() < 0.5
    pair = ["jnp.float32(number + 0.5)", "jnp.asarray(number + 0.5)"]
    first, second = pair if strong_first else pair[::-1]
    change = rng.randint(1, 3)
    return _varied(rng, ("weak\\w*",), f"{first} if number < {change} else {second}", change + rng.randint(2, 5),
                   f"number in (0, {change})")


def python_scalar(rng):
    kinds = rng.choice((("number", "number + 0.5"), ("number + 0.5", "number"), ("number", "number > 2", "0.5")))
    count = len(kinds)
    return _varied(rng, ("dtype\\w*", "weak\\w*", "scalar", "Python (int|float|bool)", "types?"),
                   f"({', '.join(kinds)})[number % {count}]", count * rng.randint(2, 4), f"number < {count}")


def static_argument(rng):
    made = signature(rng, "other")
    name = rng.choice(("depth", "size", "mode", "power", "heads"))
    first, every = rng.randint(2, 50), rng.randint(1, 3)
    value = (f"({', '.join(repr(w) for w in ('mean', 'sum', 'last', 'first', 'max'))})[number // {every} % 5]"
             if name == "mode" else f"{first} + number // {every}")
    count = every * rng.randint(4, 5)
    use = "len(str({0}))".format(name)
    functions = (f"{work_text(rng)}\n\n@functools.partial(jax.jit, static_argnames=\"{name}\")\n"
                 f"def <fn>({made.parameters}, {name}):{body(made)} * {use}\n")
    calls = timed(f"<fn>({made.call}, {name}={value})", f"number % {every} == 0")
    return Cause(words=("static\\w*",), functions=functions, argument=name, baseline=MEDIAN, body=f"""
other = np.ones({rng.randint(3, 40)}, np.float32)
for number in range({count}):
{block(calls, 1)}
fresh.pop(0)
""")


def closure(rng):
    """A function with an equal name is made for each value of a variable of its closure."""
    made, name = signature(rng, "other"), rng.choice(("rate", "factor", "limit", "threshold", "margin"))
    return Cause(
        words=("closure", "captured?", "new function", "function object", "free variable"), argument=name,
        other_functions=("fn_make",), places=("fn_make", "call"),
        functions=f"""{work_text(rng)}

def <fn_make>({name}):
    @jax.jit
    def <fn>({made.parameters}):  #@definition
{block(body(made), 2)} * {name}

    return <fn>
""", body=f"""
other = np.ones({rng.randint(3, 40)}, np.float32)
for number in range({rng.randint(4, 6)}):
    compiled = <fn_make>(number * 0.25 + 1.0)
{block(timed(f"compiled({made.call})", "True"), 1)}
fresh.pop(0)
""")


def new_lambda(rng):
    made = signature(rng, "other")
    kind = rng.choice(("lambda", "def", "partial"))
    count = rng.randint(4, 6)
    setup = {
        "lambda": f"compiled = jax.jit(lambda {made.parameters}: <fn_sum>({made.parameters}))  #@definition",
        "def": f"def <fn_inner>({made.parameters}):  #@definition\n    return <fn_sum>({made.parameters})\n\n"
               "compiled = jax.jit(<fn_inner>)  #@definition",
        "partial": "compiled = jax.jit(functools.partial(lambda scale, *a: scale * <fn_sum>(*a), 2.0))  #@definition",
    }[kind]
    return Cause(
        words=("new (function|lambda|object)\\w*", "function object\\w*", "defined again", "different function"),
        function="fn_inner" if kind == "def" else "fn_run", other_functions=("<lambda>", "fn_run"),
        places=("call", "definition"),
        functions=f"{work_text(rng)}\n\ndef <fn_sum>({made.parameters}):{body(made)}\n", body=f"""
other = np.ones({rng.randint(3, 40)}, np.float32)
for number in range({count}):
{block(setup, 1)}
{block(timed(f"compiled({made.call})", "True"), 1)}
fresh.pop(0)
""")


def donation(rng):
    """The same function with other donated arguments: each has its own compilation."""
    made = signature(rng, "leaf")
    kinds = [f"jax.jit(<fn>, donate_argnames=\"{name}\")" for name in made.names[:2]]
    kinds.insert(rng.randint(0, 2), "jax.jit(<fn>)")
    calls = timed(f"compiled({made.call})", "number < 3")
    return Cause(
        words=("donat\\w*",), argument=made.names[0], other_arguments=(made.names[1],), baseline=MEDIAN,
        functions=f"{work_text(rng)}\n\ndef <fn>({made.parameters}):{body(made)}, {', '.join(made.names[:2])}\n",
        body=f"""
versions = [{", ".join(kinds)}]  #@definition
for number in range({rng.choice((3, 6, 9))}):
    compiled = versions[number % 3]
    leaf, other = jnp.ones({rng.randint(20, 60)}), np.ones({rng.randint(3, 20)}, np.float32)
{block(calls, 1)}
fresh.pop(0)
""", places=("fn", "call", "definition"))


def _devices(rng):
    return f"""
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count={rng.choice((4, 8))}"
"""


PLACEMENT = "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P"


def sharding(rng):
    kinds = ["P('rows', None)", "P(None, 'rows')", "P()"]
    rng.shuffle(kinds)
    size = 8 * rng.randint(2, 6)
    made = signature(rng)
    return _varied(
        rng, ("shard\\w*",), "jax.device_put(values, NamedSharding(mesh, specs[number % 3]))", 3 * rng.randint(2, 3),
        "number < 3", made=made, before_imports=_devices(rng), after_imports=PLACEMENT, before=f"""
        mesh = Mesh(np.array(jax.devices()), ("rows",))
        specs, values = [{", ".join(kinds)}], np.ones(({size}, {size}), np.float32)
        """)


def mesh(rng):
    kinds = ['Mesh(devices.reshape(2, -1), ("rows", "columns"))', 'Mesh(devices.reshape(-1, 2), ("rows", "columns"))',
             'Mesh(devices[::-1].reshape(-1, 1), ("rows", "columns"))', 'Mesh(devices.reshape(-1, 1), ("lines", "columns"))']
    rng.shuffle(kinds)
    size = 8 * rng.randint(2, 6)
    return _varied(
        rng, ("mesh\\w*",), "jax.device_put(values, NamedSharding(meshes[number % 3], P(meshes[number % 3].axis_names[0])))",
        3 * rng.randint(2, 3), "number < 3", before_imports=_devices(rng), after_imports=PLACEMENT, before=f"""
        devices = np.array(jax.devices())
        meshes, values = [{", ".join(kinds[:3])}], np.ones(({size}, 2), np.float32)
        """)


def global_flag(rng):
    """A setting of JAX changes between calls."""
    name, values = rng.choice((
        ("jax_default_matmul_precision", ("'float32'", "'bfloat16'", "'highest'")),
        ("jax_numpy_dtype_promotion", ("'standard'", "'strict'")),
        ("jax_debug_nans", ("False", "True")),
    )[:1])
    made = signature(rng, "other")
    calls = timed(f"<fn>({made.call})", f"number < {len(values)}")
    return Cause(
        words=("flags?", "settings?", "config\\w*", "option"), argument=name, baseline=MEDIAN,
        functions=_jitted(rng, made), places=("fn", "call", "definition"), body=f"""
other = np.ones({rng.randint(3, 40)}, np.float32)
for number in range({len(values) * rng.randint(2, 3)}):
    jax.config.update("{name}", ({", ".join(values)})[number % {len(values)}])  #@definition
{block(calls, 1)}
fresh.pop(0)
jax.config.update("{name}", None)
""")


def many_tiny(rng):
    """Operations outside of `jit`, on arrays with ever other shapes: many small compilations."""
    count = rng.randint(12, 22)
    form = rng.choice(("jnp.cumsum(values) * 2.0 + jnp.flip(values)", "jnp.outer(values, values).sum() + jnp.max(values)",
                       "jnp.sort(values)[::-1] / (1.0 + jnp.abs(values))"))
    return Cause(
        words=("small", "tiny", "eager", "outside", "many", "shapes?", "op by op", "\\d+ (compilations|programs|functions)"),
        places=("fn",), functions=f"""
def <fn>(length):
    values = jnp.arange(length, dtype=jnp.float32)
    return {form}
""", body=f"""
for number in range({count}):
    start = time.perf_counter()
    jax.block_until_ready(<fn>({rng.randint(3, 30)} + number))  #@call
    fresh.append(time.perf_counter() - start)
""")
