# SPDX-License-Identifier: Apache-2.0
"""Checks that need no framework: kernels are launched through the driver API."""

import pathlib
import shutil
import signal
import subprocess
import sys
import time

from gpu.machine import Skip, expect

# An empty kernel takes some 2 us to launch, with CUPTI some 5 us.
MAX_COST_PER_LAUNCH_NS = 50_000
# More kernels in CUDA graphs than CUPTI 13.0 gives valid times for (25 million; parcagpu #23).
MANY = 26_000_000


def variables_set_by_a_constructor(machine):
    """The real driver reads what our constructor has put into the environment."""
    done, place = machine.small("start(); f = function(module(), 'k'); launch(f, 1000); sync()")
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    count = machine.value(place, "SELECT count(*) FROM launch")
    expect(count == 1000, f"{count} of 1,000 launches recorded; {done.stderr.strip()[-300:]}")
    complaints = machine.complaints(place)
    expect(not complaints, f"the run complains: {complaints}")
    if machine.out:
        shutil.copytree(place / "run.rec", machine.out / "recording", dirs_exist_ok=True)
    return "1,000 of 1,000 launches"


def each_cupti(machine):
    """Each release of libcupti records the same on this driver. A folder per release: --cupti, or the
    archive's own."""
    if not machine.cuptis:
        raise Skip("no copies of libcupti: see --cupti and --wheels")
    told = []
    for name, path in machine.cuptis.items():
        done, place = machine.small(
            "start(); f = function(module(), 'k'); launch(f, 1000); sync()", XLATRACE_CUPTI=path
        )
        expect(done.returncode == 0, f"{name}: status {done.returncode}: {done.stderr[-300:]}")
        count = machine.value(place, "SELECT count(*) FROM launch")
        expect(count == 1000, f"{name}: {count} of 1,000 launches: {done.stderr.strip()[-300:]}")
        facts = dict(machine.rows(place, "SELECT key, value FROM run_info"))
        used = facts.get("cupti_path", "unknown")
        expect(pathlib.Path(used).resolve() == path, f"{name}: {used} is in use")
        complaints = machine.complaints(place)
        expect(not complaints, f"{name}: the run complains: {complaints}")
        told.append(f"{name} (interface {facts.get('cupti_interface', '1')})")
    return "1,000 of 1,000 launches with " + ", ".join(told)


