# SPDX-License-Identifier: Apache-2.0
"""The fake CUPTI, tested by its own client. Records equal the driver's truth, NVIDIA's iterator walks every
buffer to its last byte, and every fault of the scenario language has its effect."""

import os
import signal
import unittest

import driver
from fake_gpu_case import Case

MIXED = """
kernel big registers 168 smem 2048
launch a grid 4x2x1 block 128x2x1 smem 4096 x 5
launch big on s1 x 3
copy htod 4096; copy dtoh 100 on s1; copy dtod 1000; set 512 on s1
graph g { launch in_graph grid 2x2x2; copy dtod 64; set 32; child { launch inner } }
run g x 3 on s1
update g 0 launch updated grid 9x1x1
run g
graph c by capture { launch cap_a; launch cap_b }
run c
threads 4 { launch threaded_%t x 200 on st%t }
sync
"""

# Bytes of a record, as facts of NVIDIA's libraries: release -> (kernel, memcpy, memset).
SIZES = {18: (200, 88, 88), 22: (208, 88, 88), 26: (208, 96, 88), 28: (208, 96, 88),
         130001: (216, 96, 88), 130101: (224, 96, 88), 130401: (248, 112, 104)}


class RecordTest(Case):
    def test_records_equal_the_truth(self):
        self.run_script(MIXED)
        self.assertGreater(len(self.truth()), 800)
        self.assert_records_equal_truth()

    def test_peer_copies_too(self):
        self.run_script("copy peer 4096 x 3; device 1; copy peer 100; launch a; sync; device 0; sync",
                        devices=2)
        self.assertEqual({row["copy_kind"] for row in self.truth() if row["what"] == "memcpy"}, {10})
        self.assert_records_equal_truth()

    def test_small_buffers_and_an_early_flush(self):
        self.run_script(MIXED + "sleep 60\nlaunch a x 50; sync", CLIENT_BUFFER=4096, CLIENT_FLUSH_MS=5)
        self.assertGreater(len(self.lines("buffer")), 20)
        self.assert_records_equal_truth()

    def test_nvidias_iterator_walks_every_buffer(self):
        if not os.environ.get("XLATRACE_REAL_CUPTI"):
            self.skipTest("no libcupti of NVIDIA here")
        self.run_script(MIXED, CLIENT_KINDS="10,1,2,4,5,8,9,17,37,38,27", CLIENT_BUFFER=20000)
        self.assertEqual(self.lines("error"), [])
        self.assertTrue(self.lines("buffer"))
        kinds = {words[1] for words in self.lines("record")}
        self.assertLessEqual({"8", "9", "17", "37", "38", "27"}, kinds)
        self.assert_records_equal_truth()

    def test_every_release_has_its_record_sizes(self):
        for api, sizes in SIZES.items():
            for script, size in zip(("launch a", "copy dtod 100", "set 8"), sizes):
                with self.subTest(api=api, script=script):
                    records = os.path.join(self.folder, f"r{api}{script[0]}")
                    self.records = records
                    self.run_script(script + "; sync", FAKE_CUPTI_API=api, CLIENT_KINDS="10,1,2",
                                    CLIENT_ORACLE=None)
                    self.assertEqual(self.lines("error"), [])
                    self.assertEqual(self.lines("buffer"), [["buffer", str(size), str(size)]])

    def test_calls_are_told_for_wanted_ids_only(self):
        self.run_script("launch a x 3; copy dtod 10; graph g { launch b }\nrun g; sync")
        self.assertEqual([words[3] for words in self.lines("call")], ["307"] * 3 + ["514"])
        enters = [words for words in self.lines("callback") if words[3] == "enter"]
        self.assertEqual([words[4:7:2] for words in enters], [["cuLaunchKernel", "a"]] * 3)
        kernels = [row["correlation"] for row in self.activities() if row["name"] == "a"]
        self.assertEqual([int(words[5]) for words in enters], kernels)

    def test_the_driver_kind_tells_all_calls(self):
        self.run_script("launch a; copy dtod 10; sync", CLIENT_KINDS="4")
        # cuLaunchKernel, cuMemAlloc_v2, cuMemcpyDtoDAsync_v2, cuCtxSynchronize.
        self.assertLessEqual({"307", "243", "281", "17"}, {words[3] for words in self.lines("call")})
        threads = {words[1] for words in self.lines("call")}
        self.assertEqual(threads, {str(self.truth()[0]["thread"])})

    def test_without_calls_there_is_no_correlation(self):
        # The client's launch callback is what makes ids here; kinds alone would leave 0.
        self.run_script("launch a; sync", CLIENT_KINDS="10")
        self.assertEqual([row["correlation"] for row in self.activities()],
                         [row["correlation"] for row in self.truth()])

    def test_graph_level_tracing_hides_the_nodes(self):
        self.run_script("graph g { launch a; launch b }\nrun g x 2; launch c; sync", CLIENT_KINDS="10,51")
        self.assertEqual([row["name"] for row in self.activities()], ["c"])
        self.assertEqual(len(self.lines("graph")), 2)
        truth = [row for row in self.truth() if row["graph"]]
        for words, rows in zip(self.lines("graph"), (truth[:2], truth[2:])):
            self.assertEqual(int(words[1]), rows[0]["correlation"])
            self.assertEqual(int(words[2]), rows[0]["graph"])
            self.assertLessEqual(int(words[3]), rows[0]["start_ns"])
            self.assertEqual(int(words[4]), rows[1]["end_ns"])

    def test_node_callbacks_lead_from_created_to_executed(self):
        self.run_script("graph g { launch a; child { launch b } }\nrun g; sync")
        created = {int(w[2]) for w in self.lines("node") if w[1] == "13"}
        original = {int(w[2]): int(w[3]) for w in self.lines("node") if w[1] == "20"}
        for row in self.truth():
            node = row["node"]
            while node in original:
                node = original[node]
            self.assertIn(node, created)
            self.assertEqual(node, row["created_node"])

    def test_a_forced_flush_cuts_running_work(self):
        # Many seconds on the device; the program ends long before.
        self.run_script("launch a x 900 on s", time_scale=2000)
        rows = self.activities()
        cut = [row for row in rows if row["end_ns"] == 0]
        self.assertEqual(len(rows), 900)
        self.assertGreater(len(cut), 100)

    # The kernel "long" runs until the process is killed. The client flushes every 5 ms.
    BUSY = "launch a x 100; launch long on s"
    LONG = "kernel long times 1000000000\n"

    def busy(self, scenario, until="sleep 0.3", **variables):
        """Records of a process that is killed after a shell command."""
        self.run_script(f'{self.BUSY}; system "{until}"; kill 9', expect=-signal.SIGKILL,
                        CLIENT_FLUSH_MS=5, scenario=self.scenario(scenario), **variables)
        return len(self.activities())

    def until(self, records):
        return f"while [ $(cat {self.records}* | grep -c ^kernel) -lt {records} ]; do sleep 0.05; done"

    def test_plain_flush_withholds_buffer_with_open_slot(self):
        self.assertEqual(self.busy(self.LONG, CLIENT_BUFFER=100000), 0)

    def test_full_buffers_come_back_beside_one_with_an_open_slot(self):
        # 10 records of 216 bytes per buffer.
        self.assertIn(self.busy(self.LONG, self.until(90), CLIENT_BUFFER=2200), range(90, 101))

    def test_slots_at_completion_give_back_all_that_has_ended(self):
        told = self.busy(self.LONG + "cupti slots at completion\n", self.until(100), CLIENT_BUFFER=100000)
        self.assertEqual(told, 100)

    def test_records_wait_for_the_device(self):
        # Killed while most work is still ahead: an ordinary flush delivered only finished work.
        told = f"while ! grep -qs ^kernel {self.records}*; do sleep 0.05; done"
        self.run_script(f'launch a x 1000 on s; system "{told}"; kill 9', expect=-signal.SIGKILL,
                        time_scale=2000, CLIENT_FLUSH_MS=5)
        told = self.activities()
        ends = sorted(row["end_ns"] for row in self.truth())
        self.assertTrue(0 < len(told) < 1000, len(told))
        self.assertEqual(sorted(row["end_ns"] for row in told), ends[:len(told)])

    def test_threads_that_ended_lose_nothing(self):
        self.run_script("repeat 20 { threads 10 { launch a_%t x 20 on s%t } }\nsync", CLIENT_FLUSH_MS=3)
        self.assertEqual(len(self.truth()), 4000)
        self.assert_records_equal_truth()

    def test_a_recorded_event_has_a_record_of_its_stream(self):
        self.run_script("launch a on s; record first on s; record second on s; sync", CLIENT_KINDS="10,36")
        self.assertEqual(self.lines("error"), [])
        stream = str(self.activities()[0]["stream"])
        events = self.lines("event")
        self.assertEqual([words[2] for words in events], [stream, stream])
        self.assertEqual(len({words[1] for words in events}), 2)  # Two calls.
        self.assertEqual(len({words[3] for words in events}), 2)  # Two events.

    def test_module_callback_carries_the_cubin(self):
        self.run_script("launch a; sync", CLIENT_KINDS="10,27")
        self.assertGreater(int(self.lines("module")[0][2]), 400)

    def test_a_fork_child_of_a_fresh_process_is_traced_itself(self):
        self.run_script("fork { launch a x 3; sync }\nlaunch b; sync")
        self.assertEqual(len(driver.truth_files(self.records)), 2)
        self.assert_records_equal_truth()


