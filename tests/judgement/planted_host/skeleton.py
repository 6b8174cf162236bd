# SPDX-License-Identifier: Apache-2.0
"""The text of a training program around a host cause."""

import re

from planted.source import Sources, block, joined

ACTIVATIONS = ("jnp.tanh", "jax.nn.relu", "jax.nn.gelu", "jax.nn.silu")
TITLES = ("Trains a small regression model.", "A small network and its training loop.",
          "Fits a network to generated data.", "Training run of a small model.")
DECOYS = (
    """
    def <fn_decoy{n}>(step):
        rate = <C_RATE{n}> * (1.0 + math.cos(math.pi * step / STEPS)) / 2
        return max(rate, 1e-5)
    """,
    """
    def <fn_decoy{n}>(step):
        order = list(range(16))
        random.Random(step).shuffle(order)
        return order[0] % 4 / 1000.0
    """,
    """
    def <fn_decoy{n}>(step):
        window = np.hanning(32) * (step + 1)
        return float(window.mean()) * 1e-6
    """,
)
DEFINED = re.compile(r"^(?:def |class )?(<(?:fn|v|C|cls)\w*>)(?:\(| = |:)", re.M)
PACKAGES = ("PIL", "pandas", "grain", "tensorflow")
DECOY_RATES = "0.05 0.02 0.1 0.01".split()


def decoys(rng, names):
    """Functions that run in each step and cost nearly nothing."""
    texts, calls = [], []
    for number, text in enumerate(rng.sample(DECOYS, rng.randint(1, 3))):
        if "<C_RATE" in text:
            names.given[f"C_RATE{number}"] = rng.choice(DECOY_RATES)
        texts.append(block(text.replace("{n}", str(number))))
        calls.append(f"<v_rate> += <fn_decoy{number}>(step)")
    return texts, calls


def model_text(rng, batch):
    """Model, loss and training step, and the constants that they need."""
    width, layers = rng.choice((96, 128, 160, 192, 256)), rng.randint(2, 4)
    constants = f"BATCH = {batch}\nWIDTH = {width}\nLAYERS = {layers}"
    momentum = rng.random() < 0.5
    update = ("jax.tree.map(lambda p, g: p - 0.001 * g, params, grads)" if not momentum else
              "jax.tree.map(lambda p, g: p - 0.001 * jnp.sign(g) * jnp.minimum(jnp.abs(g), 1.0), params, grads)")
    text = f"""
    def <fn_init>(seed):
        keys = jax.random.split(jax.random.key(seed), LAYERS)
        return [jax.random.normal(k, (WIDTH, WIDTH)) / WIDTH**0.5 for k in keys]


    def <fn_model>(params, x, extra):
        h = x + extra
        for weights in params:
            h = {rng.choice(ACTIVATIONS)}(h @ weights){' + h' if rng.random() < 0.5 else ''}
        return h


    def <fn_loss>(params, x, y, extra):
        losses = jnp.mean((<fn_model>(params, x, extra) - y) ** 2, axis=1)
        return jnp.mean(losses), losses


    @jax.jit
    def <fn_step>(params, x, y, extra):  #@step_def
        (loss, losses), grads = jax.value_and_grad(<fn_loss>, has_aux=True)(params, x, y, extra)
        params = {update}
        return params, loss, losses
    """
    return constants, block(text)


def wrapper_text(rng):
    """A function or class through which the training loop calls the function of the cause."""
    if rng.random() < 0.5:
        return "def <fn_wrap>(*args):\n    return <fn>(*args)", "<fn_wrap>"
    return ("class <cls_wrap>:\n    def __init__(self):\n        self.calls = 0\n\n"
            "    def <fn_method>(self, *args):\n        self.calls += 1\n        return <fn>(*args)\n\n\n"
            "<v_wrapped> = <cls_wrap>()"), "<v_wrapped>.<fn_method>"


