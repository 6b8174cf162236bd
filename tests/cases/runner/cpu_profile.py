# SPDX-License-Identifier: Apache-2.0
"""A timeline of a CPU as the framework's profiler writes it (XSpace, *.xplane.pb): one file per rank.

Ops are events of the thread that stands for their device and stream. Host ranges, steps and compilations are
events of the Python thread.
"""

from recording_file import number

START_UNIX_NS = 1_800_000_000_000_000_000
PYTHON_THREAD = 1000
FIRST_OP_THREAD = 2000
# Names of stats, by their number.
STATS = ["hlo_op", "hlo_module", "program_id", "run_id", "device_ordinal", "step_num", "module",
         "profile_start_time", "profile_stop_time"]
# Fields of XStat by the type of its value.
UINT64, TEXT = 3, 5


def field(tag, value):
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(data)) + data


def stat(name, value):
    kind = UINT64 if isinstance(value, int) else TEXT
    return field(1, STATS.index(name) + 1) + field(kind, value)


class Plane:
    def __init__(self, name):
        self.name = name
        self.lines = {}  # By id: name and events.
        self.event_names = {}
        self.stats = []

    def event(self, line, line_name, name, start_ns, end_ns, **stats):
        id_ = self.event_names.setdefault(name, len(self.event_names) + 1)
        encoded = field(1, id_) + field(2, start_ns * 1000) + field(3, (end_ns - start_ns) * 1000)
        encoded += b"".join(field(4, stat(key, value)) for key, value in stats.items())
        self.lines.setdefault(line, (line_name, []))[1].append(encoded)

    def data(self):
        out = field(2, self.name)
        for id_, (name, events) in self.lines.items():
            out += field(3, field(1, id_) + field(2, name) + field(3, START_UNIX_NS) +
                         b"".join(field(4, event) for event in events))
        for name, id_ in self.event_names.items():
            out += field(4, field(1, id_) + field(2, field(1, id_) + field(2, name)))
        for id_, name in enumerate(STATS, 1):
            out += field(5, field(1, id_) + field(2, field(1, id_) + field(2, name)))
        return out + b"".join(field(6, one) for one in self.stats)


def profile_of(timeline, rank):
    host = Plane("/host:CPU")
    first = rank * timeline.devices_per_rank
    devices = range(first, first + timeline.devices_per_rank)
    last_ns = 0
    for work in timeline.work:
        if work.device not in devices:
            continue
        if work.execution is None or work.statement.kind != "instruction":
            raise work.statement.line.error("a CPU runs the instructions of programs only")
        program = work.execution.program
        thread = FIRST_OP_THREAD + 100 * (work.device - first) + work.stream
        name = work.statement.name
        host.event(thread, f"tf_XLAEigen/{thread}", name, work.start_ns, work.end_ns, hlo_op=name,
                   hlo_module=program.name, program_id=program.id, run_id=work.execution.number,
                   device_ordinal=work.device - first)
        last_ns = max(last_ns, work.end_ns)
    for time in timeline.host:
        if time.device != first:
            continue
        for name in time.names:
            host.event(PYTHON_THREAD, "python", name, time.start_ns, time.end_ns)
        if time.compiled:
            host.event(PYTHON_THREAD, "python", "PjRtCpuClient::Compile", time.start_ns, time.end_ns)
            host.event(PYTHON_THREAD, "python", "CpuCompiler::RunBackend", time.start_ns, time.end_ns,
                       module=time.compiled.name)
        last_ns = max(last_ns, time.end_ns)
    marks = [mark for mark in timeline.marks if mark.device == first]
    for mark, after in zip(marks, [*marks[1:], None]):
        end_ns = after.time_ns if after else last_ns
        host.event(PYTHON_THREAD, "python", "train", mark.time_ns, end_ns, step_num=mark.step)
    session = Plane("Task Environment")
    session.stats = [stat("profile_start_time", START_UNIX_NS),
                     stat("profile_stop_time", START_UNIX_NS + last_ns)]
    return field(1, host.data()) + field(1, session.data()) + field(4, "host")


def write_profiles(timeline, folder):
    """Makes `folder` with a profile per rank."""
    folder.mkdir()
    for rank in range(timeline.ranks):
        (folder / f"rank{rank}.xplane.pb").write_bytes(profile_of(timeline, rank))
