# SPDX-License-Identifier: Apache-2.0
"""Checks on real programs: JAX for CUDA trains, and XLA's own modules, graphs and kernels run."""

import os
import re
import statistics

from gpu.machine import PROGRAMS, expect

TRAINING = (PROGRAMS / "training.py").read_text()
CONTROL_FLOW = (PROGRAMS / "control_flow.py").read_text()
# Steps of a few microseconds of work are the hardest. CUPTI itself costs some 3 us per launch.
MAX_STEP_RATIO = 4
# Each copy of libcupti in the process.
LOADED = """
for path in {line.split()[-1] for line in open("/proc/self/maps") if "libcupti" in line}:
    print("loaded", os.path.realpath(path))
"""


def which_libcupti(machine):
    """The copy that JAX has loaded is the one in use."""
    done, place = machine.python(TRAINING + LOADED, python=machine.jax_python(), STEPS=3)
    expect(done.returncode == 0, done.stderr[-300:])
    version = machine.value(place, "SELECT value FROM run_info WHERE key = 'cupti_version'")
    (counts,) = machine.rows(
        place, "SELECT count(*) AS activities, count(instruction) AS named FROM activity"
    )
    expect(counts[0] > 0, f"nothing recorded: {done.stderr[-300:]}")
    complaints = machine.complaints(place)
    expect(not complaints, f"the run complains: {complaints}")
    path = machine.value(place, "SELECT value FROM run_info WHERE key = 'cupti_path'")
    loaded = re.findall(r"loaded (\S+)", done.stdout)
    expect(path and [os.path.realpath(path)] == loaded, f"{path} is in use, JAX has loaded {loaded}")
    return f"CUPTI {version or '?'}, {counts[1]} of {counts[0]} named"


def graphs_on_and_off(machine):
    """The same instructions with the same number of executions, with command buffers and without."""
    tables = []
    for flags in ("", "--xla_gpu_enable_command_buffer="):
        done, place = machine.python(
            TRAINING,
            python=machine.jax_python(),
            STEPS=20,
            XLA_FLAGS=(os.environ.get("XLA_FLAGS", "") + " " + flags).strip(),
        )
        expect(done.returncode == 0, done.stderr[-300:])
        rows = machine.rows(
            place,
            "SELECT instruction, count(*) AS launches FROM launch WHERE module = 'jit_step' AND "
            "confidence = 'exact' GROUP BY instruction",
        )
        exact, every = machine.rows(
            place,
            "SELECT sum(confidence = 'exact') AS exact, count(*) AS launches FROM launch "
            "WHERE module = 'jit_step'",
        )[0]
        expect(
            every and exact == every, f"{exact} of {every} launches are exact ({flags or 'graphs'})"
        )
        nodes = machine.value(
            place, "SELECT count(*) FROM activity WHERE graph_node_id IS NOT NULL"
        )
        expect(flags or nodes > 0, "no activity of a CUDA graph: nothing is compared")
        tables.append(dict(rows))
    different = {k for k in set(tables[0]) | set(tables[1]) if tables[0].get(k) != tables[1].get(k)}
    expect(not different, f"other counts for {sorted(different)[:5]}")
    return f"{len(tables[0])} instructions, {sum(tables[0].values())} launches each"


def control_flow_in_graphs(machine):
    """Loops, branches and scans, in command buffers where this XLA puts them there: all kernels are exact."""
    done, place = machine.python(CONTROL_FLOW, python=machine.jax_python(), STEPS=10)
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-500:]}")
    exact, every = machine.rows(
        place,
        "SELECT sum(confidence = 'exact') AS exact, count(*) AS launches FROM launch "
        "WHERE origin IN ('xla', 'xla_library') OR unattributed_reason NOT IN ('not_xla', 'transfer')",
    )[0]
    unknown = machine.value(
        place, "SELECT coalesce(sum(value), 0) FROM run_stat WHERE name = 'graph_node_unknown'"
    )
    nodes = machine.value(place, "SELECT count(*) FROM activity WHERE graph_node_id IS NOT NULL")
    expect(every and exact == every, f"{exact} of {every} launches are exact; {unknown} unknown nodes")
    expect(nodes > 0, "no activity of a CUDA graph: command buffers were not checked")
    return f"{exact} of {every} launches are exact, {nodes} in CUDA graphs, {unknown} nodes without a creation"


