# SPDX-License-Identifier: Apache-2.0
"""A random job whose every nanosecond is known: several processes, devices, streams, and programs of one name.

`RandomJob(seed)` draws the job as statements of tests/cases/runner, which writes its recording. `works` has all work.
Each iteration runs `jit_step` once. Two other programs run now and then: one with the name and instructions of
`jit_step`, and `jit_eval`. Copies lie inside and outside of iterations. Ranges of numbers are such that steps agree.
"""

import dataclasses
import random
import sys

import support

sys.path.append(str(support.REPOSITORY / "tests/cases/runner"))
from case_file import parse_case  # noqa: E402
from gpu_recording import symbol_of, write_recording  # noqa: E402
from programs import read_program  # noqa: E402
from run_language import Reader, build_timeline  # noqa: E402

MAIN, SIDE, NETWORK = 1, 2, 3  # Streams.
GEMM, ELEMENTWISE, COLLECTIVE = "gemm", "elementwise_fusion", "collective"
SHAPES = ((1, 2), (2, 2), (1, 1), (3, 1))  # Processes, devices of each.
SUM = "add_f32 {\n    a = f32[] parameter(0)\n    b = f32[] parameter(1)\n    ROOT sum = f32[] add(a, b)\n  }"


@dataclasses.dataclass(frozen=True)
class Op:
    name: str
    kind: str
    phase: str
    layer: str
    line: int
    hlo: str
    elements: int
    stream: int = MAIN


@dataclasses.dataclass
class Work:
    """A kernel or a copy. Times are nanoseconds since the start of the job."""

    process: int
    device: int  # Ordinal.
    stream: int
    start: int
    end: int
    program: int = None  # Its id. None: outside of programs.
    execution: int = None
    execution_start: int = None
    op: Op = None
    direction: str = None  # Only a copy has one.
    bytes: int = 0
    kernel: str = None
    iteration: int = None

    @property
    def ns(self):
        return self.end - self.start


