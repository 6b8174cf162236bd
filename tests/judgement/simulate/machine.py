# SPDX-License-Identifier: Apache-2.0
"""Runs a plan: host threads, launch queues, streams and devices.

Streams run in order, and work depends only on work that was launched before. Therefore a work's times are known when
it is launched, and each rank runs in the order of its program. Only a collective needs the other ranks: the rank
yields its arrival and gets back the time when the last rank arrived.
"""

import bisect
import collections
import random

import plan as p
from events import CALL, COLLECTIVE, COMPILE, COPY, FRAMEWORK, FUNCTION, MARK, MODULE, SILENT, THUNK, TO_HOST
from events import Frame, Process, Run, Work

MAIN_THREAD, LOADER_THREAD = 100, 101
# A stream starts its next kernel this long after the one before.
BACK_TO_BACK_NS = 900
EVENT_CALL_NS = 1200
# The first launches load modules.
FIRST_LAUNCH_NS = 60_000
FILE = "train.py"


class Rank:
    def __init__(self, plan, seed, rank):
        self.plan, self.seed, self.rank = plan, seed, rank
        self.rng = random.Random(f"{seed}/{rank}")
        self.kernel_speed = plan.kernel_speed[rank] if plan.kernel_speed else 1
        self.now = 0
        self.frames, self.work = [], []
        self.stream_free = collections.defaultdict(int)  # By device and stream.
        self.ends = [[] for _ in range(plan.devices)]  # Sorted ends of all work of a device.
        self.iteration, self.purpose = None, "step"
        self.executions = self.correlations = self.order = self.collectives = 0
        self.loaded = set()
        self.batches = None

    # --- time ---

    def noisy(self, ns, noise):
        return max(1, int(ns * self.rng.lognormvariate(0, noise)))

    def host_ns(self, ns):
        """How long a thread takes for `ns` of CPU time."""
        plan = self.plan
        ns = self.noisy(ns * (plan.rank_speed[self.rank] if plan.rank_speed else 1), plan.host_noise)
        if self.rng.random() < plan.outlier_rate:
            ns = int(ns * plan.outlier_factor)
        if plan.contention and self.rng.random() < 0.5:
            ns += int(ns * plan.contention * self.rng.uniform(0.5, 3))
        return ns

    # --- the program ---

    def run(self):
        plan = self.plan
        self.batches = Loader(self)
        main = self.open(FUNCTION, "main", 3)
        yield from self.run_body(plan.startup)
        if plan.ranks > 1:  # All ranks begin the loop together.
            self.now, *_ = yield (self.now, self.rank, 0)
        for self.iteration in range(plan.iterations):
            mark = self.open(MARK, f"step {self.iteration}") if plan.has_marks else None
            if mark:
                mark.number = self.iteration
            yield from self.run_body(plan.body)
            if mark:
                mark.end = self.now
            yield from self.run_between()
        self.iteration = None
        yield from self.run_body(plan.ending)
        main.end = self.now

    def run_between(self):
        for every in self.plan.between:
            if (self.iteration + 1) % every.period == 0:
                iteration, self.iteration, self.purpose = self.iteration, None, every.purpose
                yield from self.run_body(every.body)
                self.iteration, self.purpose = iteration, "step"

    def run_body(self, body):
        for action in body:
            yield from getattr(self, f"do_{type(action).__name__.lower()}")(action)

    def open(self, kind, name, line=None):
        frame = Frame(MAIN_THREAD, kind, name, self.now, None, line)
        self.frames.append(frame)
        return frame

    def do_busy(self, action):
        self.now += self.host_ns(action.ns)
        return
        yield

    def do_framed(self, action):
        frame = self.open(action.kind, action.name, action.line)
        yield from self.run_body(action.body)
        frame.end = self.now

    def do_compile(self, action):
        frame = self.open(COMPILE, action.program.name)
        frame.program = action.program
        self.now += self.host_ns(action.ns)
        frame.end = self.now
        return
        yield

    def do_execute(self, action):
        program, is_xla = action.program, self.plan.style == "xla"
        self.executions += 1
        execution = self.executions
        module = self.open(MODULE, program.name) if is_xla else None
        if module:
            module.number, module.program = execution, program
        groups = [list(enumerate(program.ops))] if program.is_graph else [[one] for one in enumerate(program.ops)]
        done = {}  # Work by device and op.
        for group in groups:
            name = group[0][1].instruction if is_xla else f"aten::{group[0][1].name}"
            if program.is_graph:  # PyTorch replays a graph outside of all ops.
                frame = self.open(THUNK if is_xla else SILENT, "command_buffer")
            else:
                frame = self.open(THUNK if is_xla else FRAMEWORK, name)
            self.now += self.host_ns(action.dispatch_ns)
            for device in range(self.plan.devices):
                if self.plan.is_pipeline and device > 0:
                    self.call("cudaStreamWaitEvent", "launch", self.noisy(EVENT_CALL_NS, 0.2))
                call = self.launch_call(program, group, device)
                if self.plan.is_pipeline and device + 1 < self.plan.devices:
                    self.call("cudaEventRecord", "launch", self.noisy(EVENT_CALL_NS, 0.2))
                for i, op in group:
                    done[device, i] = self.start(op, i, device, call, done)
                    work = done[device, i]
                    work.key, work.execution, work.instruction = f"{program.id}/{i}", execution, op.instruction
                    work.program = program if is_xla else None
                    work.graph = execution if program.is_graph else None
            for i, op in group:
                if op.kind == COLLECTIVE:
                    yield from self.exchange([done[device, i] for device in range(self.plan.devices)], op.ns)
            frame.end = self.now
        if module:
            module.end = self.now

    def launch_call(self, program, group, device):
        new = {(op.name, device) for _, op in group} - self.loaded
        self.loaded |= new
        self.now += FIRST_LAUNCH_NS * len(new)
        name = "cudaGraphLaunch" if program.is_graph else "cudaLaunchKernel"
        return self.call(name, "launch", self.queue_ns(device))

    def start(self, op, i, device, call, done):
        start = max(call.end + self.noisy(self.plan.latency_ns, 0.1),
                    self.stream_free[device, op.stream] + self.noisy(BACK_TO_BACK_NS, 0.1))
        if op.waits_for is not None:
            start = max(start, done[device, op.waits_for].end + BACK_TO_BACK_NS)
        ready = 0
        if self.plan.is_pipeline and device > 0:
            ready = done[device - 1, i].end
            start = max(start, ready + BACK_TO_BACK_NS)
        ns = self.noisy(op.ns * self.kernel_speed, self.plan.kernel_noise)
        work = self.add(Work(device, op.stream, op.kind, op.name, start, start + ns, call, 0, ""))
        work.ready = ready
        return work

    def exchange(self, works, ns):
        """A collective takes from the arrival of its last device on what it would take alone."""
        self.collectives += 1
        rng = random.Random(f"{self.seed}/collective/{self.collectives}")  # The same on all ranks.
        transfer = int(ns * rng.lognormvariate(0, self.plan.kernel_noise))
        last, *late = yield max((work.start, self.rank, work.device) for work in works)
        for work in works:
            self.ends[work.device].remove(work.end)
            work.end, work.last_arrival, work.late = last + transfer, last, tuple(late)
            bisect.insort(self.ends[work.device], work.end)
            self.stream_free[work.device, work.stream] = work.end

    def queue_ns(self, device):
        """How long a launch call takes: it blocks while the queue is full."""
        took = self.noisy(self.plan.call_ns, 0.2)
        ends = self.ends[device]
        if len(ends) >= self.plan.queue_depth:
            took = max(took, ends[-self.plan.queue_depth] - self.now)
        return took

    def add(self, work):
        self.order += 1
        work.order, work.iteration, work.purpose = self.order, self.iteration, self.purpose
        self.stream_free[work.device, work.stream] = work.end
        bisect.insort(self.ends[work.device], work.end)
        self.work.append(work)
        return work

    def call(self, name, call_class, ns):
        call = Frame(MAIN_THREAD, CALL, name, self.now, self.now + ns, call_class=call_class)
        self.correlations += 1
        call.correlation = self.correlations
        self.frames.append(call)
        self.now = call.end
        return call

    def do_copy(self, action):
        for device in range(self.plan.devices):
            start = self.now
            name = "cudaMemcpy" if action.blocks else "cudaMemcpyAsync"
            call = self.call(name, "copy_wait" if action.blocks else "launch", self.queue_ns(device))
            stream = p.MAIN_STREAM
            begin = max(call.end + self.noisy(self.plan.latency_ns, 0.1),
                        self.stream_free[device, stream] + self.noisy(BACK_TO_BACK_NS, 0.1))
            end = begin + self.noisy(action.ns, self.plan.kernel_noise)
            word = "DtoH" if action.direction == TO_HOST else "HtoD"
            work = self.add(Work(device, stream, COPY, f"Memcpy {word}", begin, end, call, 0,
                                 f"{action.direction}/{action.bytes}/{action.blocks}"))
            work.bytes, work.direction = action.bytes, action.direction
            if action.blocks:
                call.start, call.end = start, end + self.noisy(self.plan.call_ns, 0.2)
                self.now = call.end
        return
        yield

    def do_synchronize(self, action):
        last = max((ends[-1] for ends in self.ends if ends), default=0)
        self.call(action.name, "sync", max(0, last - self.now) + self.noisy(self.plan.call_ns, 0.2))
        return
        yield

    def do_allocate(self, action):
        self.call("cudaMalloc", "alloc", self.host_ns(action.ns))
        return
        yield

    def do_nextbatch(self, action):
        frame = self.open(p.RANGE, "next(loader)", 11)
        self.now = max(self.now, self.batches.next(self.now)) + 2000
        frame.end = self.now
        return
        yield