def kernels_of_a_stream(machine):
    """Overlap of kernels of one stream. Self times of a stream sum to the time it is busy."""
    done, place = machine.small(
        "start(); m = module(); k, s = function(m, 'k'), function(m, 'spin')\n"
        "for _ in range(200): launch(k); spin(s, 20000)\nsync()\n"
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    rows = machine.rows(
        place,
        "SELECT device_id, stream_id, start_ns, end_ns, self_ns FROM activity WHERE kind = 'kernel' "
        "AND end_ns IS NOT NULL ORDER BY start_ns",
    )
    expect(len(rows) == 400, f"{len(rows)} of 400 kernels have times")
    ends, busy, own, overlaps = {}, {}, {}, []
    for device, stream, start, end, self_ns in rows:
        key = device, stream
        before = ends.get(key, start)
        if before > start:
            overlaps.append(before - start)
        busy[key] = busy.get(key, 0) + max(0, end - max(start, before))
        own[key] = own.get(key, 0) + self_ns
        ends[key] = max(before, end)
    expect(own == busy, f"self times sum to {own}, busy times to {busy}")
    if not overlaps:
        return "none of 399 kernels starts before the one ahead of it ends"
    middle = sorted(overlaps)[len(overlaps) // 2]
    share = 100 * sum(overlaps) / sum(busy.values())
    return f"{len(overlaps)} of 399 overlaps, {middle / 1e3:.1f} us (median), {share:.1f} % of busy time"


def exits(machine):
    """Every way out leaves all that was done, or at most a flush period."""
    told = []
    for name, last, status, least in (
        ("return", "", 0, 500),
        ("sys.exit", "sys.exit(3)", 3, 500),
        ("exception", "raise RuntimeError", 1, 500),
        ("os._exit", "os._exit(7)", 7, 500),
        ("Ctrl-C", "os.kill(os.getpid(), signal.SIGINT); time.sleep(9)", -2, 500),
        ("SIGTERM", "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -15, 500),
        ("SIGKILL", "time.sleep(2.5); os.kill(os.getpid(), signal.SIGKILL)", -9, 500),
    ):
        done, place = machine.small(
            f"start(); f = function(module(), 'k'); launch(f, 500); sync()\n{last}\n"
        )
        expect(done.returncode == status, f"{name}: status {done.returncode}, not {status}")
        count = machine.value(place, "SELECT count(*) FROM launch")
        expect(count >= least, f"{name}: {count} of 500 launches")
        told.append(name)
    return ", ".join(told)


def killed_after(machine, script, seconds, **environment):
    """(folder, time of the kill) of a program that is killed so long after it prints a line."""
    place = machine.place()
    (place / "script.py").write_text("from driver import *\n" + script)
    process = subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=place,
        env=machine.environment(True, **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    process.stdout.readline()
    time.sleep(seconds)
    killed_ns = time.time_ns()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return place, killed_ns


def missing_before(machine, place, killed_ns):
    """Seconds from the end of the last activity that is recorded to the kill."""
    start, end = machine.rows(
        place,
        "SELECT (SELECT value FROM run_info WHERE key = 'start_unix_ns') AS start_ns, "
        "max(end_ns) AS end_ns FROM activity",
    )[0]
    expect(end is not None, "no activity is recorded")
    return (killed_ns - int(start) - end) / 1e9


def killed_from_outside(machine):
    """SIGKILL while it launches and the GPU is idle now and then."""
    script = (
        "start(); f = function(module(), 'k')\nprint('go', flush=True)\n"
        "while True: launch(f, 10); sync(); time.sleep(.001)\n"
    )
    late_s = missing_before(machine, *killed_after(machine, script, 3))
    expect(late_s < 1.1, f"the last {late_s:.2f} s are missing")
    return f"the last {late_s:.2f} s are missing"


def killed_while_busy(machine):
    """SIGKILL of a program whose GPU is never idle: a plain flush returns no buffer with an unfinished
    record."""
    script = (
        "start(); f = function(module(), 'spin')\nprint('go', flush=True)\n"
        "while True: spin(f, 200000, 10)\n"
    )
    late_s = missing_before(machine, *killed_after(machine, script, 4))
    expect(late_s < 1.1, f"the last {late_s:.2f} s are missing")
    return f"the last {late_s:.2f} s are missing"


def killed_while_it_hangs(machine):
    """A kernel that does not end, then SIGKILL: the forced flush brings all that was launched."""
    script = (
        "start(); m = module(); launch(function(m, 'k'), 500); f = function(m, 'spin')\n"
        "spin(f, 60 * 10**9); print('go', flush=True); time.sleep(100)\n"
    )
    place, _ = killed_after(machine, script, 4, XLATRACE_STALL_MS=1000)
    count, unended = machine.rows(
        place, "SELECT count(*) AS launches, sum(end_ns IS NULL) AS unended FROM activity"
    )[0]
    expect(count == 501, f"{count} of 501 launches are recorded")
    if not machine.fake:
        expect(unended == 1, f"{unended} launches have no end, not 1")
    return f"501 of 501 launches, {unended} without an end"


def exit_with_work_queued(machine):
    """sys.exit while the GPU has seconds of work: each launch is recorded, with its end or without."""
    done, place = machine.small(
        "start(); f = function(module(), 'spin'); spin(f, 5 * 10**6, 500); sys.exit(3)\n"
    )
    expect(done.returncode == 3, f"status {done.returncode}: {done.stderr[-300:]}")
    count, unended = machine.rows(
        place, "SELECT count(*) AS launches, sum(end_ns IS NULL) AS unended FROM activity"
    )[0]
    expect(count == 500, f"{count} of 500 launches are recorded")
    return f"500 of 500 launches, {unended} without an end"


def clocks(machine):
    """Kernels start after the call that launches them began, and soon after on an idle GPU."""
    done, place = machine.small(
        "start(); f = function(module(), 'k')\nfor _ in range(300): launch(f); sync(); time.sleep(.005)\n"
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    waits = [
        row[0]
        for row in machine.rows(
            place,
            "SELECT a.start_ns - c.start_ns AS wait_ns FROM activity a "
            "JOIN api_call c USING (api_call_id) ORDER BY a.start_ns",
        )
    ]
    expect(len(waits) == 300, f"{len(waits)} of 300 kernels have their call")
    early = sum(wait < 0 for wait in waits)
    expect(early <= 3, f"{early} of 300 kernels start before their call")
    middle = sorted(waits)[150]
    expect(middle < 10**6, f"a kernel starts {middle / 1e6:.3f} ms after its call (median)")
    notes = machine.rows(place, "SELECT name FROM run_stat WHERE name LIKE 'collector_note%'")
    return "; ".join(
        [f"a kernel starts {middle / 1e3:.1f} us after its call (median), {early} of 300 before it"]
        + [name for (name,) in notes]
    )


def whole_graphs(machine):
    """--graphs graph: a row per launch of a graph, and none per node."""
    done, place = machine.small(
        "start(); f = function(module(), 'k'); launch(f, 7); executable, stream = graph(f, 50)\n"
        "for _ in range(20): check(driver.cuGraphLaunch(executable, stream))\n"
        "check(driver.cuStreamSynchronize(stream))\n",
        XLATRACE_GRAPHS="graph",
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    kinds = dict(machine.rows(place, "SELECT kind, count(*) AS n FROM activity GROUP BY kind"))
    expect(kinds == {"graph": 20, "kernel": 7}, f"{kinds}, not 20 graphs and 7 kernels")
    return "20 launches of a graph of 50 nodes: 20 rows"


def graph_launches_in_flight(machine):
    """64 launches of a graph of 4,000 nodes, without waiting: the memory of buffers is enough."""
    done, place = machine.small(
        "start(); f = function(module(), 'k'); executable, stream = graph(f, 4000)\n"
        "for _ in range(64): check(driver.cuGraphLaunch(executable, stream))\n"
        "check(driver.cuStreamSynchronize(stream))\n"
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    count = machine.value(place, "SELECT count(*) FROM activity")
    expect(count == 256000, f"{count:,} of 256,000 kernels recorded")
    mapped = machine.value(
        place, "SELECT value FROM run_stat WHERE name = 'collector_buffer_bytes_mapped'"
    )
    return f"256,000 of 256,000 kernels, {(mapped or 0) / 2**20:.0f} MiB of buffers"


def forks(machine):
    """Data loaders that are forked after CUDA was started end, and the parent goes on."""
    done, place = machine.small(
        "import multiprocessing as m\n"
        "if __name__ == '__main__':\n"
        "    start(); f = function(module(), 'k'); launch(f, 50); sync()\n"
        "    for how in ('fork', 'spawn', 'forkserver'):\n"
        "        p = m.get_context(how).Process(target=print, args=(how,))\n"
        "        p.start(); p.join(40); assert p.exitcode == 0, (how, p.exitcode)\n"
        "    launch(f, 50); sync()\n"
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    count = machine.value(place, "SELECT count(*) FROM launch")
    expect(count == 100, f"{count} of 100 launches")
    return "fork, spawn, forkserver; 100 of 100 launches"


def occupancy(machine):
    """Ours is the driver's own answer."""
    done, place = machine.small(
        "start(); m = module()\n"
        "for name in ('k', 'wide'):\n"
        "    f = function(m, name)\n"
        "    for block in (32, 64, 96, 128, 256, 512, 1024):\n"
        "        n = ctypes.c_int()\n"
        "        check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(\n"
        "            ctypes.byref(n), f, block, ctypes.c_size_t(0)))\n"
        "        print(name, block, n.value); launch(f, block=block)\nsync()\n"
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    wrong = []
    rows = machine.rows(
        place,
        "SELECT l.kernel_symbol, l.block_x, l.theoretical_occupancy_pct, "
        "d.max_threads_per_sm FROM launch l JOIN device d USING (device_id)",
    )
    ours = {(name, block): (pct, threads) for name, block, pct, threads in rows}
    answers = [line.split() for line in done.stdout.splitlines()]
    for name, block, blocks in answers:
        pct, threads = ours[(name, int(block))]
        if pct is None or not threads:
            raise Skip("the device's limits are not recorded")
        warps = -(-int(block) // 32) * int(blocks)
        expected = 100 * warps / (threads / 32)
        if abs(expected - pct) > 0.05:
            wrong.append(f"{name} {block}: {pct} %, the driver {expected:.1f} %")
    expect(not wrong, "; ".join(wrong))
    return f"{len(answers)} launches"


def flush_cost(machine):
    """FlushAll every 20 ms rather than every second, and what the recording states of its cost."""
    body = (
        "start(); f = function(module(), 'k'); launch(f, 1000); sync()\n"
        "b = time.perf_counter(); launch(f, 100000); sync(); print(time.perf_counter() - b)\n"
    )
    seconds = {}
    for period in (1000, 20):
        times = []
        for _ in range(2):
            done, place = machine.small(body, XLATRACE_FLUSH_MS=period)
            expect(done.returncode == 0, done.stderr[-300:])
            times.append(float(done.stdout))
        seconds[period] = min(times)
    alone = min(float(machine.small(body, traced=False)[0].stdout) for _ in range(2))
    cost = machine.value(place, "SELECT value FROM run_info WHERE key = 'own_cost_ns'")
    per_launch_ns = (seconds[1000] - alone) * 1e9 / 100_000
    expect(
        per_launch_ns < MAX_COST_PER_LAUNCH_NS,
        f"tracing costs {per_launch_ns:.0f} ns per launch ({seconds[1000]:.3f} and {alone:.3f} s)",
    )
    return (
        f"{per_launch_ns:.0f} ns per launch; 100,000 empty kernels: {alone:.3f} s alone, {seconds[1000]:.3f} s traced, "
        f"{seconds[20]:.3f} s flushing every 20 ms; own cost {int(cost) / 101000:.0f} ns per launch"
    )


def many_graph_records(machine):
    """More kernels in CUDA graphs than CUPTI 13.0 could give times to in one process."""
    wanted = 100_000 if machine.fake else MANY
    seconds = max(min(60, machine.left_s() - 150), 5)
    done, place = machine.small(
        "start(); f = function(module(), 'k'); executable, stream = graph(f, 1000)\n"
        "launches, free, end = 0, free_memory(), time.monotonic() + %f\n"
        "while launches * 1000 < %d and time.monotonic() < end:\n"
        "    for _ in range(20): check(driver.cuGraphLaunch(executable, stream))\n"
        "    check(driver.cuStreamSynchronize(stream)); launches += 20\n"
        "print(launches * 1000, free - free_memory())\n" % (seconds, wanted)
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    launched, grown = map(int, done.stdout.split())
    rows = machine.value(place, "SELECT count(*) FROM activity", limit_s=200)
    invalid = machine.value(
        place, "SELECT coalesce(sum(value), 0) FROM run_stat WHERE name = 'records_invalid_time'"
    )
    expect(rows == launched, f"{rows:,} of {launched:,} kernels recorded")
    expect(invalid == 0, f"{invalid:,} of {launched:,} kernels have no valid times")
    if launched < wanted:
        raise Skip(f"only {launched:,} of {wanted:,} kernels ran in {seconds:.0f} s; all have times")
    return (
        f"{rows:,} of {launched:,} kernels in graphs, all with times; CUPTI took "
        f"{grown / 2**20:.0f} MiB of the device's memory"
    )
