# SPDX-License-Identifier: Apache-2.0
"""The fake driver by itself: its API, memory, modules, graphs, timeline and truth log."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import driver
from fake_gpu_case import Case

BYREF = ctypes.byref


class DriverCase(Case):
    """Runs Python in a child whose libcuda is the fake; `gpu` is a driver.Gpu."""

    def python(self, code, expect=0, **variables):
        if os.environ.get("XLATRACE_SANITIZE"):
            self.skipTest("Python cannot load a library built with sanitizers")
        program = ("import ctypes, os, sys, time\nimport driver\n"
                   "from ctypes import byref\n" + textwrap.dedent(code))
        variables = {"log": self.log, "PYTHONPATH": os.path.dirname(__file__), **variables}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env=driver.environment(**variables), timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout


class ApiTest(DriverCase):
    def test_every_function_of_cuda_h_is_found_both_ways(self):
        header = os.environ.get("XLATRACE_CUDA_H")
        if not header:
            self.skipTest("XLATRACE_CUDA_H is not set")
        with open(header, encoding="utf-8") as file:
            names = set(re.findall(r"\bCUDAAPI\s+(cu[A-Z]\w+)\s*\(", file.read()))
        self.assertGreater(len(names), 400)
        missing = self.python(f"""
            library = ctypes.CDLL("libcuda.so.1")
            for name in {sorted(names)!r}:
                if not hasattr(library, name):
                    print("dlsym", name)
                found, status = ctypes.c_void_p(), ctypes.c_int(-1)
                library.cuGetProcAddress_v2(name.encode(), byref(found), 13000, ctypes.c_uint64(0),
                                            byref(status))
                if not found.value or status.value != 0:
                    print("cuGetProcAddress", name)
            """)
        self.assertEqual(missing, "")

    def test_proc_address_obeys_the_version(self):
        out = self.python("""
            library = ctypes.CDLL("libcuda.so.1")
            def address(name, version, flags=0):
                found, status = ctypes.c_void_p(), ctypes.c_int(-1)
                library.cuGetProcAddress_v2(name, byref(found), version, ctypes.c_uint64(flags),
                                            byref(status))
                return found.value, status.value
            exported = lambda name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            print(address(b"cuCtxCreate", 3020)[0] == exported("cuCtxCreate_v2"),
                  address(b"cuCtxCreate", 12050)[0] == exported("cuCtxCreate_v4"),
                  address(b"cuLaunchKernel", 13000, 2)[0] == exported("cuLaunchKernel_ptsz"),
                  address(b"cuGraphAddNode", 11000), address(b"cuNoSuchThing", 13000))
            """)
        self.assertEqual(out.split("\n")[0], "True True True (None, 2) (None, 1)")

    def test_unsupported_function_is_reported(self):
        out = self.python("""
            gpu = driver.Gpu()
            print(gpu.try_call("cuTexRefCreate", byref(ctypes.c_void_p())))
            """)
        self.assertEqual(out, "801\n")
        self.assertIn("cuTexRefCreate is not supported", driver.read_notes(self.log))

    def test_calls_before_init_are_refused(self):
        out = self.python("""
            library = ctypes.CDLL("libcuda.so.1")
            count = ctypes.c_int()
            print(library.cuDeviceGetCount(byref(count)), library.cuInit(0),
                  library.cuDeviceGetCount(byref(count)), count.value)
            """, devices=3)
        self.assertEqual(out, "3 0 0 3\n")

    def test_device_name_states_that_it_is_fake(self):
        out = self.python("""
            gpu = driver.Gpu()
            name = ctypes.create_string_buffer(64)
            gpu.call("cuDeviceGetName", name, 64, 0)
            print(name.value.decode())
            """)
        self.assertEqual(out, "xlatrace fake GPU\n")

    def test_driver_without_a_device_reports_none(self):
        self.assertEqual(self.python("print(ctypes.CDLL('libcuda.so.1').cuInit(0))", devices=0), "100\n")

    def test_a_planned_error_hits_its_call_only(self):
        out = self.python("""
            gpu = driver.Gpu()
            pointer = ctypes.c_uint64()
            print([gpu.try_call("cuMemAlloc_v2", byref(pointer), ctypes.c_size_t(8)) for _ in range(5)])
            """, scenario=self.scenario("fail cuMemAlloc_v2 call 2 error 2 times 2\n"))
        self.assertEqual(out, "[0, 2, 2, 0, 0]\n")

    def test_a_scenario_with_a_mistake_ends_the_process(self):
        self.python("driver.Gpu()", expect=70, scenario=self.scenario("fial cuInit\n"))


class MemoryTest(DriverCase):
    def test_copies_move_data(self):
        out = self.python("""
            gpu = driver.Gpu()
            a, b = gpu.memory(1 << 20), gpu.memory(1 << 20)
            gpu.write(a, b"hello")
            gpu.call("cuMemcpyDtoDAsync_v2", b, a, ctypes.c_size_t(5), None)
            print(gpu.read(b, 5))
            gpu.call("cuMemsetD32Async", b, 0x41424344, ctypes.c_size_t(2), None)
            print(gpu.read(b, 8))
            """)
        self.assertEqual(out, "b'hello'\nb'DCBADCBA'\n")

    def test_batch_of_copies_logs_one_activity_per_copy(self):
        out = self.python("""
            gpu = driver.Gpu()
            a, b, c = gpu.memory(8), gpu.memory(8), gpu.memory(8)
            gpu.write(a, b"onetwo")
            targets, sources = (ctypes.c_uint64 * 2)(b.value, c.value), (ctypes.c_uint64 * 2)(a.value, a.value + 3)
            sizes = (ctypes.c_size_t * 2)(3, 2)
            gpu.call("cuMemcpyBatchAsync_v2", targets, sources, sizes, ctypes.c_size_t(2), None, None,
                     ctypes.c_size_t(0), None)
            print(gpu.read(b, 3), gpu.read(c, 2))
            print(gpu.try_call("cuMemcpyBatchAsync_v2", None, sources, sizes, ctypes.c_size_t(2), None,
                               None, ctypes.c_size_t(0), None))
            """)
        self.assertEqual(out, "b'one' b'tw'\n1\n")
        batch = [row for row in self.truth() if row["api"] == "cuMemcpyBatchAsync_v2"]
        self.assertEqual([(row["copy_kind"], row["bytes"]) for row in batch], [(8, 3), (8, 2)])
        self.assertEqual(batch[0]["correlation"], batch[1]["correlation"])

    def test_a_host_function_comes_between_copies(self):
        # The copy behind the host function must see what it wrote.
        out = self.python("""
            gpu = driver.Gpu()
            stream, device = gpu.stream(), gpu.memory(64)
            source, target = ctypes.create_string_buffer(b"old", 4), ctypes.create_string_buffer(4)
            def change(_):
                time.sleep(0.05)
                source.value = b"new"
            callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(change)
            gpu.call("cuLaunchHostFunc", stream, callback, None)
            gpu.call("cuMemcpyHtoDAsync_v2", device, source, ctypes.c_size_t(4), stream)
            gpu.call("cuMemcpyDtoHAsync_v2", target, device, ctypes.c_size_t(4), stream)
            gpu.synchronize(stream)
            print(target.value)
            """)
        self.assertEqual(out, "b'new'\n")

    def test_one_physical_memory_shows_at_two_addresses(self):
        out = self.python("""
            gpu = driver.Gpu()
            size = ctypes.c_size_t(2 << 20)
            properties = (ctypes.c_int * 16)(1, 0, 1, 0)  # pinned, no handle, device 0
            handle, a, b = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint64()
            gpu.call("cuMemCreate", byref(handle), size, properties, ctypes.c_uint64(0))
            for pointer in (a, b):
                gpu.call("cuMemAddressReserve", byref(pointer), size, ctypes.c_size_t(0),
                         ctypes.c_uint64(0), ctypes.c_uint64(0))
                gpu.call("cuMemMap", pointer, size, ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
                gpu.call("cuMemSetAccess", pointer, size, None, ctypes.c_size_t(0))
            gpu.write(a, b"same")
            print(gpu.read(b, 4))
            gpu.call("cuMemUnmap", a, size)
            gpu.call("cuMemAddressFree", a, size)
            print(gpu.read(b, 4))
            """)
        self.assertEqual(out, "b'same'\nb'same'\n")

    def test_memory_is_limited(self):
        out = self.python("""
            gpu = driver.Gpu()
            pointer = ctypes.c_uint64()
            ask = lambda mib: gpu.try_call("cuMemAlloc_v2", byref(pointer), ctypes.c_size_t(mib << 20))
            print(ask(600), ask(600), gpu.try_call("cuMemFree_v2", pointer), ask(900))
            """, FAKE_GPU_MEMORY_MIB=1000)
        self.assertEqual(out, "0 2 0 0\n")


class ModuleTest(DriverCase):
    def test_figures_of_a_kernel_come_from_its_cubin(self):
        out = self.python("""
            gpu = driver.Gpu()
            value = ctypes.c_int()
            for attribute in (4, 1):  # registers, static shared memory
                gpu.call("cuFuncGetAttribute", byref(value), attribute, gpu.function("k", 77, 1234))
                print(value.value)
            """)
        self.assertEqual(out, "77\n1234\n")

    def test_an_unknown_kernel_is_not_found(self):
        out = self.python("""
            gpu = driver.Gpu()
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            gpu.call("cuModuleLoadData", byref(module), driver.make_cubin([("a", 1, 0)]))
            print(gpu.try_call("cuModuleGetFunction", byref(function), module, b"b"))
            """)
        self.assertEqual(out, "500\n")

    def test_ptx_text_is_a_module(self):
        out = self.python("""
            gpu = driver.Gpu()
            text = b".version 8.0\\n.target sm_90\\n.visible .entry my_kernel(\\n)\\n{ ret; }\\n\\0"
            module, function, name = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_char_p()
            gpu.call("cuModuleLoadData", byref(module), text)
            gpu.call("cuModuleGetFunction", byref(function), module, b"my_kernel")
            gpu.call("cuFuncGetName", byref(name), function)
            print(name.value)
            """)
        self.assertEqual(out, "b'my_kernel'\n")

    def test_occupancy_is_cudas(self):
        # (threads, registers, static, dynamic) -> blocks; from cuda_occupancy.h for an H200.
        known = {(256, 32, 0, 0): 8, (384, 168, 0, 229376): 1, (128, 128, 0, 98304): 2,
                 (100, 40, 0, 0): 12, (256, 255, 0, 0): 1, (1024, 64, 40960, 0): 1,
                 (32, 16, 0, 0): 32, (32, 32, 0, 0): 32, (32, 64, 0, 0): 32, (64, 64, 0, 0): 16,
                 (96, 32, 0, 0): 21, (96, 64, 0, 0): 10}
        out = self.python(f"""
            gpu = driver.Gpu()
            for threads, registers, static, dynamic in {list(known)!r}:
                blocks = ctypes.c_int()
                function = gpu.function(f"k{{registers}}", registers, static)
                gpu.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(blocks), function,
                         threads, ctypes.c_size_t(dynamic))
                print(blocks.value)
            """)
        self.assertEqual([int(line) for line in out.split()], list(known.values()))


class TimelineTest(Case):
    def test_streams_are_ordered_and_durations_follow_the_name(self):
        self.run_script("launch a on s x 20; launch b on s x 5; launch a on t x 5; sync", client=False)
        rows = self.truth()
        self.assertEqual(len(rows), 30)
        for stream in {row["stream"] for row in rows}:
            line = [row for row in rows if row["stream"] == stream]
            for before, after in zip(line, line[1:]):
                self.assertLess(before["end_ns"], after["start_ns"])
        durations = {}
        for row in rows:
            durations.setdefault(row["name"], set()).add(row["end_ns"] - row["start_ns"])
        self.assertTrue(all(len(found) == 1 for found in durations.values()), durations)
        self.assertNotEqual(durations["a"], durations["b"])

    def test_two_runs_have_the_same_durations(self):
        found = []
        for name in ("one", "two"):
            log = os.path.join(self.folder, name)
            self.run_script("launch a x 3; copy dtod 100000; launch b; set 77; sync", client=False, log=log)
            found.append([(row["name"], row["end_ns"] - row["start_ns"]) for row in driver.read_truth(log)])
        self.assertEqual(found[0], found[1])

    def test_an_event_makes_another_stream_wait(self):
        self.run_script("launch a on s x 50; record e on s; wait-event e on t; launch b on t; sync", client=False)
        rows = self.truth()
        last = max(row["end_ns"] for row in rows if row["name"] == "a")
        self.assertGreater([row for row in rows if row["name"] == "b"][0]["start_ns"], last)

    def test_synchronising_waits_for_the_device(self):
        self.run_script("launch a on s x 3000; sync s; print done", client=False)
        last = max(row["end_ns"] for row in self.truth())
        self.assertGreater(time.time_ns(), last)

    def test_time_scale_multiplies_durations(self):
        spans = {}
        for scale in (1, 0.1):
            log = os.path.join(self.folder, f"scale{scale}")
            self.run_script("launch a x 100; sync", client=False, log=log, time_scale=scale)
            spans[scale] = [row["end_ns"] - row["start_ns"] for row in driver.read_truth(log)][0]
        self.assertAlmostEqual(spans[1] / spans[0.1], 10, delta=0.1)


class GraphTest(Case):
    def test_a_launch_runs_the_copies_of_the_nodes(self):
        self.run_script("graph g { launch a grid 3x1x1; copy dtod 64; set 8; child { launch b } }\n"
                        "run g x 2; sync", client=False)
        rows = self.truth()
        self.assertEqual([(row["what"], row["name"]) for row in rows],
                         [("kernel", "a"), ("memcpy", ""), ("memset", ""), ("kernel", "b")] * 2)
        self.assertEqual(len({row["correlation"] for row in rows}), 2)
        self.assertEqual(len({row["graph"] for row in rows}), 1)
        for row in rows:
            self.assertNotEqual(row["node"], row["original_node"])
            if row["name"] != "b":
                self.assertEqual(row["node"] >> 32, row["graph"])
                self.assertEqual(row["created_node"], row["original_node"])
        # The child graph was copied twice: into the parent, and with the parent.
        b = [row for row in rows if row["name"] == "b"][0]
        self.assertNotIn(b["created_node"], (b["node"], b["original_node"]))

    def test_an_update_changes_the_executable_only_from_then_on(self):
        self.run_script("graph g { launch a; launch b }\nrun g; update g 1 launch c grid 7x1x1; run g; sync",
                        client=False)
        rows = self.truth()
        self.assertEqual([row["name"] for row in rows], ["a", "b", "a", "c"])
        self.assertEqual(rows[3]["grid"], "7x1x1")
        self.assertEqual(rows[3]["node"], rows[1]["node"])

    def test_a_disabled_node_does_not_run(self):
        self.run_script("graph g { launch a; launch b }\ndisable g 0; run g; enable g 0; run g; sync", client=False)
        self.assertEqual([row["name"] for row in self.truth()], ["b", "a", "b"])

    def test_capture_makes_nodes(self):
        self.run_script("graph g by capture { launch a; copy dtod 10; launch b }\nrun g x 2; sync", client=False)
        rows = self.truth()
        self.assertEqual([row["name"] for row in rows], ["a", "", "b"] * 2)
        self.assertTrue(all(row["graph"] for row in rows))

    def test_independent_nodes_overlap(self):
        self.run_script("graph g { launch a; launch b after none }\nrun g; sync", client=False)
        a, b = self.truth()
        self.assertEqual(a["start_ns"], b["start_ns"])


class UpdateTest(DriverCase):
    def test_update_from_another_graph_of_the_same_shape(self):
        self.python("""
            gpu = driver.Gpu()
            def graph(*names):
                made, last = gpu.graph(), None
                for name in names:
                    last = made.kernel(name, after=last)
                return made
            info = (ctypes.c_uint64 * 4)()
            running = graph("a", "b").instantiate()
            running.launch()
            other = graph("c", "d")
            gpu.call("cuGraphExecUpdate_v2", running.exec, other.handle, byref(info))
            running.launch()
            # Nodes of the second graph now stand for those of the executable too.
            running.set_kernel(other.nodes[0], "e")
            running.launch()
            print(gpu.try_call("cuGraphExecUpdate_v2", running.exec, graph("x").handle, byref(info)))
            running.launch()
            gpu.synchronize()
            """)
        self.assertEqual([row["name"] for row in self.truth()], ["a", "b", "c", "d", "e", "d", "e", "d"])

    def test_a_clone_is_a_graph_of_its_own(self):
        self.python("""
            gpu = driver.Gpu()
            graph = gpu.graph()
            node = graph.kernel("a")
            copy, found = driver.Graph(gpu, ctypes.c_void_p()), ctypes.c_void_p()
            gpu.call("cuGraphClone", byref(copy.handle), graph.handle)
            gpu.call("cuGraphNodeFindInClone", byref(found), node, copy.handle)
            params = gpu.kernel_node("b")
            gpu.call("cuGraphKernelNodeSetParams_v2", found, byref(params))
            copy.instantiate().launch()
            graph.instantiate().launch()
            gpu.call("cuGraphDestroy", graph.handle)
            copy.launch()
            gpu.synchronize()
            """)
        self.assertEqual([row["name"] for row in self.truth()], ["b", "a", "b"])

    def test_capture_follows_events_to_other_streams(self):
        self.python("""
            gpu = driver.Gpu()
            one, two = gpu.stream(), gpu.stream()
            fork, join = ctypes.c_void_p(), ctypes.c_void_p()
            gpu.call("cuEventCreate", byref(fork), 0)
            gpu.call("cuEventCreate", byref(join), 0)
            gpu.call("cuStreamBeginCapture_v2", one, 0)
            gpu.launch("a", stream=one)
            gpu.call("cuEventRecord", fork, one)
            gpu.call("cuStreamWaitEvent", two, fork, 0)
            gpu.launch("b", stream=two)
            gpu.launch("c", stream=one)
            gpu.call("cuEventRecord", join, two)
            gpu.call("cuStreamWaitEvent", one, join, 0)
            gpu.launch("d", stream=one)
            graph = driver.Graph(gpu, ctypes.c_void_p())
            gpu.call("cuStreamEndCapture", one, byref(graph.handle))
            graph.instantiate().launch(one)
            gpu.synchronize(one)
            gpu.launch("free", stream=two)
            gpu.synchronize()
            """)
        rows = {row["name"]: row for row in self.truth()}
        self.assertEqual(sorted(rows), ["a", "b", "c", "d", "free"])
        self.assertEqual(rows["b"]["start_ns"], rows["c"]["start_ns"])
        self.assertGreater(rows["b"]["start_ns"], rows["a"]["end_ns"])
        self.assertGreater(rows["d"]["start_ns"], max(rows["b"]["end_ns"], rows["c"]["end_ns"]))
        self.assertEqual((rows["free"]["graph"], bool(rows["d"]["graph"])), (0, True))


CONDITIONS = """
    gpu = driver.Gpu()
    NULL = ctypes.c_uint64(0)
    text = b".version 8.0\\n"
    for name, kinds in (("set_if_else_condition", "u64 u64 u64"), ("set_while_condition", "u64 u64"),
                        ("set_for_condition", "u64 u64 u32"),
                        ("set_case_condition", "u64 " * 9 + "u8 u32 u32 u8")):
        params = ",".join(f".param .{kind} {name}_param_{i}" for i, kind in enumerate(kinds.split()))
        text += f".visible .entry {name}({params}) {{ ret; }}\\n".encode()
    module = ctypes.c_void_p()
    gpu.call("cuModuleLoadData", byref(module), text + bytes(1))

    class Conditional(ctypes.Structure):
        _fields_ = [("kind", ctypes.c_int), ("reserved", ctypes.c_int * 3), ("handle", ctypes.c_uint64),
                    ("type", ctypes.c_int), ("size", ctypes.c_uint), ("bodies", ctypes.POINTER(ctypes.c_void_p)),
                    ("rest", ctypes.c_uint64 * 40)]

    def handle(graph, default=0):
        made = ctypes.c_uint64()
        gpu.call("cuGraphConditionalHandleCreate", byref(made), graph.handle, gpu.context, default, 1)
        return made

    def setter(graph, name, arguments, after=None):
        function = ctypes.c_void_p()
        gpu.call("cuModuleGetFunction", byref(function), module, name)
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        params = driver.KernelNode(function, (ctypes.c_uint * 3)(1, 1, 1), (ctypes.c_uint * 3)(1, 1, 1), 0,
                                   ctypes.cast(pointers, ctypes.c_void_p))
        node = ctypes.c_void_p()
        gpu.call("cuGraphAddKernelNode_v2", byref(node), graph.handle,
                 (ctypes.c_void_p * 1)(after) if after else None, ctypes.c_size_t(1 if after else 0), byref(params))
        return node

    def condition(graph, made, kind, size, after):
        params = Conditional(13, handle=made.value, type=kind, size=size)
        node = ctypes.c_void_p()
        gpu.call("cuGraphAddNode_v2", byref(node), graph.handle, (ctypes.c_void_p * 1)(after), None,
                 ctypes.c_size_t(1), byref(params))
        return [driver.Graph(gpu, ctypes.c_void_p(params.bodies[i])) for i in range(size)]
