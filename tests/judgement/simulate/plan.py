# SPDX-License-Identifier: Apache-2.0
"""Draws a random training loop: what the host does in each iteration, what it launches, and how noisy it is."""

import dataclasses
import random

from events import COLLECTIVE, FRAMEWORK, FUNCTION, KERNEL, RANGE, SILENT, TO_DEVICE, TO_HOST

MAIN_STREAM, SIDE_STREAM, COLLECTIVE_STREAM = 7, 8, 9
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
HOST_NAMES = ("env.step", "augment", "tokenize", "log_metrics", "update_replay", "reward", "postprocess", "make_mask")


@dataclasses.dataclass
class Op:
    kind: str
    name: str  # The kernel's name.
    instruction: str  # The name in the program.
    ns: int
    stream: int = MAIN_STREAM
    waits_for: int = None  # An earlier op of the iteration on another stream.


@dataclasses.dataclass
class Program:
    name: str
    id: int
    ops: list
    is_graph: bool = False  # Launched as one CUDA graph.


# --- what a host thread does; the bodies of frames are lists of these ---------------------------------


@dataclasses.dataclass
class Busy:
    ns: int


@dataclasses.dataclass
class Framed:
    kind: str
    name: str
    body: list
    line: int = None


@dataclasses.dataclass
class Compile:
    program: Program
    ns: int


@dataclasses.dataclass
class Execute:
    program: Program
    dispatch_ns: int  # Before each launch.


@dataclasses.dataclass
class Copy:
    direction: str
    ns: int
    bytes: int
    blocks: bool


@dataclasses.dataclass
class Synchronize:
    name: str


@dataclasses.dataclass
class Allocate:
    ns: int


@dataclasses.dataclass
class NextBatch:
    """Waits for the data loader's thread."""


@dataclasses.dataclass
class Every:
    """Between two iterations, after each `period` of them."""

    period: int
    purpose: str
    body: list


@dataclasses.dataclass
class Plan:
    style: str  # xla, torch
    iterations: int
    body: list
    between: list
    startup: list
    ending: list
    has_marks: bool
    has_stacks: bool  # Python functions are recorded where the format can.
    is_annotated: bool  # Nsight and our own recording have XLA's ranges.
    kernel_noise: float
    host_noise: float
    outlier_rate: float
    outlier_factor: float
    loader_ns: int
    loader_depth: int
    contention: float  # Part of its time that a host thread waits for a CPU.
    queue_depth: int
    call_ns: int
    latency_ns: int
    devices: int = 1
    ranks: int = 1
    rank_speed: list = None  # How many times longer the host work of each rank takes.
    kernel_speed: list = None  # How many times longer the computation of each rank takes.
    cut_begin: float = 0.0  # Part of the run that is not recorded.
    cut_end: float = 0.0
    is_pipeline: bool = False  # Each device works on the results of the device before it.
    is_device_only: bool = False  # Nsight and PyTorch recorded no host calls and ranges.
    clock_offsets: list = None  # How far the clock of each rank is ahead, in nanoseconds.
    has_graph_rows: bool = False  # Nsight recorded CUDA graphs as one row each.


def power(rng, low, high):
    """A number between 10**low and 10**high, each magnitude as likely as the others."""
    return 10 ** rng.uniform(low, high)


def random_ops(rng, style, mean_ns):
    count = int(power(rng, 0.3, 1.3))
    layers = rng.choice((1, 1, 2, 4))
    layer = [(f"layer_{i}", int(mean_ns * rng.lognormvariate(0, 1)) + 1000) for i in range(count)]
    ops = [(name, ns) for _ in range(layers) for name, ns in layer]
    ops += [("loss", int(mean_ns * rng.uniform(0.1, 1)) + 1000), ("update", int(mean_ns * rng.uniform(0.2, 2)) + 1000)]
    out = []
    for i, (name, ns) in enumerate(ops):
        if style == "xla":
            out.append(Op(KERNEL, f"{name}_fusion", f"{name}_fusion.{i}", ns))
        else:
            out.append(Op(KERNEL, f"{name}_kernel", None, ns))
    return out


