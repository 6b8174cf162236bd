# SPDX-License-Identifier: Apache-2.0
"""The fake GPU from Python: drive it through ctypes, run programs on it, read its truth log.

    import driver
    gpu = driver.Gpu()                       # in this process; LD_LIBRARY_PATH must lead to the fake
    gpu.launch("loop_fusion", grid=(4, 1, 1), count=3)
    gpu.synchronize()

    done = driver.run([driver.WORKLOAD, "-e", "launch a x 10"], log=prefix)   # in another process
    rows = driver.read_truth(prefix)         # dicts, one per kernel, memcpy, memset in order of issue

XLATRACE_FAKE_GPU is the folder with libcuda.so.1, libcupti.so.13 and fake_workload.
"""

import ctypes
import glob
import os
import shutil
import struct
import subprocess

FOLDER = os.environ.get("XLATRACE_FAKE_GPU", "")
WORKLOAD = os.path.join(FOLDER, "fake_workload")
CLIENT = os.path.join(FOLDER, "fake_gpu_client.so")

NUMBERS = {"thread", "correlation", "device", "context", "stream", "start_ns", "end_ns", "graph",
           "node", "original_node", "created_node", "dynamic_smem", "static_smem", "registers",
           "bytes", "copy_kind", "value"}


# ---- running programs on the fake ----