def nearly_all_memory(machine):
    """JAX preallocates 97 % of the device's memory: the rest is enough for CUPTI."""
    done, place = machine.python(
        TRAINING,
        python=machine.jax_python(),
        STEPS=20,
        XLA_PYTHON_CLIENT_MEM_FRACTION=".97",
        XLA_PYTHON_CLIENT_PREALLOCATE="true",
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-500:]}")
    count = machine.value(place, "SELECT count(*) FROM activity")
    complaints = machine.complaints(place)
    expect(count > 0 and not complaints, f"{count} activities; the run complains: {complaints}")
    return f"{count} activities"


def overhead(machine):
    """Step time with and without, alternating; of small steps also with whole graphs, and light."""
    python, told = machine.jax_python(), []
    ways = {
        "alone": {"traced": False},
        "traced": {},
        "whole graphs": {"XLATRACE_GRAPHS": "graph"},
        "light": {"XLATRACE_MODE": "light"},
    }
    for name, size, steps, count in (("large steps", 4096, 60, 2), ("small steps", 64, 300, 4)):
        times = {way: [] for way in list(ways)[:count]}
        for attempt in range(3):
            if attempt and machine.left_s() < 25 * count:
                break
            for way in times:
                done, _ = machine.python(
                    TRAINING, **{"python": python, "SIZE": size, "STEPS": steps, **ways[way]}
                )
                expect(done.returncode == 0, done.stderr[-300:])
                times[way].append(float(re.search(r"seconds (\S+)", done.stdout).group(1)))
        alone, *others = (statistics.median(seconds) / steps for seconds in times.values())
        slowest = max(others) / alone
        expect(slowest < MAX_STEP_RATIO, f"{name} take {slowest:.1f} times as long with the collector")
        told.append(
            f"{name}: {alone * 1e3:.3f} ms alone, "
            + ", ".join(
                f"{seconds * 1e3:.3f} ms {way} ({100 * (seconds / alone - 1):+.1f} %)"
                for way, seconds in zip(list(times)[1:], others)
            )
            + f", median of {len(times['alone'])}"
        )
    return "; ".join(told)


def profiler_beside_us(machine):
    """jax.profiler starts while the collector is subscribed: the program continues."""
    done, place = machine.python(
        TRAINING.replace("begin =", "jax.profiler.start_trace('trace')\nbegin =")
        + "jax.profiler.stop_trace()\n",
        python=machine.jax_python(),
        STEPS=5,
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-500:]}")
    # Five steps before the profile and five in it.
    count = machine.value(
        place, "SELECT count(*) FROM execution JOIN module USING (module_id) WHERE module.name = 'jit_step'"
    )
    expect(count == 10, f"our recording has {count} of 10 steps")
    said = [line for line in done.stderr.splitlines() if "ubscrib" in line or "CUPTI" in line]
    return said[0][-160:] if said else "nothing said"


def profile_guided(machine):
    """With JAX's PGLE, which needs CUPTI for itself, xlatrace does not record and reports that."""
    done, place = machine.python(
        TRAINING, python=machine.jax_python(), STEPS=5, JAX_ENABLE_PGLE="true", JAX_PGLE_PROFILING_RUNS=2
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-500:]}")
    expect(not list(place.glob("run.rec/*.rec")), "something was recorded")
    said = [line for line in done.stderr.splitlines() if line.startswith("xlatrace:")]
    expect(said and "PGLE" in said[0], f"not said: {said}")
    return said[0]
