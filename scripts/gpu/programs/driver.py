# SPDX-License-Identifier: Apache-2.0
"""The driver API by hand: no framework, no CUDA toolkit. Kernels of known resources, as PTX."""

import ctypes
import os, signal, sys, time  # noqa: E401, F401, for the programs that import all names
driver = ctypes.CDLL("libcuda.so.1")
def check(code):
    if code: raise SystemExit(f"driver error {code}")
PTX = """.version 6.5
.target sm_70
.address_size 64
.visible .entry k() { ret; }
.visible .entry spin(.param .u64 duration_ns) {
  .reg .u64 %%t<4>;
  .reg .pred %%p;
  ld.param.u64 %%t0, [duration_ns];
  mov.u64 %%t1, %%globaltimer;
  add.u64 %%t2, %%t1, %%t0;
AGAIN:
  mov.u64 %%t3, %%globaltimer;
  setp.lt.u64 %%p, %%t3, %%t2;
  @%%p bra AGAIN;
  ret;
}
.visible .entry wide() .maxntid 1024,1,1 { .shared .align 4 .b8 s[%d]; ret; }
"""
def module(shared=16384):
    handle = ctypes.c_void_p()
    check(driver.cuModuleLoadData(ctypes.byref(handle), (PTX % shared).encode()))
    return handle
def function(of, name):
    handle = ctypes.c_void_p()
    check(driver.cuModuleGetFunction(ctypes.byref(handle), of, name.encode()))
    return handle
def start():
    context = ctypes.c_void_p()
    check(driver.cuInit(0))
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(driver.cuCtxSetCurrent(context))
def launch(f, times=1, grid=1, block=32, shared=0):
    for _ in range(times):
        check(driver.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, None, None, None))
def spin(f, duration_ns, times=1):
    """Kernels that keep the GPU busy for so long (on the fake: by the scenario)."""
    value = ctypes.c_uint64(duration_ns)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    for _ in range(times):
        check(driver.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, None, parameters, None))
def sync(): check(driver.cuCtxSynchronize())
def graph(f, nodes):
    stream, made, executable = (ctypes.c_void_p() for _ in range(3))
    check(driver.cuStreamCreate(ctypes.byref(stream), 1))
    check(driver.cuStreamBeginCapture_v2(stream, 2))
    for _ in range(nodes):
        check(driver.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, None, None))
    check(driver.cuStreamEndCapture(stream, ctypes.byref(made)))
    check(driver.cuGraphInstantiateWithFlags(ctypes.byref(executable), made, ctypes.c_ulonglong(0)))
    return executable, stream
def free_memory():
    free, all = ctypes.c_size_t(), ctypes.c_size_t()
    check(driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(all)))
    return free.value