def loop_text(cause, calls, rng, control):
    """The training function."""
    call = cause.call
    if control:
        call = ""
    timed = block(f"start = time.perf_counter()\n{block(call)}\nspent += time.perf_counter() - start") if call else ""
    train = block("""
        params, loss, losses = <fn_step>(params, x, y, extra)  #@step_call
        jax.block_until_ready(loss)
    """)
    if cause.model == "shapes" and call:
        train = ""
    order = [timed, train] if cause.before else [train, timed]
    place = rng.randint(0, 1)
    order.insert(place, "\n".join(calls))
    body = "\n".join(part for part in order if part)
    cost = f"    spent = {cause.cost}\n" if cause.cost and not control else ""
    setup = block(cause.setup) if not control or cause.data else ""
    return f"""def <fn_main>():
    params = <fn_init>({rng.randint(0, 99)})
    x = jax.random.normal(jax.random.key(1), (BATCH, WIDTH))
    y = jnp.sin(x)
    extra = np.zeros(WIDTH, np.float32)
    <v_rate>, spent, begin = 0.0, 0.0, 0.0
{block(setup, 1)}
    for step in range(STEPS):
        if step == 1:
            begin, spent = time.perf_counter(), 0.0
{block(body, 2)}
    seconds = time.perf_counter() - begin
{cost}{block(cause.teardown if not control or cause.data else '', 1)}
    print(json.dumps({{"steps": STEPS - 1, "loop_s": seconds, "cause_s": spent, "rate": <v_rate>}}))
"""


def program(cause, rng, names, *, steps, work, batch, control=False):
    """(Sources, name of the file with the functions of the cause)."""
    names.given.update(WORK=work)
    in_module = rng.random() < 0.4 if cause.in_module is None else cause.in_module
    wrapped = rng.random() < 0.5 if cause.wrapped is None else cause.wrapped
    title, (decoy_texts, decoy_calls) = rng.choice(TITLES), decoys(rng, names)
    constants, model = model_text(rng, batch)
    wrapper = ""
    names.given["entry"] = "<fn>"
    if wrapped and cause.functions and "<entry>" in cause.call:
        wrapper, names.given["entry"] = wrapper_text(rng)
    loop = loop_text(cause, decoy_calls, rng, control)
    module_file = names["mod"] + ".py"
    before = rng.randint(0, len(decoy_texts))
    own = cause.functions if not in_module else ""
    functions = [*decoy_texts[:before], block(own), block(wrapper), *decoy_texts[before:], model]
    if rng.random() < 0.5:
        functions = [model, *functions[:-1]]
    standard = {"import json", "import math", "import random", "import time"}
    packages = {"import jax", "import jax.numpy as jnp", "import numpy as np"}
    extra_imports = set(block(cause.imports).splitlines())
    local = {line for line in extra_imports if "<mod" in line}
    if in_module and cause.functions:
        local.add("from <mod> import " + ", ".join(sorted(set(DEFINED.findall(block(cause.functions))))))
    third = {line for line in extra_imports - local if any(name in line for name in PACKAGES)}
    imports = [sorted(standard | (extra_imports - local - third)), sorted(packages | third), sorted(local)]
    main = joined(
        joined(f'"""{title}"""', *("\n".join(lines) for lines in imports), blank_lines=1),
        f"STEPS = {steps}\n{constants}",
        *functions, loop,
        joined('if __name__ == "__main__":', block(cause.prepare if not control or cause.data else "", 1),
               "    <fn_main>()", blank_lines=0))
    files = {"program.py": main}
    if in_module and cause.functions:
        module_imports = sorted(extra_imports - local - third | {"import math", "import random", "import time"})
        imports = joined("\n".join(module_imports), "\n".join(sorted(packages | third)), blank_lines=1)
        files[module_file] = joined(imports, block(cause.functions))
    for name, text in cause.files.items():
        files[names.fill(name)] = block(text)
    filled = {}
    for name, text in files.items():
        while "<entry>" in text:
            text = text.replace("<entry>", names["entry"])
        filled[name] = names.fill(text)
    return Sources(filled), "program.py" if own else module_file
