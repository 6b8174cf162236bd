# SPDX-License-Identifier: Apache-2.0
"""Small random models in JAX, and other texts of the same programs.

    RandomModel(seed).source()          a module with `step` and `arguments()`
    RandomModel(seed).source(rewrite=3) the same program: other names, order of functions, comments

The seed decides the layers, their sizes and the decorators. `rewrite` decides only the text: names of functions
and variables, the order of functions, comments, empty lines, docstrings, and calls over several lines.
"""

from __future__ import annotations

import random
import re
from typing import Dict, List, Tuple

from generator import WORDS

# Layers: arguments besides `{x}`, and the lines of a function. {x} has the shape ({B}, {D}), before and after.
# Each weight has its shape. `#` is the number of the layer, so that two layers share no name.
LAYERS: Dict[str, Tuple[Tuple[Tuple[str, str], ...], str]] = {
    "dense": (
        (("{w}", "({D}, {D})"),),
        """
    {h} = jnp.dot({x}, {w})
    return jax.nn.{act}({h})
""",
    ),
    "gated": (
        (("{up}", "({D}, 2 * {D})"), ("{down}", "({D}, {D})")),
        """
    {h}, {g} = jnp.split({x} @ {up}, 2, axis=-1)
    return {x} + ({h} * jax.nn.sigmoid({g})) @ {down}
""",
    ),
    "norm": (
        (("{scale}", "({D},)"),),
        """
    {mean} = {x}.mean(-1, keepdims=True)
    {var} = ((({x} - {mean}) ** 2).mean(-1, keepdims=True))
    return ({x} - {mean}) * jax.lax.rsqrt({var} + 1e-5) * {scale}
""",
    ),
    "wide_norm": (
        (("{scale}", "({D},)"),),
        """
    {h} = {x}.astype(jnp.float32)
    {h} = {h} * jax.lax.rsqrt(({h} ** 2).mean(-1, keepdims=True) + 1e-6)
    return {h}.astype({x}.dtype) * {scale}
""",
    ),
    "attention": (
        (("{wq}", "({D}, {D})"), ("{wk}", "({D}, {D})")),
        """
    {q} = ({x} @ {wq}).reshape({B}, {H}, -1)
    {k} = ({x} @ {wk}).reshape({B}, {H}, -1)
    {p} = jax.nn.softmax(jnp.einsum("bhd,bkd->bhk", {q}, {k}), axis=-1)
    return {x} + jnp.einsum("bhk,bkd->bhd", {p}, {q}).reshape({B}, {D})
""",
    ),
    "scan": (
        (("{w}", "({D}, {D})"),),
        """
    def {body}({carry}, {row}):
        {carry} = jnp.tanh({carry} + {row} @ {w})
        return {carry}, {carry}
    return jax.lax.scan({body}, jnp.zeros(({D},), {x}.dtype), {x})[1]
""",
    ),
    "loop": (
        (("{w}", "({D}, {D})"),),
        """
    return jax.lax.fori_loop(0, {N}, lambda {i}, {h}: jnp.sin({h} @ {w}), {x})
""",
    ),
    "branch": (
        (("{w}", "({D}, {D})"),),
        """
    return jax.lax.cond({x}[0, 0] > 0, lambda {h}: {h} @ {w}, lambda {h}: {h} * 2, {x})
""",
    ),
    "convolution": (
        (("{w}", "({K}, 1, 1)"),),
        """
    {h} = jax.lax.conv_general_dilated(
        {x}[..., None], {w}, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
    return {h}[..., 0]
""",
    ),
    "gather": (
        (("{table}", "({V}, {D})"),),
        """
    {ids} = jnp.argmax({x}, axis=-1) % {V}
    return {x} + {table}[{ids}]
""",
    ),
    "order": (
        (),
        """
    {h} = jnp.sort({x}, axis=-1)
    return {h} - jnp.cumsum({h}, axis=-1) / {D}
""",
    ),
    "update": (
        (("{w}", "({D},)"),),
        """
    {h} = jax.lax.dynamic_update_slice({x}, {w}[None], (1, 0))
    return jnp.where({h} > 0, {h}, 0.1 * {x})
""",
    ),
    "noise": (
        (),
        """
    {key} = jax.random.key({N})
    {keep} = jax.random.bernoulli({key}, 0.9, {x}.shape)
    return jnp.where({keep}, {x} / 0.9, 0)
""",
    ),
    "rows": (
        (("{w}", "({D}, {D})"),),
        """
    return jax.vmap(lambda {row}: jnp.linalg.norm({row}) * ({row} @ {w}))({x})
""",
    ),
    "turned": (
        (("{w}", "({B}, {B})"),),
        """
    return ({w} @ {x}).T.reshape({x}.shape)
""",
    ),
}
SIZES = {"B": (2, 3, 4, 6, 8), "D": (8, 12, 16, 24, 32), "H": (2, 4), "K": (3, 5), "N": (2, 3, 5), "V": (16, 40)}
ACTIVATIONS = ("gelu", "relu", "silu", "softplus", "tanh")
LAYER_DECORATORS = ("", "", "", "@jax.checkpoint\n", "@jax.jit\n")
STEP_DECORATORS = ("@jax.jit\n", "@functools.partial(jax.jit, donate_argnums=0)\n")


