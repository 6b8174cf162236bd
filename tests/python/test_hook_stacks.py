# SPDX-License-Identifier: Apache-2.0
"""Sampled stacks of a process: what is in them, and that the program does not notice."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import time
import unittest

from hook_support import HOOK, JAX, HookTestCase
from host_samples import Samples

WAIT_S = 120

# As the hook does at the import of a framework.
START = f"""
import sys
sys.path.insert(0, {str(HOOK)!r})
from xlatrace_hook.stacks import Stacks
import gc, os, signal, threading, time
os.makedirs("samples", exist_ok=True)
stacks = Stacks()
stacks.start("samples")
"""


def library() -> str:
    place = pathlib.Path(os.environ.get("XLATRACE_BIN", "none")).parent.parent / "lib"
    path = place / "libxlatrace_stacks.so"
    if not path.is_file():
        raise unittest.SkipTest("this build has no stack sampler")
    return str(path)


# Steps of Python code and of native code that releases the GIL, with given CPU times in ms. Both are
# shorter than the switch interval, so no thread has to give up the GIL. The loop has no system call,
# because a busy machine switches to the sampler at the end of one.
STEPS = """
import hashlib
def compute(count):
    total = 0
    for i in range(count):
        total += i % 7
    return total
def digest(data):
    return hashlib.sha256(data).digest()
def cpu_time(function, argument, times=10):
    start = time.thread_time()
    for _ in range(times):
        function(argument)
    return (time.thread_time() - start) / times
count = int(10_000 * python_ms / 1000 / cpu_time(compute, 10_000, 100))
data = bytes(int(100_000 * native_ms / 1000 / cpu_time(digest, bytes(100_000), 100)))
def run_steps():
    for _ in range(400):
        compute(count)
        digest(data)
"""


class StackTestCase(HookTestCase):
    def run_sampled(self, script: str, rate: str = "200", **environment: str):
        return self.run_script(
            START + script,
            XLATRACE_STACKS=rate,
            XLATRACE_STACKS_LIBRARY=library(),
            **environment,
        )

    def samples(self) -> Samples:
        return Samples(self.place / "samples" / "host.samples")


class StacksTest(StackTestCase):
    def test_sample_names_function_line_and_state(self):
        result = self.run_sampled(
            """
def compute(until):
    while time.thread_time() < until:
        pass
def rest():
    time.sleep(0.5)
compute(time.thread_time() + 0.5)
rest()
print("done")
stacks.stop()
"""
        )
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "done\n", ""))
        samples = self.samples()
        functions = {}
        for sample in samples.samples:
            function, file, line = sample.frames[0]
            self.assertTrue(file.endswith("script.py"), file)
            functions.setdefault(function, []).append((line, sample.state, sample.cpu_us))
        text = (self.place / "script.py").read_text().splitlines()
        for line, _, _ in functions["compute"]:
            self.assertIn(text[line - 1].strip(), ("while time.thread_time() < until:", "pass"))
        # On a busy machine the sampler is late, and `rest` gets a part of the time.
        cpu_us = {name: sum(us for _, _, us in rows) for name, rows in functions.items()}
        self.assertAlmostEqual(cpu_us["compute"] + cpu_us["rest"], 500_000, delta=100_000)
        self.assertGreater(cpu_us["compute"], cpu_us["rest"])
        lines = {text[line - 1].strip() for line, _, _ in functions["rest"]}
        self.assertIn("time.sleep(0.5)", lines)
        self.assertLessEqual(lines, {"def rest():", "time.sleep(0.5)"})
        self.assertIn("sleep", [state for _, state, _ in functions["rest"]])
        # A thread that stays at its place has few rows at any rate.
        self.assertLess(len(functions["rest"]), 30)

    def assert_most_samples_in(self, function: str, python_ms: float, native_ms: float, run: str):
        """`function` takes 90 % of a step; the limit leaves room for a busy machine, which prefers some places."""
        times = f"python_ms, native_ms = {python_ms}, {native_ms}\n"
        result = self.run_sampled(times + STEPS + run + "\nstacks.stop()\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        stacks = [[frame[0] for frame in sample.frames] for sample in self.samples().samples]
        below = [stack[0] for stack in stacks if "run_steps" in stack]
        self.assertGreater(len(below), 50)
        self.assertGreater(below.count(function) / len(below), 0.6)

    def test_main_thread_in_python_code_is_seen_there(self):
        self.assert_most_samples_in("compute", 4.5, 0.5, "run_steps()")

    def test_main_thread_in_native_code_is_seen_there(self):
        self.assert_most_samples_in("digest", 0.5, 4.5, "run_steps()")

    @unittest.skipIf(sys.version_info < (3, 12), "only the main thread makes pending calls")
    def test_other_thread_in_python_code_is_seen_there(self):
        run = "thread = threading.Thread(target=run_steps)\nthread.start()\nthread.join()"
        self.assert_most_samples_in("compute", 4.5, 0.5, run)

    def test_thread_that_keeps_the_gil_is_seen_by_its_time(self):
        result = self.run_sampled(
            """