class RuntimeTest(Case):
    """A fake runtime library marks its calls through the private table (fake_gpu.h)."""

    def test_a_runtime_call_hides_its_driver_calls(self):
        if os.environ.get("XLATRACE_SANITIZE"):
            self.skipTest("Python cannot load a library built with sanitizers")
        code = """
import ctypes, driver
gpu = driver.Gpu()
table = ctypes.POINTER(ctypes.c_void_p)()
gpu.call("cuGetExportTable", ctypes.byref(table), b"xlatrace-fakegpu")
enter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[4])
leave = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)(table[5])
named = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32)(table[6])
class Call(ctypes.Structure):
    _fields_ = [("domain", ctypes.c_int), ("cbid", ctypes.c_uint32), ("name", ctypes.c_char_p),
                ("rest", ctypes.c_uint64 * 20)]
kernel = ctypes.c_void_p(named(b"nvjet_gemm", 168, 1024))
assert named(b"nvjet_gemm", 168, 1024) == kernel.value
outer, inner = Call(2, 211, b"cudaLaunchKernel"), Call(2, 211, b"cudaLaunchKernel")
enter(ctypes.byref(outer))
enter(ctypes.byref(inner))
gpu.launch(kernel)
leave(ctypes.byref(inner), 0)
leave(ctypes.byref(outer), 0)
gpu.launch("plain")
gpu.synchronize()
"""
        import subprocess
        import sys
        env = driver.environment(log=self.log, injection=driver.CLIENT, CLIENT_LOG=self.records,
                                 CLIENT_KINDS="4,5,10", PYTHONPATH=os.path.dirname(__file__))
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_records_equal_truth()
        library, plain = self.truth()
        self.assertEqual((library["name"], library["api"], library["registers"], library["static_smem"]),
                         ("nvjet_gemm", "cudaLaunchKernel", 168, 1024))
        calls = {int(words[2]): words[3] for words in self.lines("call") if words[3] in ("211", "307")}
        self.assertEqual(calls, {library["correlation"]: "211", plain["correlation"]: "307"})