"""


class ConditionTest(DriverCase):
    """XLA's set-condition kernels choose the bodies, from the memory they point to."""

    def ran(self, code):
        self.python(textwrap.dedent(CONDITIONS) + textwrap.dedent(code))
        return [row["name"] for row in self.truth() if row["what"] == "kernel"]

    def test_if_else_condition_selects_one_branch(self):
        names = self.ran("""
            flag, graph = gpu.memory(1), gpu.graph()
            then, other = handle(graph), handle(graph)
            first = setter(graph, b"set_if_else_condition", [then, other, flag])
            condition(graph, then, 0, 1, first)[0].kernel("then")
            condition(graph, other, 0, 1, first)[0].kernel("else")
            graph.instantiate().launch()
            gpu.write(flag, bytes([1]))
            graph.launch()
            gpu.synchronize()
            """)
        self.assertEqual(names, ["set_if_else_condition", "else", "set_if_else_condition", "then"])

    def test_case_condition_selects_one_branch(self):
        names = self.ran("""
            index, graph = gpu.memory(4), gpu.graph()
            handles = [handle(graph) for _ in range(3)]
            unused = [ctypes.c_uint64(0)] * 5
            first = setter(graph, b"set_case_condition", handles + unused + [
                index, ctypes.c_uint8(0), ctypes.c_int32(0), ctypes.c_int32(3), ctypes.c_uint8(1)])
            for i, made in enumerate(handles):
                condition(graph, made, 0, 1, first)[0].kernel(f"branch{i}")
            graph.instantiate()
            for value in (0, 1, 2, 9):  # 9: out of range, the last branch
                gpu.write(index, value.to_bytes(4, "little"))
                graph.launch()
            gpu.synchronize()
            """)
        self.assertEqual([name for name in names if name.startswith("branch")],
                         ["branch0", "branch1", "branch2", "branch2"])

    def test_while_ends_with_its_predicate(self):
        names = self.ran("""
            flag, graph = gpu.memory(1), gpu.graph()
            loop = handle(graph)
            first = setter(graph, b"set_while_condition", [loop, flag])
            body = condition(graph, loop, 1, 1, first)[0]
            node = body.kernel("body")
            setter(body, b"set_while_condition", [loop, flag], after=node)
            graph.instantiate().launch()
            gpu.synchronize()
            """)
        self.assertEqual(names, ["set_while_condition"])

    def test_for_condition_runs_the_given_times(self):
        names = self.ran("""
            counter, graph = gpu.memory(4), gpu.graph()
            loop = handle(graph)
            arguments = [loop, counter, ctypes.c_int32(4)]
            first = setter(graph, b"set_for_condition", arguments)
            body = condition(graph, loop, 1, 1, first)[0]
            setter(body, b"set_for_condition", arguments, after=body.kernel("body"))
            graph.instantiate().launch()
            gpu.synchronize()
            """)
        self.assertEqual(names.count("body"), 4)