def environment(log=None, scenario=None, devices=None, time_scale=None, injection=None,
                libraries=(), **more):
    """The variables of a process that shall find the fake GPU; nothing of CUDA's is inherited."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("FAKE_", "CLIENT_")) and
           name not in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD")}
    # The fakes leave their objects to the process's end; they must not destroy what is in use.
    env.setdefault("ASAN_OPTIONS", "detect_leaks=0")
    env["LD_LIBRARY_PATH"] = ":".join([*libraries, FOLDER])
    for name, value in (("FAKE_GPU_LOG", log), ("FAKE_GPU_SCENARIO", scenario),
                        ("FAKE_GPU_DEVICES", devices), ("FAKE_GPU_TIME_SCALE", time_scale),
                        ("CUDA_INJECTION64_PATH", injection)):
        if value is not None:
            env[name] = str(value)
    env.update({name: str(value) for name, value in more.items()})
    return env


def run(command, timeout=300, **variables):
    """Runs `command` with environment(**variables); the result has returncode, stdout, stderr."""
    return subprocess.run(command, env=environment(**variables), capture_output=True, text=True,
                          timeout=timeout, check=False)


def read_log(path):
    """Rows of one truth log. The last line may be cut, the end may be zeros: the writer was killed."""
    with open(path, "rb") as file:
        text = file.read().rstrip(b"\0").decode()
    lines = text.split("\n")[:-1]
    if not lines:
        return []
    columns = lines[0].split("\t")
    rows = []
    for line in lines[1:]:
        row = dict(zip(columns, line.split("\t")))
        for name in NUMBERS & row.keys():
            row[name] = int(row[name])
        rows.append(row)
    return rows


def truth_files(prefix):
    return sorted(glob.glob(glob.escape(str(prefix)) + ".*.tsv"))


def read_truth(prefix):
    """Rows of all processes that wrote to FAKE_GPU_LOG=prefix."""
    return [row for path in truth_files(prefix) for row in read_log(path)]


def read_counts(prefix):
    """Sums of all processes that wrote to FAKE_GPU_COUNTS=prefix."""
    sums = {}
    for path in glob.glob(glob.escape(str(prefix)) + ".*.counts"):
        with open(path, encoding="ascii") as file:
            for name, number in (line.split() for line in file):
                sums[name] = sums.get(name, 0) + int(number)
    return sums


def read_notes(prefix):
    notes = []
    for path in sorted(glob.glob(glob.escape(str(prefix)) + ".*.notes")):
        with open(path, encoding="utf-8") as file:
            notes += file.read().splitlines()
    return notes


# ---- libraries of other releases ----

def masked_cupti(folder, without=(), soname=None, source=None):
    """Copies the fake libcupti into `folder` without some of its functions. On request, the copy has the name
    of another major release (libcupti.so.12, not longer than the original). Returns the path.

    A dynamic symbol is found by hash and then by name. A changed first letter of the name in the string
    table is enough to make dlsym miss it."""
    source = source or os.path.join(FOLDER, "libcupti.so.13")
    with open(source, "rb") as file:
        image = bytearray(file.read())
    for name in without:
        at = image.find(b"\0" + name.encode() + b"\0")
        if at < 0:
            raise ValueError(f"{source} has no {name}")
        image[at + 1] = ord("x")
    if soname:
        old = b"libcupti.so.13\0"
        at = image.find(b"\0" + old) + 1
        image[at:at + len(old)] = soname.encode().ljust(len(old), b"\0")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, soname or "libcupti.so.13")
    with open(path, "wb") as file:
        file.write(image)
    shutil.copymode(source, path)
    return path


# ---- a cubin of names and figures ----

def make_cubin(kernels):
    """Bytes of an ELF that the fake driver reads as a cubin. `kernels`: (name, registers, static
    shared memory) each."""
    names, strings, symbols, info = bytearray(b"\0"), bytearray(b"\0"), bytearray(24), b""
    sections = [(0, 0, b"", 0, 0)]  # name, type, bytes, size, link

    def intern(table, text):
        at = len(table)
        table.extend(text.encode() + b"\0")
        return at

    for index, (name, registers, smem) in enumerate(kernels, 1):
        symbols += struct.pack("<IBBHQQ", intern(strings, name), 0x12, 0x10, len(sections), 0, 16)
        info += struct.pack("<III", 0x00082f04, index, registers)
        sections.append((intern(names, ".text." + name), 1, bytes(16), 16, 0))
        if smem:
            sections.append((intern(names, ".nv.shared." + name), 8, b"", smem, 0))
    sections.append((intern(names, ".nv.info"), 0x70000000, info, len(info), 0))
    sections.append((intern(names, ".strtab"), 3, bytes(strings), len(strings), 0))
    sections.append((intern(names, ".symtab"), 2, bytes(symbols), len(symbols), len(sections) - 1))
    at = intern(names, ".shstrtab")
    sections.append((at, 3, bytes(names), len(names), 0))
    body, headers = b"", b""
    for name, kind, data, size, link in sections:
        headers += struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, 64 + len(body), size, link, 0, 1, 0)
        body += data
    body += bytes(-len(body) % 8)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 190, 1, 0, 0, 64 + len(body),
                         0x005a055a, 64, 0, 0, 64, len(sections), len(sections) - 1)
    return header + body + headers


# ---- the driver API ----

class Error(Exception):
    def __init__(self, function, code):
        super().__init__(f"{function} returned {code}")
        self.code = code


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""
    _fields_ = [("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3),
                ("block", ctypes.c_uint * 3), ("smem", ctypes.c_uint),
                ("arguments", ctypes.c_void_p), ("extra", ctypes.c_void_p),
                ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)]


class Graph:
    def __init__(self, gpu, handle):
        self.gpu, self.handle, self.exec, self.nodes = gpu, handle, None, []

    def kernel(self, name, after=None, **shape):
        node = ctypes.c_void_p()
        deps = (ctypes.c_void_p * 1)(after) if after else None
        params = self.gpu.kernel_node(name, **shape)
        self.gpu.call("cuGraphAddKernelNode_v2", ctypes.byref(node), self.handle, deps,
                      ctypes.c_size_t(1 if after else 0), ctypes.byref(params))
        self.nodes.append(node)
        return node

    def instantiate(self):
        self.exec = ctypes.c_void_p()
        self.gpu.call("cuGraphInstantiateWithFlags", ctypes.byref(self.exec), self.handle,
                      ctypes.c_ulonglong(0))
        return self

    def set_kernel(self, node, name, **shape):
        params = self.gpu.kernel_node(name, **shape)
        self.gpu.call("cuGraphExecKernelNodeSetParams_v2", self.exec, node, ctypes.byref(params))

    def launch(self, stream=None):
        self.gpu.call("cuGraphLaunch", self.exec, stream)


class Gpu:
    """One device through the driver API."""

    def __init__(self, device=0, library="libcuda.so.1"):
        self.library = ctypes.CDLL(library)
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        self._functions = {}

    def try_call(self, function, *arguments):
        return getattr(self.library, function)(*arguments)

    def call(self, function, *arguments):
        code = self.try_call(function, *arguments)
        if code:
            raise Error(function, code)

    def function(self, name, registers=32, smem=0):
        key = (name, registers, smem)
        if key not in self._functions:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(module), make_cubin([key]))
            self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            self._functions[key] = function
        return self._functions[key]

    def kernel_node(self, name, grid=(1, 1, 1), block=(32, 1, 1), smem=0):
        return KernelNode(self.function(name), (ctypes.c_uint * 3)(*grid),
                          (ctypes.c_uint * 3)(*block), smem)

    def launch(self, name, grid=(1, 1, 1), block=(32, 1, 1), smem=0, stream=None, count=1):
        function = self.function(name) if isinstance(name, str) else name
        for _ in range(count):
            self.call("cuLaunchKernel", function, *grid, *block, smem, stream, None, None)

    def stream(self, flags=1):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), flags)
        return stream

    def memory(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def write(self, pointer, data):
        self.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))

    def read(self, pointer, size):
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, pointer, ctypes.c_size_t(size))
        return data.raw

    def graph(self):
        handle = ctypes.c_void_p()
        self.call("cuGraphCreate", ctypes.byref(handle), 0)
        return Graph(self, handle)

    def synchronize(self, stream=None):
        if stream is None:
            self.call("cuCtxSynchronize")
        else:
            self.call("cuStreamSynchronize", stream)