def ops_of(rng, group_size):
    """Forward, backward, optimizer; the last backward op is followed by an exchange of gradients."""
    n = 128 * rng.randint(1, 4)
    shape = f"f32[{n},{n}]{{1,0}}"
    layers = rng.randint(1, 3)
    ops = []

    def add(name, kind, phase, layer, path, expression, stream=MAIN):
        line = 10 + len(ops)
        hlo = f"{name} = {shape} {expression}  @{path} train.py:{line}"
        ops.append(Op(name, kind, phase, layer, line, hlo, n * n, stream))

    last = "x"
    for i in range(layers):
        layer = f"layer_{i}"
        add(f"dot.{i}", GEMM, "forward", layer, f"jit(step)/jvp(net)/{layer}/dot_general",
            f"dot({last}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
        add(f"sine.{i}", ELEMENTWISE, "forward", layer, f"jit(step)/jvp(net)/{layer}/sin", f"sine(dot.{i})")
        last = f"sine.{i}"
    for i in reversed(range(layers)):
        layer = f"layer_{i}"
        add(f"cosine.{i}", ELEMENTWISE, "backward", layer, f"jit(step)/transpose(jvp(net))/{layer}/cos", f"cosine({last})",
            rng.choice((MAIN, MAIN, SIDE)))
        last = f"cosine.{i}"
    if group_size > 1:
        add("all-reduce.1", COLLECTIVE, "backward", None, "jit(step)/transpose(jvp(net))/psum",
            f"all-reduce({last}), replica_groups={{{{{','.join(map(str, range(group_size)))}}}}}, to_apply=add_f32", NETWORK)
        last = "all-reduce.1"
        add("tanh.1", ELEMENTWISE, "forward", "layer_0", "jit(step)/jvp(net)/layer_0/tanh", "tanh(x)")  # Beside it.
    add("subtract.1", ELEMENTWISE, "optimizer", None, "jit(step)/optimizer/sub", f"subtract(w, {last})")
    return ops, shape


class RandomJob:
    def __init__(self, seed, more_iterations=0, slower=None):
        """`slower`: the number of an op that takes 1.4 times as long."""
        rng = self.rng = random.Random(seed)
        self.seed = seed
        self.processes, self.devices = SHAPES[seed % len(SHAPES)]
        self.places = self.processes * self.devices
        self.tiles = [("gemm_128x64", "gemm_64x64")[(place + seed) % 2] for place in range(self.places)]
        self.is_split = rng.random() < 0.7
        # In some jobs of several processes one process is not recorded for a while.
        self.pausing = rng.randrange(self.processes) if self.processes > 1 and seed % 2 else None
        self.iterations = rng.randint(6, 9) + more_iterations
        self.slower = slower
        self.ops, shape = ops_of(rng, self.places)
        self.evaluation_op = Op("sine.0", ELEMENTWISE, "other", None, 3, "", self.ops[0].elements)
        self.text = self.programs_text(shape) + self.run_text()
        case = parse_case(self.text, "job.txt", "job.txt")
        self.programs = {}
        for section in case.sections[:-1]:
            key = section.rest.split()[0]
            program = read_program(section, 0)
            # The second program has another key here, and the same name in the recording.
            if key == "jit_again":
                program = dataclasses.replace(program, name="jit_step", text=program.text.replace("jit_again", "jit_step"))
            self.programs[key] = program
        run = case.sections[-1]
        self.timeline = build_timeline(Reader(self.programs).statements(run.body), self.programs, run.head)
        self.works = [self.work_of(work) for work in self.timeline.work]
        self.pauses = [(device // self.devices, start, end) for device, start, end in self.timeline.pauses
                       if device % self.devices == 0]
        starts = {}
        for work in self.works:
            starts[work.execution] = min(work.start, starts.get(work.execution, work.start))
        for work in self.works:
            work.execution_start = starts[work.execution] if work.execution else None

    def programs_text(self, shape):
        out = "# A random job.\n"
        for name, id in (("jit_step", 7), ("jit_again", 9)):
            out += f"program {name} id {id}\n  HloModule {name}, is_scheduled=true\n  {SUM}\n  ENTRY main {{\n"
            out += f"  x = {shape} parameter(0)\n  w = {shape} parameter(1)\n"
            # Every value is a result, so that none is dead.
            out += "".join(f"  {op.hlo}\n" for op in self.ops)
            names = ", ".join(op.name for op in self.ops)
            shapes = ", ".join([shape] * len(self.ops))
            out += f"  ROOT t = ({shapes}) tuple({names})\n  }}\n"
        return out + f"program jit_eval id 11\n  x = {shape} parameter(0)\n  sine.0 = {shape} sine(x)  @jit(eval)/net/sin eval.py:3\n"

    def times(self, low, high):
        """A time per device."""
        return " | ".join(f"{self.rng.randint(low, high)} ns" for _ in range(self.places))

    def work_text(self, what, low, high, end=""):
        """A line of work on the main stream, which takes a time of its own on each device."""
        self.latest += high
        return f"{what} {self.times(low, high)}{end}\n"

    def product_text(self, op, low, high):
        """A kernel that each device chose, then in some jobs a second kernel of the same run of the op."""
        self.latest += high
        out = ""
        for kernel in sorted(set(self.tiles)):
            times = [f"{self.rng.randint(low, high)} ns" if tile == kernel else "-" for tile in self.tiles]
            out += f"    {op.name} {' | '.join(times)} kernel={kernel}\n"
        return out + (self.work_text(f"    {op.name}", 2_000, 30_000, " kernel=split_k") if self.is_split else "")

    def aligned_text(self, spread):
        """The devices go on within `spread`, one after the other. Returns their delays, too."""
        delays = [self.rng.randint(0, spread) for _ in range(self.places)]
        self.latest += spread + 1_000
        return f"at {' | '.join(f'{self.latest - spread + delay} ns' for delay in delays)}\n", delays

    def execution_text(self, name, factor):
        out = "  " + self.aligned_text(20_000)[0] + f"  execute {name}\n"
        for op in self.ops:
            low, high = int(self.base[op.name] * factor), int(self.base[op.name] * factor * 1.1)
            if op.kind == COLLECTIVE:
                # All devices end together, so those that came early take longer.
                text, delays = self.aligned_text(low // 2)
                latest = max(delays)
                times = " | ".join(f"{low + latest - delay + self.rng.randint(0, 500)} ns" for delay in delays)
                out += f"    {text}    {op.name} {times} on stream {op.stream}\n"
                self.network = self.latest + low + latest + 500
            elif op.stream != MAIN:
                out += f"    {op.name} {self.times(low, high)} on stream {op.stream}\n"
                self.side += high
            else:
                if op.phase == "optimizer" and self.network:
                    out += f"    wait for stream {NETWORK}\n"
                    self.latest = max(self.latest, self.network)
                out += self.product_text(op, low, high) if op.kind == GEMM else self.work_text(f"    {op.name}", low, high)
        if any(op.stream == SIDE for op in self.ops):
            out += f"    wait for stream {SIDE}\n"
            self.latest += self.side
            self.side = 0
        return out

    def ranks_text(self):
        hosts = " on 2 hosts" if self.processes == 2 else ""
        return f"  ranks {self.processes}{hosts}\n" if self.processes > 1 else ""

    def run_text(self):
        rng = self.rng
        self.base = {op.name: rng.randint(20_000, 200_000) for op in self.ops}
        if self.slower is not None:
            self.base[self.ops[self.slower].name] *= 1.4
        out = f"run\n  device H100 x {self.devices}\n" + self.ranks_text()
        # When the last device is done with its work on the main stream and on the network, at the latest; time on the side.
        self.latest = self.network = self.side = 0
        out += self.work_text(f"  copy to device {rng.randint(1, 64)} MiB", 50_000, 60_000)
        copy = rng.choice(("to device", "to host", "on device"))
        for i in range(self.iterations):
            out += self.work_text(f"  copy {copy} {rng.randint(1, 9)} KiB", 2_000, 9_000)
            out += self.execution_text("jit_step", 1)
            if i == self.iterations // 2 - 1 and self.pausing is not None:
                ns = [f"{rng.randint(200_000, 400_000)} ns" if place // self.devices == self.pausing else "-"
                      for place in range(self.places)]
                out += f"  pause {' | '.join([next(time for time in ns if time != '-') if time != '-' else '-' for time in ns])}\n"
                self.latest += 400_000
            if i == self.iterations // 2:
                out += self.execution_text("jit_again", 0.5)
                out += "  execute jit_eval\n" + self.work_text("    sine.0", 30_000, 40_000)
        return out + self.work_text(f"  copy to host {rng.randint(1, 64)} MiB", 500_000, 600_000)

    def work_of(self, work):
        statement, execution = work.statement, work.execution
        process, device = divmod(work.device, self.devices)
        out = Work(process, device, work.stream, work.start_ns, work.end_ns)
        if statement.kind == "copy":
            out.direction, out.bytes = statement.name, statement.bytes
        elif statement.kind != "kernel":
            out.kernel = symbol_of(statement, execution)
            out.program, out.execution = execution.program.id, execution.number
            if execution.program.name == "jit_step":
                out.op = next(op for op in self.ops if op.name == statement.name)
            else:
                out.op = self.evaluation_op
        return out

    def write(self, folder):
        """The recording and a dump of the programs. Returns arguments of `import`."""
        write_recording(self.timeline, folder / "job.rec")
        self.write_dumps(folder)
        return [folder / "job.rec", "--modules", folder / "dumps"]

    def write_dumps(self, folder):
        dumps = folder / "dumps"
        dumps.mkdir()
        for program in self.programs.values():
            (dumps / f"module_{program.id:04d}.{program.name}.sm_9.0_gpu_after_optimizations.txt").write_text(program.text)
