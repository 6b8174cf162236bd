# SPDX-License-Identifier: Apache-2.0
"""The text of a JAX program around a compile cause."""

import re

from planted.source import Sources, block, joined

TITLES = ("Fits a small model.", "A training run with some reports.", "Evaluates and trains a small network.")
DEFINED = re.compile(r"^(?:def |class )?(<(?:fn|v|C|cls)\w*>)(?:\(| = |:)", re.M)
DECOYS = (
    """
    @jax.jit
    def <fn_decoy{n}>(values):
        return jnp.mean(jnp.abs(values)) + {n}.0
    """,
    """
    @jax.jit
    def <fn_decoy{n}>(values):
        ranked = jnp.cumsum(values * {n}.5)
        return ranked[-1] - ranked[0]
    """,
    """
    @functools.partial(jax.jit, static_argnames="power")
    def <fn_decoy{n}>(values, power=2):
        return jnp.sum(values**power)
    """,
)


def decoys(rng):
    """Functions that are compiled once and called often."""
    texts, calls = [], []
    for number, text in enumerate(rng.sample(DECOYS, rng.randint(1, 3))):
        texts.append(block(text.replace("{n}", str(number + 1))))
        calls.append(f"total += float(<fn_decoy{number + 1}>(features[0]))")
    return texts, calls


def model_text(rng):
    activation = rng.choice(("jnp.tanh", "jax.nn.relu", "jax.nn.gelu"))
    return block(f"""
    def <fn_loss>(params, x, y):
        hidden = {activation}(x @ params["first"])
        return jnp.mean((hidden @ params["second"] - y) ** 2)


    @jax.jit
    def <fn_step>(params, x, y):
        loss, grads = jax.value_and_grad(<fn_loss>)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), loss


    def <fn_steps>(params, features, count):
        losses = []
        for _ in range(count):
            params, loss = <fn_step>(params, features, jnp.sin(features))
            losses.append(float(loss))
        return params, losses
    """)


def main_text(cause, rng, calls, control):
    width = rng.choice((24, 32, 48, 64))
    parts = [f"params, losses = <fn_steps>(params, features, {rng.randint(3, 12)})", *calls]
    rng.shuffle(parts)
    parts.insert(rng.randint(0, len(parts)), "" if control else "seconds, count = <fn_run>(features)")
    parts.append(f"params, losses = <fn_steps>(params, features, {rng.randint(5, 20)})")
    return f"""def <fn_main>():
    params = {{"first": jnp.ones(({width}, {width})) * 0.01, "second": jnp.eye({width})}}
    features = jax.random.normal(jax.random.key({rng.randint(0, 99)}), ({rng.randint(16, 64)}, {width}))
    seconds, count, total = 0.0, 0, 0.0
{block(chr(10).join(part for part in parts if part), 1)}
    print(json.dumps({{"seconds": seconds, "count": count, "loss": losses[-1], "total": total}}))
"""


def run_text(cause):
    baseline = f" - len(fresh) * ({cause.baseline})" if cause.baseline else ""
    return f"""def <fn_run>(features):
    fresh, usual = [], []
{block(cause.body, 1)}
    return sum(fresh){baseline}, {cause.counts}
"""


def program(cause, rng, names, *, control=False):
    """Sources of the program."""
    in_module = rng.random() < 0.4 if cause.in_module is None else cause.in_module
    in_module = in_module and bool(cause.functions)
    title, (decoy_texts, calls) = rng.choice(TITLES), decoys(rng)
    functions = block(cause.functions)
    groups = [*decoy_texts, model_text(rng), "" if in_module else functions]
    rng.shuffle(groups)
    main = main_text(cause, rng, calls, control)
    extra = set(block(cause.imports).splitlines())
    local = {line for line in extra if "<mod" in line}
    if in_module:
        local.add("from <mod> import " + ", ".join(sorted(set(DEFINED.findall(functions)))))
    standard = sorted({"import functools", "import json", "import os", "import time"} | (extra - local))
    packages = ["import jax", "import jax.numpy as jnp", "import numpy as np"]
    head = joined(f'"""{title}"""', "\n".join(standard), block(cause.before_imports), "\n".join(packages),
                  "\n".join(sorted(local)), block(cause.after_imports), blank_lines=1)
    files = {"program.py": joined(head, *groups, run_text(cause), main,
                                  'if __name__ == "__main__":\n    <fn_main>()')}
    if in_module:
        files["<mod>.py"] = joined(joined("\n".join(standard), "\n".join(packages), blank_lines=1), functions)
    for name, text in cause.files.items():
        files[name] = block(text)
    return Sources({names.fill(name): names.fill(text) for name, text in files.items()})
