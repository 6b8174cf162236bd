# SPDX-License-Identifier: Apache-2.0
"""Programs with random call stacks, and the user's line of each op by an own, independent rule.

The generator chooses the folder of each frame, so it has the owner of each frame without reading the path. Projects have names of frameworks, and packages lie in all kinds of package folders.
"""

import random

FRAMEWORKS = ("flax/linen/linear", "flax/nnx/nn/linear", "haiku/_src/basic", "keras/src/layers/core/dense",
              "equinox/nn/_linear", "optax/_src/transform", "jax/_src/numpy/lax_numpy", "torch/nn/modules/linear")
PACKAGES = ("mylib", "maxtext", "jaxmodels", "kerasx")
PROJECTS = ("keras", "torch", "jax", "flax", "tensorflow", "optax", "haiku", "site-packages-test", "lib", "src")
OWN, PACKAGE, MACHINERY = range(3)


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        pick = self.random.choice
        version = f"python3.{self.random.randrange(9, 15)}"
        self.packages = pick((f"/home/{pick(PROJECTS)}/.venv/lib/{version}/site-packages/",
                              f"/usr/lib/{version}/dist-packages/", "/usr/lib/python3/dist-packages/",
                              f"/opt/conda/envs/{pick(PROJECTS)}/lib/{version}/site-packages/"))
        # A framework may be installed from a checkout.
        self.flax = pick((self.packages, "/opt/flax/", f"/home/me/{pick(PROJECTS)}/third_party/"))
        self.project = pick(("/home/me/", "/data/", "/root/src/", "")) + pick(PROJECTS) + "/"
        self.library = f"/usr/lib/{version}/"

    def word(self):
        return "".join(self.random.choice("abcdefgh") for _ in range(5))

    def file(self, kind):
        pick = self.random.choice
        if kind == OWN:
            folder = pick(("", "", pick(PROJECTS) + "/", "nn/", "models/"))
            return self.project + folder + pick(("train", "model", "main", self.word())) + ".py"
        if kind == PACKAGE:
            return f"{self.packages}{pick(PACKAGES)}/{self.word()}.py"
        if self.random.random() < 0.2:
            return self.library + pick(("runpy.py", "functools.py", "asyncio/events.py"))
        framework = pick(FRAMEWORKS)
        return (self.flax if framework.startswith("flax") else self.packages) + framework + ".py"

    def stack(self):
        """[(file, line, function, kind)], innermost first; no frame comes twice."""
        weights = self.random.choice(((3, 1, 3), (1, 3, 3), (0, 2, 3), (0, 0, 1)))
        frames = []
        for _ in range(self.random.randrange(1, 9)):
            kind = self.random.choices((OWN, PACKAGE, MACHINERY), weights)[0]
            frames.append((self.file(kind), self.random.randrange(1, 900), self.word(), kind))
        return frames


def users_frame(stack):
    for frame in stack:
        if frame[3] == OWN:
            return frame
    packages = [frame for frame in stack if frame[3] == PACKAGE]
    return packages[-1] if packages else stack[0]


def case(seed, ops):
    generator = Generator(seed)
    stacks = [generator.stack() for _ in range(ops)]
    times = [generator.random.randrange(1, 400) for _ in range(ops)]
    text = [f"# Seed {seed}: the user's line of {ops} random call stacks.", "", "program jit_step",
            "  x = f32[64,64]{1,0} parameter(0)"]
    for k, stack in enumerate(stacks):
        frames = " < ".join(f"{file}:{line} {function}" for file, line, function, _ in stack)
        root = "ROOT " if k + 1 == ops else ""
        text.append(f"  {root}i{k} = f32[64,64]{{1,0}} sine({f'i{k - 1}' if k else 'x'})  @jit(step)/sin {frames}")
    text += ["", "run", "  device H100", "  execute jit_step x 3"]
    text += [f"    i{k} {ns} us" for k, ns in enumerate(times)]
    text += ["", "rows from instruction where opcode != 'parameter' order by cast(substr(instruction, 2) as int)",
             "  source_file | source_line | library_file | library_line | source_is_library"]
    inclusive, own = {}, {}
    for ns, stack in zip(times, stacks):
        file, line, function, kind = user = users_frame(stack)
        library = f"{stack[0][0]} | {stack[0][1]}" if user is not stack[0] else "- | -"
        text.append(f"  {file} | {line} | {library} | {int(kind != OWN)}")
        own[file, line] = own.get((file, line), 0) + 3 * ns
        for place in {frame[:2] for frame in stack}:
            inclusive[place] = inclusive.get(place, 0) + 3 * ns
    text += ["", "rows from source_time order by file, line", "  file | line | self_ns | inclusive_ns"]
    text += [f"  {file} | {line} | {own.get((file, line), 0)} us | {ns} us"
             for (file, line), ns in sorted(inclusive.items())]
    return "\n".join(text) + "\n"
