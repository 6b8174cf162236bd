# SPDX-License-Identifier: Apache-2.0
"""The parts of a simulated run. Times are nanoseconds since the start of the process."""

import dataclasses

# Kinds of frames: what a host thread does between two instants.
RANGE = "range"  # Annotated by the user: NVTX, TraceMe, record_function.
FUNCTION = "function"  # A Python function, which only a stack recorder sees.
SILENT = "silent"  # Nothing records it.
FRAMEWORK = "framework"  # A range or op of JAX, XLA, or PyTorch.
MODULE = "module"  # One run of a program: `XlaModule:` of NVTX. Belongs to the framework.
THUNK = "thunk"  # One instruction of a program: `Thunk:` of NVTX. Belongs to the framework.
COMPILE = "compile"  # A compilation of a program.
MARK = "mark"  # A step as the program marks it.
CALL = "call"  # A call of CUDA.

KERNEL, COPY, COLLECTIVE = "kernel", "copy", "collective"
TO_DEVICE, TO_HOST = "to device", "to host"


@dataclasses.dataclass
class Frame:
    thread: int
    kind: str
    name: str
    start: int
    end: int = None
    line: int = None  # Line of train.py.
    call_class: str = None  # launch, copy_wait, sync, alloc.
    correlation: int = None
    number: int = None  # The step (MARK) or the execution (MODULE).
    program: object = None


@dataclasses.dataclass
class Work:
    """A kernel, a copy, or a collective on a device."""

    device: int
    stream: int
    kind: str
    name: str
    start: int
    end: int
    call: Frame
    order: int  # In which the host launches.
    key: str  # Equal for the same work of two iterations.
    iteration: int = None  # None: between two iterations.
    purpose: str = "step"  # step, evaluation, checkpoint, logging.
    ready: int = 0  # When the last work that it waits for on other devices ended.
    program: object = None
    instruction: str = None
    execution: int = None
    graph: int = None
    last_arrival: int = None  # When the last device of a collective's group arrived, and which one.
    late: tuple = None  # Rank and device.
    bytes: int = 0
    direction: str = None


@dataclasses.dataclass
class Process:
    rank: int
    frames: list
    work: list
    devices: int
    end: int  # When the process ended.


@dataclasses.dataclass
class Run:
    seed: int
    plan: object
    processes: list


@dataclasses.dataclass
class Recording:
    """The records of one process in one format."""

    format: str
    process: Process
    frames: list
    work: list
    begin: int  # When the recorder was started and stopped.
    stop: int
    ranks: int = 1
    window: tuple = None  # The recorded window where the format states it.