class FaultTest(Case):
    SCRIPT = "launch a x 10; launch b x 10; sync"

    def broken(self, text, script=SCRIPT, **variables):
        return self.run_script(script, scenario=self.scenario(text), **variables)

    def names(self):
        return [row["name"] for row in self.activities()]

    def test_wrong_record_size(self):
        self.broken("cupti size 10 208\n", CLIENT_KINDS="10")
        self.assertTrue(self.lines("error"))
        with self.assertRaises(AssertionError):
            self.assert_records_equal_truth()

    def test_lost_clone(self):
        self.broken("cupti lose clone 2\n", "graph g { launch a; launch b }\nrun g; sync")
        clones = {int(w[2]) for w in self.lines("node") if w[1] == "20"}
        a, b = self.truth()
        self.assertIn(a["node"], clones)
        self.assertNotIn(b["node"], clones)

    def test_swapped_correlation(self):
        self.broken("cupti swap correlation 10\n")
        with self.assertRaises(AssertionError):
            self.assert_records_equal_truth()
        self.assert_records_equal_truth(correlation=False)
        by_id = lambda rows: {row["correlation"]: row["name"] for row in rows}
        swapped = {key for key, name in by_id(self.truth()).items()
                   if by_id(self.activities())[key] != name}
        self.assertEqual(len(swapped), 2)

    def test_dropped_buffer_counted_and_not(self):
        for word, dropped in (("counted", True), ("uncounted", False)):
            with self.subTest(word):
                self.records = os.path.join(self.folder, word)
                self.broken(f"cupti drop buffers 2 1 {word}\n", "launch a x 100; sync",
                            CLIENT_BUFFER=4096, CLIENT_KINDS="10", log=os.path.join(self.folder, word + "truth"))
                told = sum(int(words[1]) for words in self.lines("dropped"))
                missing = 100 - len(self.activities())
                self.assertEqual(missing, 4096 // 216)
                self.assertEqual(told, missing if dropped else 0)

    def test_dropped_records(self):
        self.broken("cupti drop records 3 4 counted\n")
        self.assertEqual(len(self.activities()), 16)
        self.assertEqual(sum(int(words[1]) for words in self.lines("dropped")), 4)

    def test_range_popped_twice(self):
        # Given to the program, which pops: the tool gets a pop without a push.
        done = self.broken("nvtx pop twice 1\n", 'range "r" { launch a }\nsync; print on')
        self.assertEqual(done.stdout, "on\n")

    def test_zero_and_reversed_times(self):
        self.broken("cupti times zero 2 3\ncupti times reversed 10\n")
        rows = self.activities()
        self.assertEqual(sum(row["start_ns"] == row["end_ns"] == 0 for row in rows), 3)
        self.assertEqual(sum(row["start_ns"] > row["end_ns"] for row in rows), 1)

    def test_unknown_kind(self):
        self.broken("cupti unknown kind 77 before 5\n", CLIENT_ORACLE=None)
        self.assertEqual(self.lines("error"), [["error", "iterator ended with 21"]])
        self.assertEqual(len(self.activities()), 4)

    def test_shuffled_buffers(self):
        self.broken("cupti shuffle 3\n", "launch a x 200; sync", CLIENT_BUFFER=4096, CLIENT_KINDS="10")
        starts = [row["start_ns"] for row in self.activities()]
        self.assertNotEqual(starts, sorted(starts))
        self.assert_records_equal_truth()

    def test_late_records(self):
        self.broken("cupti late 100000\n", "launch a; sync; sleep 50; kill 9", expect=-9, CLIENT_FLUSH_MS=5)
        self.assertEqual(self.activities(), [])

    def test_buffers_after_the_exit_handlers(self):
        self.broken("cupti hold until exit\n", CLIENT_BUFFER=2048)
        kinds = [words[0] for words in self.lines("end", "kernel")]
        self.assertEqual(kinds[0], "end")
        self.assertEqual(len(self.activities()), 20)

    def test_another_subscriber(self):
        self.broken('cupti subscriber "Nsight Systems"\n')
        self.assertEqual(self.lines("subscribe"), [["subscribe", "39", "Nsight Systems"]])
        self.assertEqual(self.names(), [])

    def test_fatal_error(self):
        self.broken("cupti fatal after 5\n")
        self.assertEqual(len(self.activities()), 5)
        self.assertEqual(self.lines("state"), [["state", "1", "the scenario wants it"]])

    def test_error_at_a_call(self):
        self.broken("fail cuptiActivityEnable call 2 error 21\n")
        self.assertEqual(self.lines("error"), [["error", "enable 1: 21"]])

    def test_error_at_any_call(self):
        self.broken("fail cupti* call 1 error 999\n")
        self.assertEqual(self.lines("subscribe"), [["subscribe", "999", ""]])

    def test_a_flush_that_hangs(self):
        with self.assertRaises(Exception) as caught:
            self.broken("hang cuptiActivityFlushAll\n", timeout=2)
        self.assertIn("timed out", str(caught.exception))

    def test_missing_symbol(self):
        folder = os.path.join(self.folder, "masked")
        driver.masked_cupti(folder, ["cuptiActivityEnableLaunchAttributes"])
        import ctypes
        if os.environ.get("XLATRACE_SANITIZE"):
            self.skipTest("Python cannot load a library built with sanitizers")
        library = ctypes.CDLL(os.path.join(folder, "libcupti.so.13"))
        self.assertFalse(hasattr(library, "cuptiActivityEnableLaunchAttributes"))
        self.assertTrue(hasattr(library, "cuptiActivityEnable"))

    def test_no_driver(self):
        import subprocess
        import sys
        if os.environ.get("XLATRACE_SANITIZE"):
            self.skipTest("Python cannot load a library built with sanitizers")
        code = ("import ctypes; c = ctypes.CDLL(%r); s = ctypes.c_void_p();"
                "print(c.cuptiGetVersion(ctypes.byref(ctypes.c_uint32())),"
                "c.cuptiSubscribe(ctypes.byref(s), None, None), c.cuptiActivityFlushAll(0))"
                % os.path.join(driver.FOLDER, "libcupti.so.13"))
        for api, expected in ((28, "0 15 15"), (130001, "0 999 999")):
            env = driver.environment(FAKE_CUPTI_API=api)
            env["LD_LIBRARY_PATH"] = "/nowhere"
            done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
            self.assertEqual(done.stdout.strip(), expected)


class DeviceTest(Case):
    def test_the_chip_has_the_name_of_an_h100s(self):
        import subprocess
        import sys
        if os.environ.get("XLATRACE_SANITIZE"):
            self.skipTest("Python cannot load a library built with sanitizers")
        # CUpti_Device_GetChipName_Params: its size, a private pointer, the device, the name.
        code = ("import ctypes, driver; driver.Gpu(); c = ctypes.CDLL('libcupti.so.13');"
                "first, none = ((ctypes.c_size_t * 4)(32, 0, device, 0) for device in (0, 1));"
                "print(c.cuptiDeviceGetChipName(first), ctypes.string_at(first[3]).decode(),"
                "c.cuptiDeviceGetChipName(none))")
        env = driver.environment(PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.strip(), "0 GH100 2", done.stderr)


class SpeedTest(Case):
    def test_no_launch_is_lost_at_full_speed(self):
        each = 5000 if os.environ.get("XLATRACE_SANITIZE") else 50000
        self.run_script(f"threads 4 {{ launch a_%t x {each} on s%t }}; sync", time_scale=0.001,
                        CLIENT_BUFFER=1 << 20, CLIENT_KINDS="10", CLIENT_ORACLE=None)
        self.assertEqual(len(self.lines("kernel")), 4 * each)


if __name__ == "__main__":
    unittest.main()
