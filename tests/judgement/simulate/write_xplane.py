# SPDX-License-Identifier: Apache-2.0
"""Writes a recording as an XSpace of JAX's profiler on a GPU (xplane.pb)."""

from events import CALL, COMPILE, COPY, FUNCTION, MARK, TO_HOST

START_UNIX_NS = 1_700_000_000_000_000_000
# CUPTI's names of the driver calls below the runtime's.
DRIVER = {"cudaLaunchKernel": "cuLaunchKernel", "cudaMemcpyAsync": "cuMemcpyHtoDAsync_v2", "cudaMemcpy": "cuMemcpyDtoH_v2",
          "cudaDeviceSynchronize": "cuCtxSynchronize", "cudaStreamSynchronize": "cuStreamSynchronize",
          "cudaMalloc": "cuMemAlloc_v2", "cudaGraphLaunch": "cuGraphLaunch",
          "cudaStreamWaitEvent": "cuStreamWaitEvent", "cudaEventRecord": "cuEventRecord"}
KERNEL_DETAILS = "regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:128,1,1 occ_pct:100"


def number(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(tag, value):
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(data)) + data


class Plane:
    def __init__(self, name):
        self.name, self.lines, self.names, self.stats = name, {}, {}, {}
        self.own = b""

    def stat(self, name, value):
        id_ = self.stats.setdefault(name, len(self.stats) + 1)
        return field(1, id_) + (field(4, value) if isinstance(value, int) else field(5, value))

    def event(self, line, line_name, name, start, end, **stats):
        id_ = self.names.setdefault(name, len(self.names) + 1)
        data = field(1, id_) + field(2, start * 1000) + field(3, (end - start) * 1000)
        data += b"".join(field(4, self.stat(key, value)) for key, value in stats.items())
        self.lines.setdefault(line, (line_name, []))[1].append(data)

    def describe(self, **stats):
        self.own += b"".join(field(6, self.stat(key, value)) for key, value in stats.items())

    def data(self):
        out = field(2, self.name)
        for id_, (name, events) in self.lines.items():
            out += field(3, field(1, id_) + field(2, name) + field(3, 0) + b"".join(field(4, e) for e in events))
        for tag, table in ((4, self.names), (5, self.stats)):
            for name, id_ in table.items():
                out += field(tag, field(1, id_) + field(2, field(1, id_) + field(2, name)))
        return field(1, out + self.own)


def add_frame(plane, frame, begin):
    line, start, end = frame.thread, frame.start - begin, frame.end - begin
    name, stats = frame.name, {}
    if frame.kind == CALL:
        name, stats = DRIVER[name], {"correlation_id": frame.correlation}
    elif frame.kind == MARK:
        name, stats = "train", {"step_num": frame.number}
    elif frame.kind == FUNCTION:
        name = f"$train.py:{frame.line} {frame.name}"
    elif frame.kind == COMPILE:
        plane.event(line, "python", "PjRtStreamExecutorClient::Compile", start, end)
        name, stats = "GpuCompiler::RunBackend", {"module": frame.name}
    plane.event(line, "python" if line == 100 else f"thread_{line}", name, start, end, **stats)


def add_work(plane, work, begin):
    stats = {"correlation_id": work.call.correlation}
    name, kind = work.name, "Compute"
    if work.kind == COPY:
        name = kind = "MemcpyD2H" if work.direction == TO_HOST else "MemcpyH2D"
        places = ("device", "pageable") if work.direction == TO_HOST else ("pinned", "device")
        stats["memcpy_details"] = f"kind_src:{places[0]} kind_dst:{places[1]} size:{work.bytes} dest:0 async:1"
    else:
        stats["kernel_details"] = KERNEL_DETAILS
        if work.instruction:
            stats |= {"hlo_op": work.instruction, "hlo_module": work.program.name, "program_id": work.program.id}
    line = work.stream + (1000 if work.kind == COPY else 0)
    plane.event(line, f"Stream #{work.stream}({kind})", name, work.start - begin, work.end - begin, **stats)


def write_xplane(recording, path):
    begin = recording.begin
    host = Plane("/host:CPU")
    for frame in recording.frames:
        add_frame(host, frame, begin)
    data = host.data()
    for device in range(recording.process.devices):
        plane = Plane(f"/device:GPU:{device}")
        plane.describe(device_vendor="Nvidia", gpu_device_name="NVIDIA H100 80GB HBM3", clock_rate=1_980_000,
                       core_count=132, compute_cap_major=9, compute_cap_minor=0,
                       memory_bandwidth=3_352_320_000_000, memory_size=85_520_809_984)
        for work in recording.work:
            if work.device == device:
                add_work(plane, work, begin)
        data += plane.data()
    session = Plane("Task Environment")
    session.describe(profile_start_time=START_UNIX_NS + begin, profile_stop_time=START_UNIX_NS + recording.window[1])
    data += session.data() + field(4, f"host{recording.process.rank}")
    with open(path, "wb") as file:
        file.write(data)
