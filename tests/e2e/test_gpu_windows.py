# SPDX-License-Identifier: Apache-2.0
"""A recorded window compared with the log of the fake driver: forty combinations.

Ten windows (steps, times, orders of `xlatrace control`, the ring, and pairs of them) on four kinds of program.
In each program a step launches two kernels, and the copy of its batch is issued before it. Names of kernels
and sizes of copies hold the number of their step, so the log of the driver states what belongs to a window.

A window of steps A:B holds, on each device, all work from the first kernel of step A to the first kernel of step B.
A window of time holds all work that the program issues while the window is open.
"""

import re
import unittest

import gpu_support
import support
import tiers

PHASE_STEPS = 10
LOST = ("data_loss", "error")
CONTROL = "system \"env -u LD_PRELOAD '{program}' control run.rec {order} --timeout 200 > /dev/null\"\n"


class Place:
    """How the program is made: who issues the copies, on which devices, in which processes."""

    def __init__(self, name, devices=1, processes=1, beside=True, slow_kernels=False):
        self.name, self.devices, self.processes = name, devices, processes
        self.beside, self.slow_kernels = beside, slow_kernels

    def phase(self, number):
        """Ten steps. The copy of step r has a size of the digits `number + 1` and r."""
        copy = f"copy htod {number + 1}%r on copies"
        if self.beside:
            copy = f"beside transfer {{ {copy} }}"
        step = (
            f"  {copy}\n  module jit_step 7 {{ thunk a.1 {{ launch p{number}a%r on steps }}; "
            f"thunk a.2 {{ launch p{number}b%r on steps }} }}\n"
        )
        if self.slow_kernels:
            step += "  sleep 1\n"  # shorter than the kernels: the device lags behind more and more
        if self.devices > 1:
            step += f"  meet {self.devices}\n"
        body = f"repeat {PHASE_STEPS} {{\n{step}}}\nsync\n"
        if self.devices > 1:
            body = f"threads {self.devices} {{\ndevice %t\n{body}}}\n"
        return body

    def script(self, phases, between, one_by_one):
        body = "executable jit_step 7 { op a.1; op a.2 }\ninit\n" + self.phase(0)
        for number in range(1, phases):
            body += between(number) + self.phase(number)
        if self.processes == 1:
            return body
        # Orders of `control` are the job's: the processes run one after the other.
        return f"fork {'' if one_by_one else 'and go-on '}{{\n{body}}}\n{body}wait\n"

    def environment(self):
        scenario = "kernel p* times 400\n" if self.slow_kernels else None
        return {"FAKE_GPU_DEVICES": self.devices, "scenario": scenario}


PLACES = [
    Place("one thread", beside=False),
    Place("copies of another thread, the device lags behind", slow_kernels=True),
    Place("two devices with a thread each", devices=2),
    Place("two processes", processes=2),
]


class Window:
    """Options of the recording. `opened` are the phases in which a window of time is open."""

    def __init__(self, steps=None, opened=(0, 1, 2), delay=False, duration=False, orders=False, last=False):
        self.steps, self.opened = steps, opened
        self.delay, self.duration, self.orders, self.last = delay, duration, orders, last

    def __str__(self):
        named = ("delay", "duration", "orders", "last")
        words = [f"steps {self.steps[0]}:{self.steps[1]}"] if self.steps else []
        return " ".join(words + [name for name in named if getattr(self, name)])

    def between(self, number):
        """Instructions before phase `number`."""
        if self.orders:
            order = "start" if number in self.opened else "stop"
            return CONTROL.format(program=support.PROGRAM, order=order)
        was, now = number - 1 in self.opened, number in self.opened
        told = f"recording\nuntil-recording {int(now)}\n" if was != now and not self.hidden() else ""
        return told

    def hidden(self):
        return not (self.delay or self.duration)

    def environment(self, milliseconds):
        values = {"XLATRACE_FLUSH_MS": "20"}
        if self.steps:
            values["XLATRACE_STEPS"] = f"{self.steps[0]}:{self.steps[1]}"
        if self.delay:
            values["XLATRACE_DELAY_MS"] = str(milliseconds)
        if self.duration:
            values["XLATRACE_DURATION_MS"] = str(milliseconds)
        if self.last:
            values["XLATRACE_LAST_MS"] = "600000"
        return values


WINDOWS = [
    Window(steps=(5, 9)),
    Window(steps=(0, 3)),
    Window(steps=(1, 2)),
    Window(steps=(24, 99)),
    Window(steps=(8, 14), last=True),
    Window(delay=True, opened=(1, 2)),
    Window(duration=True, opened=(0,)),
    Window(orders=True, opened=(0, 2)),
    Window(steps=(5, 25), orders=True, opened=(0, 2)),
    Window(steps=(4, 16), delay=True, opened=(1, 2)),
]


def parse(row):
    """(step, kernel or None) of a row of the driver's log."""
    kernel = re.fullmatch(r"p(\d)([ab])(\d+)", row["name"])
    if kernel:
        return int(kernel[1]) * PHASE_STEPS + int(kernel[3]), kernel[2]
    size = row["bytes"]
    return (int(size[0]) - 1) * PHASE_STEPS + int(size[1:]), None


