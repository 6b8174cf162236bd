#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost per launch of TensorFlow's own ops in the program: not recorded, recorded without op names
(XLATRACE_TF_OPS=0), and recorded with them.

    tensorflow_ops_bench.py BUILD [ROUNDS]

BUILD: a build folder with the fake GPU. Environment: XLATRACE_TEST_PYTHON_TF_CUDA, as in
tests/fake_gpu/tensorflow/rig.py. The step of graph_step.py runs 300 times per round, in turn with and
without the collector; the fastest round of each kind counts. Kernels of the fake device take almost no time
here, so the step is the host's work. Process CPU time, all threads.
"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/fake_gpu/tensorflow"))

import rig

PROGRAM = """
import runpy, sys, time
sys.argv = [sys.argv[1], "20"]
step = runpy.run_path(sys.argv[0])
x, y, train = step["x"], step["y"], step["train_step"]
for _ in range(20):
    loss = train(x, y)
loss.numpy()
wall, cpu = time.perf_counter(), time.process_time()
for _ in range(300):
    loss = train(x, y)
loss.numpy()
print("US", (time.perf_counter() - wall) / 300 * 1e6, (time.process_time() - cpu) / 300 * 1e6)
"""
KINDS = ("alone", "without names", "with names")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    own = rig.Rig(libraries=build / "fake_gpu")
    best = {}
    with tempfile.TemporaryDirectory(prefix="xlatrace-tf-bench-") as folder:
        program = pathlib.Path(folder) / "bench.py"
        program.write_text(PROGRAM)
        for number in range(rounds):
            for kind in KINDS:
                place = pathlib.Path(folder) / f"{kind}-{number}".replace(" ", "_")
                place.mkdir()
                more = {"FAKE_GPU_TIME_SCALE": "0.001"}
                if kind == "without names":
                    more["XLATRACE_TF_OPS"] = "0"
                done = own.run(
                    program,
                    rig.HERE / "graph_step.py",
                    cwd=place,
                    preload=None if kind == "alone" else build / "lib/libxlatrace.so",
                    more=more,
                )
                if done.returncode != 0:
                    sys.exit(f"{kind}: exit {done.returncode}\n{done.stderr[-2000:]}")
                line = next(each for each in done.stdout.splitlines() if each.startswith("US "))
                wall, cpu = map(float, line.split()[1:])
                before = best.get(kind, (wall, cpu))
                best[kind] = (min(before[0], wall), min(before[1], cpu))
    print(f"{'':15}wall of a step   CPU of a step   (us, the least of {rounds} rounds)")
    for kind in KINDS:
        print(f"{kind:15}{best[kind][0]:14.1f}{best[kind][1]:16.1f}")


if __name__ == "__main__":
    main()
