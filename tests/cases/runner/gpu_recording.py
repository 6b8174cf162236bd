# SPDX-License-Identifier: Apache-2.0
"""A timeline as `xlatrace record` leaves it on a GPU machine: a folder with one recording per process.

The host. One thread per device launches its work, one call after the other, as early as it can: it runs ahead of
the device. While it is busy (`idle`, `compile`, `at`) it launches nothing; the work after that starts LATENCY_NS
after its call.
Calls of a program lie in its `XlaModule:` range, and each names its instruction by a `Thunk:` range.
"""

import collections
import re

import recording_file
from gpus import GPUS

START_UNIX_NS = 1_800_000_000_000_000_000
CALL_NS = 2_000
LATENCY_NS = 5_000
FIRST_PID = 1000
CONTEXT = 1
COPY_KINDS = {"to device": 1, "to host": 2, "on device": 8}  # CUpti_ActivityMemcpyKind.
NCCL = {"all-reduce": "AllReduce", "all-gather": "AllGather", "reduce-scatter": "ReduceScatter",
        "all-to-all": "SendRecv", "collective-permute": "SendRecv"}
# cbid in the file; the fact `api.driver.N` gives its name.
FUNCTIONS = {"kernel": "cuLaunchKernelEx", "copy": "cuMemcpyAsync", "memset": "cuMemsetD8Async"}