def long(count):
    return sum(i % 7 for i in range(count))
def short(count):
    return sum(i % 7 for i in range(count))
def run_steps():
    for _ in range(500):
        long(30_000)
        short(10_000)
thread = threading.Thread(target=run_steps)
thread.start()
thread.join()
stacks.stop()
"""
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        stacks = [[frame[0].split(".")[0] for frame in s.frames] for s in self.samples().samples]
        below = [stack for stack in stacks if "run_steps" in stack]
        self.assertAlmostEqual(sum("long" in stack for stack in below) / len(below), 0.75, delta=0.15)

    def test_native_code_has_the_state_native(self):
        result = self.run_sampled("python_ms, native_ms = 4, 4\n" + STEPS + "run_steps()\nstacks.stop()\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        states = {}
        for sample in self.samples().samples:
            states.setdefault(sample.frames[0][0], []).append(sample.state)
        self.assertGreater(states["digest"].count("native") / len(states["digest"]), 0.7)
        self.assertGreater(states["compute"].count("python") / len(states["compute"]), 0.7)

    def test_threads_that_wait_have_their_states(self):
        result = self.run_sampled(
            """
lock = threading.Lock()
reader, writer = os.pipe()
ready = threading.Barrier(3)
def take_lock():
    ready.wait()
    with lock:
        pass
def read_pipe():
    ready.wait()
    os.read(reader, 1)
lock.acquire()
threads = [threading.Thread(target=target) for target in (take_lock, read_pipe)]
for thread in threads:
    thread.start()
ready.wait()
time.sleep(0.5)
lock.release()
os.write(writer, b"x")
for thread in threads:
    thread.join()
stacks.stop()
"""
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        states = {}
        for sample in self.samples().samples:
            states.setdefault(sample.frames[0][0], set()).add(sample.state)
        self.assertIn("lock", states["take_lock"])
        self.assertIn("network", states["read_pipe"])

    def test_collections_and_use_of_cpus_are_recorded(self):
        result = self.run_sampled(
            """
things = [[i] for i in range(200000)]
for _ in range(3):
    gc.collect()
until = time.thread_time() + 1.5
while time.thread_time() < until:
    pass
print(threading.get_native_id())
stacks.stop()
"""
        )
        samples = self.samples()
        full = [duration for _, duration, generation in samples.collections if generation == 2]
        self.assertGreaterEqual(len(full), 3)
        own = [use for use in samples.uses if use[0] == int(result.stdout)]
        self.assertGreater(sum(use[1] for use in own), 1_000_000_000)
        self.assertGreaterEqual(
            sum(busy for _, _, busy, _, _ in samples.seconds),
            0.8 * sum(process for _, _, _, process, _ in samples.seconds) - 2e8,
        )

    def test_pause_takes_no_samples(self):
        result = self.run_sampled(
            """