class ProcessTest(DriverCase):
    def test_the_log_survives_sigkill(self):
        self.run_script("launch a x 1000; kill 9", expect=-signal.SIGKILL, client=False)
        self.assertEqual(len(self.truth()), 1000)

    def test_sums_equal_the_log(self):
        counts = os.path.join(self.folder, "sums")
        self.run_script("launch a x 123; copy dtod 1000 x 7; set 5 x 2; kill 9", expect=-signal.SIGKILL,
                        client=False, FAKE_GPU_COUNTS=counts)
        rows = self.truth()
        self.assertEqual(driver.read_counts(counts),
                         {"kernel": 123, "memcpy": 7, "memset": 2, "bytes": 7010,
                          "device_ns": sum(row["end_ns"] - row["start_ns"] for row in rows)})

    def test_a_finished_process_leaves_no_padding(self):
        self.run_script("launch a", client=False)
        with open(driver.truth_files(self.log)[0], "rb") as file:
            self.assertTrue(file.read().endswith(b"cuLaunchKernel\t\n"))

    def test_a_child_of_an_initialised_process_has_no_device(self):
        out = self.python("""
            gpu = driver.Gpu()
            gpu.launch("a")
            if os.fork() == 0:
                print(gpu.try_call("cuInit", 0), gpu.try_call("cuCtxSynchronize"), flush=True)
                sys.exit(0)
            os.wait()
            gpu.launch("b")
            """)
        self.assertEqual(out, "3 3\n")
        self.assertEqual([row["name"] for row in self.truth()], ["a", "b"])

    def test_a_child_of_a_fresh_process_has_its_own(self):
        self.run_script("fork { launch a }\nlaunch b", client=False)
        self.assertEqual(sorted(row["name"] for row in self.truth()), ["a", "b"])
        self.assertEqual(len(driver.truth_files(self.log)), 2)

    def test_failed_execs_leave_the_log_intact(self):
        done = self.run_script('launch a; failed-execs 200; system true; launch b; sync; print on', client=False)
        self.assertEqual(done.stdout, "system 0\non\n")
        self.assertEqual([row["name"] for row in self.truth()], ["a", "b"])

    def test_exit_paths_have_their_status(self):
        for door, status in (("exit 3", 3), ("_exit 4", 4), ("quick_exit 5", 5),
                             ("abort", -signal.SIGABRT), ("kill 15", -signal.SIGTERM),
                             ("exec true", 0), ("exec false", 1)):
            with self.subTest(door=door):
                self.run_script("launch a; " + door, expect=status, client=False)


class InjectionTest(Case):
    def test_empty_injection_path_is_ignored(self):
        self.assertEqual(self.run_script("launch a; sync", client=False, injection="").stderr, "")

    def test_injection_path_that_cannot_be_loaded_is_reported(self):
        done = self.run_script("launch a; sync; print on", client=False, injection="/no/such.so")
        self.assertIn("/no/such.so", done.stderr)
        self.assertEqual(done.stdout, "on\n")

    def test_injected_library_is_loaded_once(self):
        self.run_script("init; threads 4 { launch a_%t }; sync")
        self.assertEqual(len(self.lines("subscribe")), 1)


if __name__ == "__main__":
    unittest.main()