class RandomModel:
    """The program of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        chosen = random.Random(f"random model {seed}")
        self.sizes = {name: str(chosen.choice(sizes)) for name, sizes in SIZES.items()}
        self.dtype = chosen.choice(("float32", "float32", "bfloat16"))
        self.trains = chosen.random() < 0.7
        step = chosen.choice(STEP_DECORATORS)
        kinds = [chosen.choice(sorted(LAYERS)) for _ in range(chosen.randint(1, 3))]
        self.functions: List[str] = []
        self.weights: List[str] = []
        calls = []
        for number, kind in enumerate(kinds):
            weights, body = LAYERS[kind]
            names = [name for name, _ in weights]
            text = f"{chosen.choice(LAYER_DECORATORS)}def {{layer#}}({', '.join([*names, '{x}'])}):{body}"
            text = text.replace("{act}", chosen.choice(ACTIVATIONS))
            self.functions.append(self._numbered(text, number))
            given = [f"{{params}}[{len(self.weights) + index}]" for index in range(len(names))]
            self.weights += [shape for _, shape in weights]
            calls.append(self._numbered(f"    {{xs}} = {{layer#}}({', '.join([*given, '{xs}'])})\n", number))
        self.functions.append("def {loss}({params}, {xs}):\n" + "".join(calls) + "    return ({xs} ** 2).mean()\n")
        self.functions.append(step + self._step(chosen.random() < 0.5))

    @staticmethod
    def _numbered(text: str, number: int) -> str:
        """Names of this layer end with its number. Sizes are the model's."""
        return re.sub(
            r"\{([a-z]+)#?\}",
            lambda match: match.group() if match.group(1) in ("params", "xs") else f"{{{match.group(1)}{number}}}",
            text,
        )

    def _step(self, keeps_value: bool) -> str:
        if not self.trains:
            return "def step({params}, {xs}):\n    return {loss}({params}, {xs})\n"
        value = "{value}, " if keeps_value else ""
        return (
            "def step({params}, {xs}):\n"
            "    {value}, {grads} = jax.value_and_grad({loss})({params}, {xs})\n"
            f"    return {value}[{{p}} - 0.1 * {{g}} for {{p}}, {{g}} in zip({{params}}, {{grads}})]\n"
        )

    def source(self, rewrite: int = 0) -> str:
        """The module. Texts with different `rewrite` are the same program."""
        chosen = random.Random(f"rewrite {self.seed} {rewrite}")
        functions = list(self.functions)
        if rewrite:
            chosen.shuffle(functions)
        arguments = (
            f"def arguments():\n    {{shapes}} = [{', '.join(self.weights)}]\n"
            f"    return [jax.ShapeDtypeStruct({{s}}, jnp.{self.dtype}) for {{s}} in {{shapes}}], "
            f"jax.ShapeDtypeStruct(({{B}}, {{D}}), jnp.{self.dtype})\n"
        )
        text = "import functools\nimport jax\nimport jax.numpy as jnp\n\n" + "\n".join([*functions, arguments])
        names = sorted(set(re.findall(r"\{(\w+)\}", text)) - set(self.sizes))
        # The first text and each rewrite have names of their own. Two words make enough names.
        words = [f"{a}_{b}" for a in chosen.sample(WORDS, 12) for b in chosen.sample(WORDS, 12)]
        values = {**self.sizes, **dict(zip(names, chosen.sample(words, len(names))))}
        text = re.sub(r"\{(\w+)\}", lambda match: values[match.group(1)], text)
        return _other_layout(text, chosen) if rewrite else text


def _other_layout(text: str, chosen: random.Random) -> str:
    """The same statements with comments, empty lines, docstrings and calls over several lines."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        in_call = line.startswith("        ") and line.rstrip().endswith("))")
        if indent and line.strip() and not in_call:
            if chosen.random() < 0.25:
                lines.append(f"{indent}# {' '.join(chosen.sample(WORDS, 4))}")
            if chosen.random() < 0.15:
                lines += [""] * chosen.randint(1, 3)
        call = re.fullmatch(r"(    return jax\.nn\.\w+\()(\w+)\)", line)
        if call and chosen.random() < 0.5:
            lines += [call[1], f"        {call[2]}", "    )"]
        elif line and chosen.random() < 0.1:
            lines.append(f"{line}  # {chosen.choice(WORDS)}")
        else:
            lines.append(line)
        if re.fullmatch(r"def .*\):", line) and chosen.random() < 0.3:
            lines.append(f'    """{" ".join(chosen.sample(WORDS, 5)).capitalize()}."""')
    return "\n" * chosen.randrange(4) + "\n".join(lines) + "\n"


TESTS = '''
import importlib
import pytest

@pytest.mark.parametrize("name", {names!r})
def test_program(xlatrace, name):
    model = importlib.import_module(name)
    xlatrace.compile(model.step, *model.arguments()).same_as("main")
'''


def file_of_tests(names: List[str]) -> str:
    """A test file with one test for each module."""
    return TESTS.lstrip("\n").replace("{names!r}", repr(names))