class Process:
    """One process of the job and the file that it writes."""

    def __init__(self, timeline, rank):
        self.timeline, self.rank, self.pid = timeline, rank, FIRST_PID + rank
        start_s = START_UNIX_NS // 1_000_000_000
        self.host = "host" if timeline.hosts == 1 else f"host{rank * timeline.hosts // timeline.ranks}"
        self.identity = f"case.{self.host}.{self.pid}.{start_s:x}"
        self.file = recording_file.RecordingFile(self.identity)
        self.correlation = 0
        self.functions = {}
        self.first_device = rank * timeline.devices_per_rank
        self.describe()
        self.add_host_times()
        self.add_work()
        self.add_pauses()

    def describe(self):
        timeline, file = self.timeline, self.file
        facts = {"host": self.host, "pid": self.pid, "command": "python train.py", "executable": "/usr/bin/python3",
                 "start_unix_ns": START_UNIX_NS, "ended": "exit", "mode": "exact"}
        if timeline.ranks > 1:
            facts |= {"rank": self.rank, "local_rank": self.rank}
        for key, value in facts.items():
            file.fact(key, value)
        for ordinal in range(timeline.devices_per_rank):
            device = self.first_device + ordinal
            file.device(device=ordinal, uuid=f"GPU-00000000-0000-0000-0000-{device:012d}",
                        **(GPUS[timeline.device] | timeline.device_facts))
            file.context(CONTEXT + ordinal, ordinal, 0)
            file.thread(self.thread_of(device), "python")

    def thread_of(self, device):
        return self.pid + device - self.first_device

    def function(self, name):
        if name not in self.functions:
            self.functions[name] = len(self.functions) + 1
            self.file.fact(f"api.driver.{self.functions[name]}", name)
        return self.functions[name]

    def devices(self):
        return range(self.first_device, self.first_device + self.timeline.devices_per_rank)

    def call(self, name, device, start_ns, end_ns, **row):
        self.correlation += 1
        self.file.call(thread=self.thread_of(device), function=self.function(name),
                       correlation=self.correlation, start_ns=START_UNIX_NS + start_ns,
                       end_ns=START_UNIX_NS + end_ns, **row)
        return self.correlation

    def range(self, text, device, start_ns, end_ns, domain="", **row):
        file = self.file
        file.range(thread=self.thread_of(device), domain=file.string(domain) if domain else 0,
                   text=file.string(text), start_ns=START_UNIX_NS + start_ns, end_ns=START_UNIX_NS + end_ns,
                   **row)

    def add_host_times(self):
        for time in self.timeline.host:
            if time.device not in self.devices():
                continue
            end_ns = time.end_ns - min(LATENCY_NS, (time.end_ns - time.start_ns) // 2)
            if time.compiled:
                program = time.compiled
                self.range(f"XlaCompile:#module={program.name},program_id={program.id}#", time.device,
                           time.start_ns, end_ns, domain="TSL")
            for depth, name in enumerate(time.names):
                if re.match(r"cu[A-Z]|cuda[A-Z]", name):
                    self.call(name, time.device, time.start_ns, end_ns)
                else:
                    self.range(name, time.device, time.start_ns, end_ns, depth=depth)

    def add_work(self):
        free_ns = {}  # When the thread of a device has made its calls so far.
        calls = collections.defaultdict(list)  # Start times, by execution.
        marks = [mark for mark in self.timeline.marks if mark.device == self.first_device]
        for work in self.timeline.work:
            if work.device not in self.devices():
                continue
            call_ns = free_ns.get(work.device, work.start_ns - LATENCY_NS)
            if work.host_busy_until_ns is not None:
                call_ns = max(call_ns, work.host_busy_until_ns - LATENCY_NS)
            # Where work is shorter than a call, the host keeps up all the same.
            call_ns = min(call_ns, work.start_ns - CALL_NS)
            while marks and marks[0].order < work.order:
                mark = marks.pop(0)
                self.mark(f"step {mark.step}", min(mark.time_ns, call_ns))
            free_ns[work.device] = max(call_ns + CALL_NS, free_ns.get(work.device, call_ns))
            if work.execution:
                calls[work.execution.number].append(call_ns)
            self.add_one(work, call_ns)
        for mark in marks:
            self.mark(f"step {mark.step}", free_ns.get(self.first_device, mark.time_ns))
        executions = {work.execution.number: work.execution for work in self.timeline.work if work.execution}
        for number, starts in calls.items():
            execution = executions[number]
            self.range(f"XlaModule:#hlo_module={execution.program.name},program_id={execution.program.id}#",
                       execution.device, min(starts), max(starts) + CALL_NS, domain="TSL", module_run=number)

    def add_one(self, work, call_ns):
        statement, file = work.statement, self.file
        row, kind = {}, statement.kind
        if work.execution:
            row["module_run"] = work.execution.number
        is_copy = kind == "copy"
        if kind == "instruction":
            row["thunk"] = file.string(f"Thunk:#hlo_op={statement.name}#")
            is_copy = work.execution.program.opcodes[statement.name] == "copy"
        function = FUNCTIONS["copy" if is_copy else "memset" if kind == "memset" else "kernel"]
        correlation = self.call(function, work.device, call_ns, call_ns + CALL_NS, **row)
        if statement.lost:
            return
        ordinal = work.device - self.first_device
        lane = (ordinal, CONTEXT + ordinal, work.stream)
        activity = {"start_ns": START_UNIX_NS + work.start_ns, "end_ns": START_UNIX_NS + work.end_ns,
                    "correlation": correlation, "bytes": statement.bytes}
        if is_copy:
            name = statement.name if kind == "copy" else "on device"
            file.activity(recording_file.MEMCPY, {"copy_kind": COPY_KINDS[name]}, lane, **activity)
        elif kind == "memset":
            file.activity(recording_file.MEMSET, {}, lane, **activity)
        else:
            file.activity(recording_file.KERNEL, kernel_config(statement, work.execution), lane, **activity)

    def mark(self, text, time_ns):
        """A mark of the collector is a range without length."""
        self.range(text, self.first_device, time_ns, time_ns, domain="xlatrace")

    def add_pauses(self):
        for device, start_ns, end_ns in self.timeline.pauses:
            if device == self.first_device:
                self.mark("window closed", start_ns)
                self.mark("window opened", end_ns - LATENCY_NS)


def triple(options, name, default):
    values = [int(part) for part in options.get(name, str(default)).split(",")]
    values += [1 if values[0] else 0] * (3 - len(values))
    return {f"{name}_{axis}": value for axis, value in zip("xyz", values)}


def symbol_of(statement, execution):
    if "kernel" in statement.options:
        return statement.options["kernel"]
    if statement.kind == "kernel":
        return statement.name
    opcode = execution.program.opcodes[statement.name].removesuffix("-start")
    if opcode in NCCL:
        return f"ncclDevKernel_{NCCL[opcode]}_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    return re.sub(r"[^A-Za-z0-9]", "_", statement.name)


def kernel_config(statement, execution):
    options = statement.options
    return {
        "name": symbol_of(statement, execution), **triple(options, "grid", 1024), **triple(options, "block", 256),
        **triple(options, "cluster", 0), "registers_per_thread": int(options.get("registers", 32)),
        "shared_memory_dynamic_bytes": int(options.get("shared", 0)),
        "shared_memory_static_bytes": int(options.get("static_shared", 0)),
        "local_memory_per_thread_bytes": int(options.get("local", 0)),
    }


def write_recording(timeline, folder):
    """Makes `folder`, a recording with a file per rank."""
    folder.mkdir()
    (folder / "job").write_text("case\n")
    for rank in range(timeline.ranks):
        process = Process(timeline, rank)
        (folder / f"{process.identity}.rec").write_bytes(process.file.data())