def random_section(rng, style, device_ns, number):
    """A stretch of host time in an iteration."""
    ns = int(device_ns * power(rng, -2, 0.5)) + 1000
    kind = rng.choice((RANGE, RANGE, FUNCTION, SILENT, FRAMEWORK))
    name = HOST_NAMES[number % len(HOST_NAMES)]
    line = 20 + 7 * number
    if kind == SILENT:
        return Framed(SILENT, rng.choice(("gc", "lock", "python")), [Busy(ns)])
    if kind == FRAMEWORK:
        name = f"PjitFunction(convert_{number})" if style == "xla" else f"aten::convert_{number}"
        return Framed(FRAMEWORK, name, [Busy(ns)])
    if rng.random() < 0.3:  # A range inside a range.
        inner = Framed(RANGE, f"{name}.inner", [Busy(ns // 2)], line + 2)
        return Framed(kind, name, [Busy(ns // 4), inner, Busy(ns // 4)], line)
    return Framed(kind, name, [Busy(ns)], line)


def random_plan(seed):
    rng = random.Random(seed)
    style = rng.choice(("xla", "torch"))
    mean_ns = power(rng, 3.8, 6.0)
    ops = random_ops(rng, style, mean_ns)
    program = Program("jit_train_step", 7, ops, rng.random() < 0.2)
    if not program.is_graph and rng.random() < 0.25:
        move_to_side_stream(rng, ops)
    devices, ranks = rng.choice((1, 1, 1, 2, 4)), rng.choice((1, 1, 1, 1, 2, 3))
    is_pipeline = devices > 1 and ranks == 1 and rng.random() < 0.4
    if ranks > 1 or (devices > 1 and not is_pipeline and rng.random() < 0.7):
        program.is_graph = False
        add_collectives(rng, style, ops)
    device_ns = sum(op.ns for op in ops)
    dispatch_ns = int(power(rng, 2.5, 4.5))
    body = []
    if rng.random() < 0.5:
        body.append(NextBatch())
    if rng.random() < 0.6:
        body.append(Copy(TO_DEVICE, int(device_ns * power(rng, -2, -0.5)) + 2000, 1 << rng.randint(12, 26), False))
    sections = [random_section(rng, style, device_ns, i) for i in range(rng.randint(0, 4))]
    at = rng.randint(0, len(sections))
    programs = split(rng, program) if style == "xla" and rng.random() < 0.3 else [program]
    executes = [Execute(one, dispatch_ns) for one in programs]
    if style == "xla":
        executes = [Framed(FRAMEWORK, f"PjitFunction({one.program.name[4:]})", [Busy(dispatch_ns), one])
                    for one in executes]
    if rng.random() < 0.3:
        executes = [Framed(RANGE, "train_step", executes, 12)]
    if rng.random() < 0.2:
        body.append(Allocate(int(device_ns * power(rng, -2, -0.3)) + 2000))
    body += [*sections[:at], *executes]
    if rng.random() < 0.6:
        body.append(rng.choice((
            Copy(TO_HOST, int(power(rng, 3.3, 5)), 4, True), Synchronize("cudaDeviceSynchronize"),
            Synchronize("cudaStreamSynchronize"))))
    body += sections[at:]
    plan = Plan(
        style=style, iterations=rng.randint(8, 60), body=body, between=[], startup=[], ending=[],
        has_marks=rng.random() < 0.4, has_stacks=rng.random() < 0.3, is_annotated=rng.random() < 0.7,
        kernel_noise=power(rng, -2, -0.5), host_noise=power(rng, -2, -0.5),
        outlier_rate=rng.choice((0, 0, 0.01, 0.03)), outlier_factor=rng.uniform(3, 15),
        loader_ns=int(device_ns * power(rng, -1, 0.4)), loader_depth=rng.choice((1, 2, 8)),
        contention=rng.choice((0, 0, 0, rng.uniform(0.1, 0.6))), queue_depth=rng.choice((32, 256, 1024)),
        call_ns=int(rng.uniform(2_000, 8_000)), latency_ns=int(rng.uniform(2_000, 8_000)))
    plan.is_device_only = rng.random() < 0.05
    plan.clock_offsets = [0] + [rng.randint(0, 100_000_000) for _ in range(ranks - 1)]
    plan.between = random_between(rng, style, ops, device_ns, dispatch_ns, plan.iterations)
    plan.devices, plan.ranks, plan.is_pipeline = devices, ranks, is_pipeline
    plan.rank_speed = [rng.choice((1, 1, rng.uniform(1, 2))) for _ in range(ranks)]
    plan.has_graph_rows = program.is_graph and rng.random() < 0.4
    plan.startup = random_startup(rng, programs, style)
    plan.ending = [Synchronize("cudaDeviceSynchronize"), Framed(RANGE, "save_results", [Busy(int(device_ns * power(rng, -1, 0.7)))], 90)]
    if rng.random() < 0.4:
        plan.cut_begin = rng.uniform(0.0, 0.25)
    if rng.random() < 0.4:
        plan.cut_end = rng.uniform(0.0, 0.25)
    return plan


def move_to_side_stream(rng, ops):
    """Some op runs beside the others on a stream of its own, after the op before it."""
    for i in range(1, len(ops) - 1):
        if rng.random() < 0.3:
            ops[i].stream, ops[i].waits_for = SIDE_STREAM, i - 1
            if ops[i + 1].stream == MAIN_STREAM and rng.random() < 0.5:
                ops[i + 1].waits_for = i


def add_collectives(rng, style, ops):
    """Gradients are summed over all devices before the update, some of them beside the work of later layers."""
    total = sum(op.ns for op in ops)
    places = {len(ops) - 1}  # The update.
    if rng.random() < 0.5:
        places.add(rng.randint(1, len(ops) - 1))
    for at in sorted(places, reverse=True):
        for op in ops:
            if op.waits_for is not None and op.waits_for >= at:
                op.waits_for += 1
        name = f"all-reduce.{at}" if style == "xla" else None
        ops.insert(at, Op(COLLECTIVE, NCCL, name, int(total * power(rng, -1.5, 0)), COLLECTIVE_STREAM, at - 1))
    ops[-1].waits_for = len(ops) - 2


def split(rng, program):
    """The program as two, of different names or of the same, if no op waits for an op of the other one."""
    at, ops = rng.randint(1, len(program.ops) - 1), program.ops
    if program.is_graph or any(op.waits_for is not None and op.waits_for < at for op in ops[at:]):
        return [program]
    second = [dataclasses.replace(op, waits_for=None if op.waits_for is None else op.waits_for - at) for op in ops[at:]]
    name = rng.choice((program.name, "jit_apply"))
    return [Program(program.name, program.id, ops[:at]), Program(name, program.id + 1, second)]


def random_between(rng, style, ops, device_ns, dispatch_ns, iterations):
    """Work after every few iterations, and never after half of them or more."""
    between = []
    if rng.random() < 0.3:
        period = rng.randint(3, 15)
        between.append(Every(period, "evaluation", evaluation(rng, style, ops, device_ns * period, dispatch_ns)))
    if rng.random() < 0.2:
        copies = [Copy(TO_HOST, int(device_ns * power(rng, -2, 0)) + 2000, 1 << 20, True)
                  for _ in range(rng.randint(1, 4))]
        write = Busy(int(device_ns * power(rng, -1, 1)))
        between.append(Every(rng.randint(5, 20), "checkpoint", [Framed(RANGE, "save_checkpoint", [*copies, write], 70)]))
    if rng.random() < 0.2:
        between.append(Every(rng.randint(3, 10), "logging", [Copy(TO_HOST, int(power(rng, 3.3, 5)), 12, True)]))
    if rng.random() < 0.2:
        report = Framed(rng.choice((RANGE, FUNCTION)), "report", [Busy(int(device_ns * power(rng, -1, 0.7)))], 75)
        between.append(Every(rng.randint(4, 20), "host", [report]))
    return between


def evaluation(rng, style, ops, train_ns, dispatch_ns):
    """Batches of a program without update. All of it takes at most half of the time that training takes meanwhile."""
    shares_kernels = rng.random() < 0.4
    forward = [op for op in ops if op.name.startswith("layer")][: max(1, len(ops) // 2)]
    own = []
    for i, op in enumerate(forward):
        name = op.name if shares_kernels else f"eval_{op.name}"
        own.append(Op(KERNEL, name, f"eval_{i}.{i}" if style == "xla" else None, max(1000, op.ns // 2)))
    program = Program("jit_evaluate", 9, own)
    batches = max(1, min(10, int(train_ns * rng.uniform(0.05, 0.5) / sum(op.ns for op in own))))
    execute = Execute(program, dispatch_ns)
    if style == "xla":
        execute = Framed(FRAMEWORK, "PjitFunction(evaluate)", [Busy(dispatch_ns), execute])
    body = [execute] * batches + [Copy(TO_HOST, 3000, 8, True)]
    return [Framed(RANGE, "evaluate", body, 80)] if rng.random() < 0.5 else body


def random_startup(rng, programs, style):
    body = [Framed(SILENT, "import", [Busy(int(power(rng, 6, 8)))])]
    if style == "xla":
        body += [Compile(program, int(power(rng, 6, 9))) for program in programs]
    else:
        body.append(Framed(RANGE, "build_model", [Busy(int(power(rng, 6, 8)))], 5))
    return body