class Loader:
    """A thread that makes batches ahead, at most `loader_depth` of them."""

    def __init__(self, rank):
        self.rank, self.free, self.taken = rank, 0, []

    def next(self, now):
        """When the next batch is ready; it is taken then."""
        depth, rank = self.rank.plan.loader_depth, self.rank
        start = self.free
        if not self.taken:
            start = now
        elif len(self.taken) >= depth:
            start = max(start, self.taken[-depth])
        end = start + rank.host_ns(rank.plan.loader_ns)
        rank.frames.append(Frame(LOADER_THREAD, p.RANGE, "load", start, end, 60))
        self.free = end
        self.taken.append(max(now, end))
        return end


def simulate(seed, plan=None, most_iterations=None):
    """`most_iterations` shortens the random loop."""
    plan = plan or p.random_plan(seed)
    plan.iterations = min(plan.iterations, most_iterations or plan.iterations)
    ranks = [Rank(plan, seed, i) for i in range(plan.ranks)]
    drive([rank.run() for rank in ranks])
    processes = [Process(rank.rank, [f for f in rank.frames if f.kind != SILENT], rank.work, plan.devices, rank.now)
                 for rank in ranks]
    return Run(seed, plan, processes)


def drive(runs):
    """Runs all ranks up to their next collective, and lets it begin when the last one has arrived."""
    arrivals = [next(run, None) for run in runs]
    while any(arrival is not None for arrival in arrivals):
        last = max(arrivals)
        arrivals = [advance(run, last) for run in runs]


def advance(run, value):
    try:
        return run.send(value)
    except StopIteration:
        return None