class Windows(gpu_support.GpuTestCase):
    def expected(self, window, truth):
        """Rows of one process's log that belong to the window, and its complete steps by device."""
        first, end = window.steps or (0, 10**9)
        inside, steps = [], {}
        for device in {row["device"] for row in truth}:
            rows = [row for row in truth if row["device"] == device]
            starts = {parse(row)[0]: int(row["start_ns"]) for row in rows if parse(row)[1] == "a"}
            opens = starts[first] if first and first // PHASE_STEPS in window.opened else 0
            closes = starts.get(end, 1 << 62)
            for row in rows:
                step, kernel = parse(row)
                if step // PHASE_STEPS not in window.opened:
                    continue
                if kernel and not first <= step < end:
                    continue
                if not kernel and not opens <= int(row["start_ns"]) < closes:
                    continue
                inside.append(row)
                if kernel:
                    steps.setdefault((device, step), []).append(row)
        return inside, steps

    def record(self, place, window):
        """Runs the program; with a window of time until the machine was quick enough for its phases."""
        milliseconds = 700
        while milliseconds < 1000 * support.HANG_S:
            self.setUp()
            script = place.script(3, window.between, window.orders)
            values = {**place.environment(), **window.environment(milliseconds)}
            traced = self.preloaded(script, **values)
            self.assertEqual(traced.code, 0, traced)
            was = int(0 in window.opened)
            if all(word == str(was) for word in re.findall(r"^recording (\S+)$", traced.stdout, re.M)):
                return self.fold()
            milliseconds *= 2
        self.fail("a process that launches some kernels hangs")

    def check(self, place, window):
        database = self.record(place, window)
        truths = self.truths()
        self.assertEqual(len(truths), place.processes)
        missing, invented = gpu_support.compare_sets(database, truths)
        self.assertEqual(invented, [])
        self.assertEqual(gpu_support.run_stats(database, *LOST), [])
        pids = {row["process_id"]: row["pid"] for row in gpu_support.rows_of(database, "SELECT * FROM process")}
        base = int(gpu_support.scalar(database, "SELECT value FROM run_info WHERE key='start_unix_ns'"))
        windows = gpu_support.rows_of(database, "SELECT * FROM window")
        left_out = {id(row) for row in missing}
        for pid, truth in truths.items():
            inside, steps = self.expected(window, truth)
            self.assertTrue(steps)
            lost = [row for row in inside if id(row) in left_out]
            wanted = {id(row) for row in inside}
            more = [row for row in truth if id(row) not in left_out and id(row) not in wanted]
            names = lambda rows: [(row["device"], row["name"] or row["bytes"]) for row in rows]
            self.assertEqual((names(lost), names(more)), ([], []))
            of_process = [
                (row["start_ns"] + base, row["end_ns"] + base)
                for row in windows
                if pids[row["process_id"]] == pid
            ]
            for (device, step), rows in steps.items():
                start = min(int(row["start_ns"]) for row in rows)
                end = max(int(row["end_ns"]) for row in rows)
                whole = len(rows) == 2 and any(a <= start and end <= b for a, b in of_process)
                self.assertTrue(whole, (device, step, start, end, of_process))

    def check_window(self, window):
        for place in PLACES if tiers.IS_LONG else PLACES[1:2]:
            with self.subTest(place=place.name, window=str(window)):
                self.check(place, window)

    def test_steps_with_copies_of_another_thread(self):
        self.check_window(WINDOWS[0])

    def test_steps_by_threads_of_two_devices(self):
        self.check(PLACES[2], WINDOWS[0])

    def test_steps_before_an_order_stops_the_recording(self):
        self.check_window(WINDOWS[8])

    def not_reached(self, script, **environment):
        """The number of the stat that explains an empty run, and its sentence."""
        self.assertEqual(self.preloaded(script, **environment).code, 0)
        database = self.fold()
        self.assertEqual(gpu_support.scalar(database, "SELECT count(*) FROM activity"), 0)
        self.assertEqual(gpu_support.run_stats(database, *LOST), [])
        (stat,) = gpu_support.rows_of(database, "SELECT * FROM run_stat WHERE name='window_not_reached'")
        shown = " ".join(self.xlatrace("summary", "run.db").stdout.split())
        self.assertIn(stat["advice"][1:], shown)
        return stat["advice"]

    def test_window_of_steps_that_is_never_reached(self):
        text = self.not_reached(PLACES[0].script(3, lambda number: "", False), XLATRACE_STEPS="100:200")
        self.assertIn(" 30 ", text)

    def test_last_step_before_the_window_is_no_step_of_it(self):
        text = self.not_reached(PLACES[0].script(3, lambda number: "", False), XLATRACE_STEPS="30:31")
        self.assertIn(" 30 ", text)

    def test_window_of_steps_without_programs_of_xla(self):
        self.assertIn("XLA", self.not_reached("launch k x 9; sync", XLATRACE_STEPS="2:3"))

    def test_delay_longer_than_the_program(self):
        text = self.not_reached(PLACES[0].script(3, lambda number: "", False), XLATRACE_DELAY_MS="3600000")
        self.assertIn(" 30 ", text)
        self.assertIn(" 3600 ", text)

    @tiers.long_tier
    def test_forty_combinations(self):
        for window in WINDOWS:
            self.check_window(window)


if __name__ == "__main__":
    unittest.main()