def before(): time.sleep(0.2)
def during(): time.sleep(0.3)
def after(): time.sleep(0.2)
before()
stacks.pause()
during()
stacks.go_on()
after()
stacks.stop()
"""
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        functions = {sample.frames[0][0] for sample in self.samples().samples}
        self.assertTrue({"before", "after"} <= functions, functions)
        self.assertNotIn("during", functions)

    def test_zero_switches_the_samples_off(self):
        result = self.run_sampled("stacks.stop()\nprint(len(gc.callbacks))", rate="0")
        self.assertEqual(result.stdout, "0\n")
        self.assertFalse((self.place / "samples" / "host.samples").exists())

    def test_kill_loses_at_most_the_last_second(self):
        child = self.start(
            START + "print(time.time_ns(), flush=True)\nwhile True: time.sleep(0.001)",
            XLATRACE_STACKS_LIBRARY=library(),
        )
        path = self.place / "samples" / "host.samples"
        deadline = time.monotonic() + WAIT_S
        while (not path.exists() or len(Samples(path).ticks) < 100) and time.monotonic() < deadline:
            time.sleep(0.01)
        flushed = len(Samples(path).ticks)
        child.send_signal(signal.SIGKILL)
        self.wait(child)
        self.assertGreaterEqual(len(Samples(path).ticks), flushed)
        self.assertGreaterEqual(flushed, 100)

    def test_fork_and_exec_and_signals_are_as_without(self):
        script = """
import subprocess, warnings
warnings.simplefilter("ignore")
os.register_at_fork(after_in_child=stacks.forked)
got = []
signal.signal(signal.SIGUSR1, lambda number, frame: got.append(threading.get_native_id()))
for _ in range(50):
    child = os.fork()
    if child == 0:
        os._exit(sum(range(1000)) % 7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == sum(range(1000)) % 7
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.001)
print(len(got), set(got) == {os.getpid()}, len(os.listdir("/proc/self/fd")))
print(subprocess.run([sys.executable, "-c", "print(5)"], capture_output=True, text=True).stdout)
stacks.stop()
os.execv(sys.executable, [sys.executable, "-c", "raise SystemExit(9)"])
"""
        without = self.run_sampled(script, rate="0")
        sampled = self.run_sampled(script, rate="1000")
        self.assertEqual(sampled, without)
        self.assertEqual(sampled.returncode, 9)

    def test_script_ends_while_it_is_sampled(self):
        for end in ("sys.exit(3)", "os._exit(4)", "raise KeyError", "os.kill(os.getpid(), 15)"):
            with self.subTest(end=end):
                without = self.run_sampled(end, rate="0")
                self.assertEqual(self.run_sampled(end, rate="5000"), without)


class HookStacksTest(StackTestCase):
    framework = "jax"

    def test_hook_samples_a_script_that_computes(self):
        result = self.run_script(
            JAX
            + "import time\n"
            + "def prepare():\n    time.sleep(0.3)\n"
            + "for _ in range(3):\n    prepare()\n    double(jnp.ones(8)).block_until_ready()\n",
            XLATRACE_STACKS_LIBRARY=library(),
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        status = self.status()
        self.assert_recorded(status, "exit")
        samples = Samples(status["folder"] / "host.samples")
        self.assertEqual(samples.pid, status["pid"])
        profile = (status["folder"] / status["sessions"][0]["xplane"]).read_bytes()
        self.assertIn(f"xlatrace_thread={status['pid']}".encode(), profile)
        functions = [[frame[0] for frame in sample.frames] for sample in samples.samples]
        self.assertIn(["prepare", "<module>"], functions)
        session = status["sessions"][0]
        self.assertLess(samples.start_ns, session["start_unix_ns"])
        self.assertGreater(samples.ticks[-1], session["stop_unix_ns"] - 1_000_000_000)


if __name__ == "__main__":
    unittest.main()
