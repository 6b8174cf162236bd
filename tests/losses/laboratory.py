#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The loss laboratory: programs on the fake GPU with planted losses, and the losses that xlatrace reports.

    tests/losses/laboratory.py [--runs N] [--jax N] [--kinds REGEX] [--seed N] [--keep DIR] [--update]

Prints a table, one row per kind of loss:

  runs      programs that were recorded and lost something in that way
  executed  activities that the device ended before its process did (the fake driver's log: the truth)
  missing   of them those that are not in run.db
  said      of the missing those of which the run speaks
  unsaid    of the missing those of which the run does not speak: inside of a window, where all is said
            to be there; and, where no more than a number is said, those above that number
  false     missing activities that a gap calls idle or that lie in a steady step
  invented  records said to be missing for certain that are not; of a process that ended in order and
            lacks nothing, any that are called lost
  exact     activities whose instruction is called exact, and whose truth is known (real JAX only)
  wrong     of them those that belong to another instruction

Exit status 1 unless unsaid, false, invented and wrong are 0 everywhere. Environment: as the tests of
tests/e2e (XLATRACE_BIN, XLATRACE_FAKE_GPU; XLATRACE_TEST_PYTHON_JAX_CUDA for --jax;
XLATRACE_SHARED_DATA for traces that are cut).
"""

import argparse
import collections
import gzip
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402, in the folder of the components

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / "tests" / folder) for folder in ("losses", "e2e", "fake_gpu/jax")
]

import gpu_support  # noqa: E402
import gpu_truth  # noqa: E402
from judging import COLUMNS, MUST_BE_ZERO, Judge  # noqa: E402

HANG_S = 300
DOCUMENT = ROOT / "docs" / "development" / "testing.md"

# In these programs, data of the device ends the loops and selects the branches. Without a seed they read
# random memory, and need not end.
LOOPS_ON_DATA = ("branching_step", "recurrent_step")

# A step of kernels, copies and a graph, as XLA would launch it; ten kernels on another stream.
STEP = (
    "module jit_step 7 { thunk fusion.1 { launch a }; thunk fusion.2 { launch b x 3 };"
    " thunk copy.3 { copy dtod 64 }; run g }; copy htod 0; launch side on s2"
)
SETUP = (
    "executable jit_step 7 { op fusion.1; op fusion.2; op copy.3 };"
    " graph g { launch g1; launch g2; launch g3 };"
)
ENDLESS = f"{SETUP} launch k; sync; print go; rate 4000; forever {{ {STEP} }}"


def bounded(steps, end=""):
    return f"{SETUP} launch k; sync; rate 6000; repeat {steps} {{ {STEP} }}; sync; {end}"


CLOCK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec* t) {
  static long long first, after, jump;
  int result = (int)syscall(SYS_clock_gettime, id, t);
  if (id != CLOCK_REALTIME || result != 0) return result;
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  long long ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
  if (first == 0) {
    const char* text = getenv("JUMP_AFTER_MS");
    after = text == NULL ? 1LL << 60 : atoll(text);
    text = getenv("JUMP_S");
    jump = text == NULL ? 0 : atoll(text);
    first = ms;
  }
  if (ms - first >= after) t->tv_sec += jump;
  return result;
}
"""


class Bench(gpu_support.GpuTestCase):
    """One run's folders and helpers; a test case only for these."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.work, self.truth_folder, self.temporary = (
            folder / name for name in ("work", "truth", "tmp")
        )
        for path in (self.work, self.truth_folder, self.temporary):
            path.mkdir(parents=True)
        (folder / "tiny_gpu.py").write_text(gpu_support.TINY_GPU)

    def runTest(self):
        pass


class Lab(Judge):
    def __init__(self, options):
        super().__init__()
        self.options = options
        self.chance = random.Random(options.seed)
        self.root = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="xlatrace-losses-"))
        self.number = 0
        self.cuts = collections.Counter()  # For each trace, the number of cuts.

    def bench(self, kind):
        self.number += 1
        return Bench(self.root / f"{self.number:04}-{re.sub(r'[^a-z0-9]+', '-', kind.lower())}")

    def leave(self, process):
        """Waits for a program's end; one that hangs ends the laboratory, and is not left behind."""
        try:
            return process.wait(HANG_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    # --- kinds of loss -------------------------------------------------------------------------

    def killed(self, number):
        bench = self.bench(f"signal {number}")
        process = self.endless(bench, XLATRACE_FLUSH_MS="1000")
        time.sleep(self.chance.uniform(0, 1.5))
        process.send_signal(number)
        self.leave(process)
        self.judge(f"signal from outside: {signal.Signals(number).name}", bench, time.time_ns())

    def ended(self, name, script):
        bench = self.bench(name)
        bench.preloaded(script, timeout=HANG_S)
        self.judge(f"end: {name}", bench, time.time_ns())

    def planted(self, name, scenario, script=None, **environment):
        bench = self.bench(name)
        script = script or bounded(60)
        bench.preloaded(script, scenario=scenario, timeout=HANG_S, **environment)
        self.judge(name, bench)

    def dropped(self, what, how):
        first = self.chance.randint(10, 300)
        count = self.chance.choice([1, 1, 2, 5, 40, 200])
        self.planted(f"dropped {what}, {how}", f"cupti drop {what} {first} {count} {how}\n")

    def dropped_buffers(self, how):
        first = self.chance.randint(1, 3)
        self.planted(
            f"dropped buffers, {how}",
            f"cupti drop buffers {first} 1 {how}\n",
            script=f"{SETUP} launch k; sync; rate 3000; repeat 300 {{ {STEP} }}; sync",
        )

    def paused(self):
        bench = self.bench("pause")
        process = self.endless(bench, XLATRACE_FLUSH_MS="100")
        for _ in range(2):
            time.sleep(self.chance.uniform(0.1, 0.3))
            bench.xlatrace("control", "run.rec", "stop")
            time.sleep(self.chance.uniform(0.2, 0.5))
            bench.xlatrace("control", "run.rec", "start")
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        self.leave(process)
        self.judge("pauses (control stop, start), then SIGTERM", bench, time.time_ns())

    def stopped(self):
        """SIGSTOP, SIGCONT some time later: nothing is lost by it, and the device may go on meanwhile."""
        bench = self.bench("stopped")
        process = self.endless(bench, XLATRACE_FLUSH_MS="100")
        for _ in range(2):
            time.sleep(self.chance.uniform(0.05, 0.3))
            process.send_signal(signal.SIGSTOP)
            time.sleep(self.chance.uniform(0.2, 1.0))
            process.send_signal(signal.SIGCONT)
        time.sleep(self.chance.uniform(0.0, 0.3))
        process.send_signal(signal.SIGTERM)
        self.leave(process)
        self.judge("SIGSTOP, SIGCONT, then SIGTERM", bench, time.time_ns())

    def one_of_two(self):
        """One of two processes of a job is killed; the other ends in order."""
        bench = self.bench("one of two killed")
        process = self.endless(bench, XLATRACE_JOB="job", RANK=0)
        bench.preloaded(bounded(60), XLATRACE_JOB="job", RANK=1, timeout=HANG_S)
        time.sleep(self.chance.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        self.leave(process)
        self.judge("one of two processes killed", bench, time.time_ns())

    def forked(self):
        """A fork after CUDA has begun; the child, which launches nothing, is killed."""
        bench = self.bench("fork")
        bench.preloaded(
            "# python\nimport os, signal, time\nfrom tiny_gpu import *\nlaunch('a', 200); sync()\n"
            "child = os.fork()\nif child == 0:\n    time.sleep(60)\n    os._exit(0)\n"
            f"launch('b', 200); time.sleep({self.chance.uniform(0, 0.2)})\n"
            "os.kill(child, signal.SIGKILL); os.waitpid(child, 0)\nlaunch('c', 200); sync()\n",
            timeout=HANG_S,
        )
        self.judge("fork after CUDA began, the child killed", bench)

    def became_another(self):
        """exec halfway, of a program that uses the GPU too and is killed."""
        bench = self.bench("exec and kill")
        second = bench.command(ENDLESS)
        first = (
            "# python\nimport os\nfrom tiny_gpu import *\nlaunch('a', 500); sync()\n"
            f"os.environ['FAKE_GPU_LOG'] += '2'\nos.execv({second[0]!r}, {second!r})\n"
        )
        process = self.endless(bench, first)
        time.sleep(self.chance.uniform(0, 0.8))
        process.send_signal(signal.SIGKILL)
        self.leave(process)
        self.judge("exec halfway, then SIGKILL", bench, time.time_ns())

    def removed(self):
        """The recording is removed while it is written: then there is no run that could claim a thing."""
        bench, kind = self.bench("removed"), "recording removed while it is written"
        process = self.endless(bench, XLATRACE_FLUSH_MS="50")
        time.sleep(self.chance.uniform(0.1, 0.5))
        shutil.rmtree(bench.work / "run.rec", ignore_errors=True)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        self.leave(process)
        self.figures[kind]["runs"] += 1
        if bench.xlatrace("summary", "run.db").code == 0:
            self.judge(kind, bench, time.time_ns())

    def full_disk_in_a_pause(self):
        """The disk fills up while the recording is paused, and stays full."""
        bench = self.bench("full disk in a pause")
        disk = bench.folder / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(disk)]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            self.notes.append("full disk in a pause: left out: this user may not mount a file system")
            return
        try:
            process = self.endless(
                bench, XLATRACE_FLUSH_MS="50", XLATRACE_REC=str(disk / "run.rec")
            )
            time.sleep(self.chance.uniform(0.1, 0.4))
            bench.xlatrace("control", disk / "run.rec", "stop")
            subprocess.run(
                ["dd", "if=/dev/zero", f"of={disk / 'filler'}", "bs=64k"], capture_output=True
            )
            bench.xlatrace("control", disk / "run.rec", "start")
            time.sleep(self.chance.uniform(0.1, 0.5))
            process.send_signal(signal.SIGTERM)
            self.leave(process)
            died_ns = time.time_ns()
            shutil.copytree(disk / "run.rec", bench.work / "run.rec")
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=False)
        self.judge("disk full in a pause, then SIGTERM", bench, died_ns)

    def endless(self, bench, script=ENDLESS, **environment):
        """A process that has begun to launch and does not end by itself."""
        process = subprocess.Popen(
            bench.command(script), cwd=bench.work, env=bench.environment(**environment),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        process.stdout.readline()
        return process

    def limited(self):
        bench = self.bench("limit")
        bench.preloaded(
            f"{SETUP} launch k; sync; repeat 12000 {{ {STEP} }}; sync",
            XLATRACE_MAX_BYTES=1 << 20, XLATRACE_FLUSH_MS="50", timeout=HANG_S,
        )  # fmt: skip
        self.judge("limit of the file's size", bench)

    def ring(self):
        bench = self.bench("ring")
        bench.preloaded(
            f"{SETUP} launch k; sync; rate 20000; repeat 3000 {{ {STEP} }}; sync",
            XLATRACE_LAST_MS="300", XLATRACE_FLUSH_MS="50", timeout=HANG_S,
        )  # fmt: skip
        self.judge("ring (--last)", bench)

    def full_disk(self):
        """The device is full after some megabytes; the program goes on."""
        bench = self.bench("full disk")
        disk = bench.folder / "disk"
        disk.mkdir()
        size = self.chance.choice(["1m", "2m", "3m"])
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(disk)]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            self.notes.append("full disk: left out: this user may not mount a file system")
            return
        try:
            bench.preloaded(
                f"{SETUP} launch k; sync; repeat 12000 {{ {STEP} }}; sync", cwd=disk,
                XLATRACE_FLUSH_MS="20", timeout=HANG_S,
            )  # fmt: skip
            shutil.copytree(disk / "run.rec", bench.work / "run.rec")
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=False)
        self.judge("full disk", bench)

    def clock_set(self):
        """The wall clock is set while the program runs: nothing spans that moment."""
        # (The fake device runs by this clock, too: set back by an hour it would take an hour more.)
        jump_s = self.chance.choice([-5, -2, 2, 3600])
        bench = self.bench("clock set")
        library = self.clock_library()
        if library is None:
            return
        bench.preloaded(
            bounded(300), timeout=HANG_S, XLATRACE_FLUSH_MS="50",
            LD_PRELOAD=f"{library}:{gpu_support.preload_library()}",
            JUMP_AFTER_MS=str(self.chance.randint(100, 600)), JUMP_S=str(jump_s),
        )  # fmt: skip
        kind = "wall clock set"
        self.judge(kind, bench)
        database = bench.work / "run.db"
        if not database.exists():
            return
        spans = gpu_truth.rows_of(
            database,
            "SELECT end_ns - start_ns AS ns FROM gap UNION ALL "
            "SELECT end_ns - start_ns FROM step WHERE typical UNION ALL "
            "SELECT end_ns - start_ns FROM window",
        )
        false = sum(row["ns"] >= abs(jump_s) * 900_000_000 for row in spans)
        self.figures[kind]["false"] += false
        if false:
            self.complain(kind, bench, f"{false} gaps, steps or windows span the jump of {jump_s} s")

    def clock_library(self):
        """A preload that moves CLOCK_REALTIME by JUMP_S once JUMP_AFTER_MS have passed."""
        source, library = self.root / "clock.c", self.root / "clock.so"
        if not library.exists():
            source.write_text(CLOCK)
            build = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)]
            if shutil.which("cc") is None or subprocess.run(build).returncode != 0:
                self.notes.append("wall clock set: left out: no C compiler")
                return None
        return library

    def lost_file(self):
        bench = self.bench("file of one rank")
        script = bounded(20)
        for rank in (0, 1):
            bench.preloaded(script, XLATRACE_JOB="job", RANK=rank, timeout=HANG_S)
        files = sorted((bench.work / "run.rec").glob("*.rec"))
        if len(files) == 2:
            files[self.chance.randint(0, 1)].unlink()
        self.judge("file of one rank lost", bench)

    def cut_file(self):
        bench = self.bench("recording cut")
        bench.preloaded(bounded(100), timeout=HANG_S)
        (recording,) = (bench.work / "run.rec").glob("*.rec")
        size = recording.stat().st_size
        os.truncate(recording, self.chance.randint(size // 4, size - 1))
        self.judge("recording cut at a byte", bench)

    def cut_trace(self, path):
        """A truncated trace claims only the existing records: it is rejected, or its loss is reported."""
        kind = f"trace cut: {''.join(path.suffixes[-2:])}"
        bench = self.bench(kind)
        data = path.read_bytes()
        cut = bench.work / path.name
        # Each of a hundred runs is cut one hundredth later.
        self.cuts[path] += 1
        part = (self.cuts[path] - self.chance.random()) / self.options.runs
        cut.write_bytes(data[: min(int(len(data) * part), len(data) - 2)])
        whole = bench.xlatrace("import", path, "-o", "whole.db")
        result = bench.xlatrace("import", cut, "-o", "run.db")
        figures = self.figures[kind]
        figures["runs"] += 1
        if result.code != 0 or whole.code != 0:
            return  # Refused, with the reason.
        count = "SELECT count(*) FROM activity"
        there = gpu_truth.scalar(bench.work / "whole.db", count)
        figures["executed"] += there
        missing = there - gpu_truth.scalar(bench.work / "run.db", count)
        figures["missing"] += missing
        figures["said"] += missing
        strict = bench.xlatrace("summary", "run.db", "--strict").code
        if missing and strict == 0:
            figures["unsaid"] += missing
            figures["said"] -= missing
            self.complain(kind, bench, f"{missing} are missing, and --strict is content")

    def export_without_kernels(self, path):
        """An nsys export without a burst of kernels: as many launches are reported without a kernel."""
        kind = "kernels missing from an nsys export"
        bench, figures = self.bench(kind), self.figures[kind]
        export = bench.work / path.name
        shutil.copyfile(path, export)
        connection = sqlite3.connect(export)
        # For a kernel whose launch is before the export, no launch can be known.
        calls = {(tid >> 24, call) for tid, call in connection.execute(
            "SELECT globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME")}  # fmt: skip
        rows = [row for row, pid, call in connection.execute(
            "SELECT rowid, globalPid, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start")
            if (pid >> 24, call) in calls]  # fmt: skip
        count = min(self.chance.choice([1, 2, 10, 100, 1000]), len(rows) // 2)
        first = self.chance.randint(0, len(rows) - count)
        gone = [(row,) for row in rows[first : first + count]]
        connection.executemany("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = ?", gone)
        connection.commit()
        connection.close()
        told = []
        for name, source in (("whole", path), ("run", export)):
            result = bench.xlatrace("import", source, "-o", f"{name}.db")
            if result.code != 0:
                self.complain(kind, bench, f"import: {result.stderr}")
                figures["unsaid"] += count
                return
            told.append({row["name"]: row["n"] for row in gpu_truth.rows_of(
                bench.work / f"{name}.db",
                "SELECT name, sum(value) AS n FROM run_stat WHERE name IN "
                "('launch_without_activity', 'launches_not_finished') GROUP BY 1")})  # fmt: skip
        figures["runs"] += 1
        figures["executed"] += len(rows)
        figures["missing"] += count
        said = sum(told[1].values()) - sum(told[0].values())
        lost = told[1].get("launch_without_activity", 0)
        figures["said"] += min(said, count)
        figures["unsaid"] += max(0, count - said)
        figures["invented"] += max(0, said - count)
        if said != count:
            self.complain(kind, bench, f"{count} are missing, {said} are told")
        if lost > 0 and bench.xlatrace("summary", "run.db", "--strict").code == 0:
            figures["unsaid"] += count
            self.complain(kind, bench, f"{lost} are lost, and --strict is content")

    # --- real JAX ------------------------------------------------------------------------------

    def jax(self, program, how):
        import rig

        kind = f"real JAX, {how}"
        bench = self.bench(f"{program} {how}")
        light, how = how.startswith("light mode, "), how.removeprefix("light mode, ")
        machine = rig.Rig()
        more = {"XLATRACE_REC": str(bench.work / "run.rec"), "XLATRACE_QUIET": "1"}
        if how.startswith("dropped"):
            scenario = bench.folder / "scenario.txt"
            lines = []
            for _ in range(self.chance.randint(1, 4)):
                first, count = self.chance.randint(20, 600), self.chance.choice([1, 3, 30, 120])
                lines.append(f"cupti drop records {first} {count} {how.split()[-1]}")
            scenario.write_text("\n".join(lines) + "\n")
            more["FAKE_GPU_SCENARIO"] = str(scenario)
        if program in LOOPS_ON_DATA:
            more["FAKE_GPU_PREDICATES"] = str(self.chance.randint(1, 1000))
        env = machine.environment(
            graphs=self.chance.random() < 0.5, log=bench.truth_folder / "t",
            # Programs from JAX's cache are not compiled, and XLA does not dump them.
            preload=gpu_support.preload_library(), cache=None if light else self.root / "cache",
            more=more,
        )  # fmt: skip
        folder = ROOT / "tests" / "fake_gpu" / "jax"
        if light:  # The ranges go to the truth only: instructions are found by dumps, names and order.
            env.pop("XLATRACE_TAP_NEXT")
            env.update(XLATRACE_MODE="light", XLATRACE_DUMP="on")
        steps = "60" if how.startswith("signal") else "6"
        process = subprocess.Popen(
            [str(machine.python), str(folder / f"{program}.py"), "--steps", steps], cwd=bench.work, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        if how.startswith("signal"):
            some = self.chance.choice([1, 100, 300])
            self.wait_for(lambda: sum(map(len, bench.truths().values())) >= some, process)
            time.sleep(self.chance.uniform(0.0, 1.0))
            process.send_signal(getattr(signal, how.split()[-1]))
        code = self.leave(process)
        died = time.time_ns()
        if code > 0:
            raise RuntimeError(f"{program} ended with {code}: {bench.folder}")
        self.judge(kind, bench, died)
        database = bench.work / "run.db"
        if database.exists():
            self.exactness(kind, bench, bench.truths(), database)

    def wait_for(self, condition, process):
        until = time.monotonic() + HANG_S
        while not condition() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)

    # --- all of it -----------------------------------------------------------------------------

    def experiments(self):
        runs = self.options.runs
        for name in "KILL TERM INT HUP QUIT ABRT SEGV BUS FPE ILL USR1 XCPU".split():
            number = getattr(signal, f"SIG{name}")
            yield f"signal {name}", runs, lambda number=number: self.killed(number)
        ends = {
            "exit": "exit 3", "_exit": "_exit 4", "abort": "abort", "kill itself": "kill 15",
            "SIGSEGV": "segv", "exec": "exec /bin/true",
        }  # fmt: skip
        for name, word in ends.items():
            yield f"end {name}", runs, lambda n=name, w=word: self.ended(n, bounded(60, w))
        for how in ("counted", "uncounted"):
            yield f"dropped records {how}", runs, lambda h=how: self.dropped("records", h)
            yield f"dropped buffers {how}", runs, lambda h=how: self.dropped_buffers(h)
        yield "pause", runs, self.paused
        yield "stopped", runs, self.stopped
        yield "one of two killed", runs, self.one_of_two
        yield "fork", runs, self.forked
        yield "exec and kill", runs, self.became_another
        yield "removed", runs, self.removed
        yield "full disk in a pause", runs, self.full_disk_in_a_pause
        yield "limit", runs, self.limited
        yield "ring", runs, self.ring
        yield "full disk", runs, self.full_disk
        yield "clock", runs, self.clock_set
        yield "file of one rank", runs, self.lost_file
        yield "recording cut", runs, self.cut_file
        for path in self.traces():
            yield f"trace cut {path.name}", runs, lambda p=path: self.cut_trace(p)
        for path in self.traces():
            if path.suffix == ".sqlite":
                yield "nsys without kernels", runs, lambda p=path: self.export_without_kernels(p)
        programs = ["plain_step", "rich_step", "branching_step", "recurrent_step"]
        for how in (
            "dropped counted", "dropped uncounted", "signal SIGKILL", "signal SIGTERM",
            "light mode, dropped counted", "light mode, dropped uncounted",
            "light mode, signal SIGKILL",
        ):  # fmt: skip
            for k in range(self.options.jax):
                program = programs[k % len(programs)]
                yield f"jax {program} {how}", 1, lambda p=program, h=how: self.jax(p, h)

    def traces(self):
        data = shared_data.FOLDER
        if not data:
            return []
        wanted = ("*.xplane.pb", "*.xplane.pb.gz", "*.json.gz", "*.sqlite", "*.zip")
        found = {}
        for pattern in wanted:
            for path in sorted(data.rglob(pattern)):
                if path.stat().st_size < 8 << 20:
                    found.setdefault("".join(path.suffixes[-2:]), path)
        # The same compressed, or no longer.
        for suffix, path in list(found.items()):
            if suffix == ".xplane.pb":
                other = self.root / (path.name + ".gz")
                other.write_bytes(gzip.compress(path.read_bytes()))
            elif suffix == ".json.gz":
                other = self.root / path.stem
                other.write_bytes(gzip.decompress(path.read_bytes()))
            else:
                continue
            found.setdefault("".join(other.suffixes[-2:]), other)
        return list(found.values())

    def run(self):
        wanted = re.compile(self.options.kinds)
        for name, runs, experiment in self.experiments():
            if not wanted.search(name):
                continue
            for _ in range(runs):
                experiment()
        return self.report()

    def write_document(self):
        """The table of the document: kinds that differ in a signal, an end or a program are one row."""
        rows = collections.defaultdict(collections.Counter)
        for kind, figures in self.figures.items():
            kind = re.sub(r"^jax \w+", "real JAX,", kind)
            for group in ("signal from outside", "end"):
                if kind.startswith(group + ": "):
                    kind = group
            rows[kind].update(figures)
        columns = [name for name in COLUMNS if name not in MUST_BE_ZERO] + ["sum of the four"]
        titles = ["reported" if name == "said" else name for name in columns]
        lines = ["| kind of loss | " + " | ".join(titles) + " |", "|---" * (len(columns) + 1) + "|"]
        for kind, figures in rows.items():
            figures["sum of the four"] = sum(figures[name] for name in MUST_BE_ZERO)
            lines.append(f"| {kind} | " + " | ".join(f"{figures[name]:,}" for name in columns) + " |")
        text = DOCUMENT.read_text(encoding="utf-8")
        begin = text.index("| kind of loss |")
        end = text.index("\n\n", begin)
        DOCUMENT.write_text(text[:begin] + "\n".join(lines) + text[end:], encoding="utf-8")

    def report(self):
        width = max([len(kind) for kind in self.figures] + [4])
        print(f"{'kind of loss':<{width}}" + "".join(f"{c:>10}" for c in COLUMNS))
        total = collections.Counter()
        for kind, figures in self.figures.items():
            print(f"{kind:<{width}}" + "".join(f"{figures[c]:>10,}" for c in COLUMNS))
            total.update(figures)
        print(f"{'all':<{width}}" + "".join(f"{total[c]:>10,}" for c in COLUMNS))
        for note in self.notes:
            print("  " + note)
        if self.options.update:
            self.write_document()
        bad = any(total[c] for c in MUST_BE_ZERO)
        if not bad and not self.options.keep:
            shutil.rmtree(self.root, ignore_errors=True)
        return 1 if bad or not total["runs"] else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3, help="of each kind")
    parser.add_argument("--jax", type=int, default=0, help="real JAX programs of each kind")
    parser.add_argument("--kinds", default="", help="only kinds that this pattern finds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--update", action="store_true", help="write the table into the document")
    parser.add_argument("--keep", help="folder that keeps the recordings")
    options = parser.parse_args()
    # A shell gives its background jobs the last two ignored, and nohup the first; every program here
    # would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    try:
        gpu_support.require_gpu()
    except Exception as missing:  # unittest.SkipTest
        print(f"skipped: {missing}")
        return 77
    return Lab(options).run()


if __name__ == "__main__":
    sys.exit(main())
