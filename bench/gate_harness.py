#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `xlatrace gate` is wrong on runs of one program, and how often it finds a planted change.

usage: bench/gate_harness.py fake PROGRAM FAKE_GPU [--comparisons 300] [--noise 0.2] [--jobs 2]
       bench/gate_harness.py command PROGRAM FOLDER [--processes 40] [--planted N --slower WORDS] -- COMMAND...

fake: processes of `fake_workload` on the fake GPU (FAKE_GPU: its folder, build/PRESET/fake_gpu), with
a training step of 20 ops. Every comparison has 6 processes of its own: 5 for the baseline and 1 for
the test. Each has its own noise: `--noise` percent of the whole process, half of it per kernel, 3 %
per launch; the host's noise is real. No run is in two comparisons, so they are independent. Then the
same baseline tests one more process with --max-regress 1%. One op of that process is slower, so that
its step takes 3 % longer.

command: COMMAND is recorded in PROCESSES processes (FOLDER/run-N.db; existing ones are used again).
They are cut into disjoint comparisons of 5 and 1 runs, in 50 orders. Comparisons of different orders
share runs, so both figures are printed. --planted: N further processes with WORDS after the command
(FOLDER/slow-N.db). Each is compared with 5 of the others, by time only, with --max-regress 1%.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

BASELINE = 5
STEPS = 24
LAUNCHES = 8
PLANTED = 0.03
SLOW = 4  # The op that is planted.
FACTS = ("launches", "fusions", "bytes", "flops", "compilations", "peak_memory_bytes",
         "exposed_collective_bytes", "attributed")


def operations():
    """(op_name, opcode) of a step with forward, backward and optimizer."""
    for phase in ("jvp(layer_{})", "transpose(jvp(layer_{}))"):
        for layer in range(4):
            yield f"jit(train_step)/{phase.format(layer)}/dot_general", "add"
            yield f"jit(train_step)/{phase.format(layer)}/tanh", "tanh"
    for layer in range(4):
        yield f"jit(train_step)/adam/layer_{layer}/sub", "subtract"


def workload():
    lines = ["executable jit_train_step 7 {", '  op in.0 hlo "in.0 = f32[256,256]{1,0} parameter(0)"']
    before = "in.0"
    names = list(operations())
    for n, (name, opcode) in enumerate(names):
        operands = before if opcode == "tanh" else f"{before}, in.0"
        lines.append(f'  op k.{n} hlo "k.{n} = f32[256,256]{{1,0}} {opcode}({operands}),'
                     f' metadata={{op_name=\\"{name}\\"}}"')
        before = f"k.{n}"
    lines += ["}", f"repeat {STEPS} {{ module jit_train_step 7 {{"]
    lines += [f"thunk k.{n} {{ launch kernel_{n} x {LAUNCHES} }}" for n in range(len(names))]
    return "\n".join([*lines, "} }; sync"]) + "\n"


def planted_factor():
    """Factor for the slow op that makes the step 3 % longer, from the fake GPU's durations (its README)."""
    def nanoseconds(name):
        value = 0xCBF29CE484222325
        for byte in name.encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
        return 1536 + value % 512 * 32
    times = [nanoseconds(f"kernel_{n}") + 640 for n in range(len(list(operations())))]
    return 1 + PLANTED * sum(times) / (times[SLOW] - 640)


def run(command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, check=False, **options)
    if result.returncode not in (0, 3):
        raise RuntimeError(f"{command}: {result.returncode}\n{result.stderr.decode()}")
    return result.stdout


def judged(program, base, new, limit, facts=True):
    options = [] if facts else [word for fact in FACTS for word in ("--ignore", fact)]
    result = json.loads(run([program, "gate", *base, "--format", "json", "--max-regress", limit, *options,
                             "--", new]))
    return result["outcome"], result["sentence"]


class Fake:
    def __init__(self, program, folder, noise):
        self.program, self.fake, self.noise = program, folder, noise
        self.factor = planted_factor()

    def record(self, place, name, seed, planted):
        scenario = place / f"{name}.scenario"
        scenario.write_text(f"noise run {self.noise}\nnoise kernel {self.noise / 2}\nnoise launch 3\n"
                            f"noise seed {seed}\n"
                            + (f"kernel kernel_{SLOW} times {self.factor}\n" if planted else ""))
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.fake), XLATRACE_FORCE_COLLECTOR="1",
                           FAKE_GPU_SCENARIO=str(scenario))
        database = place / f"{name}.db"
        run([self.program, "record", "-o", database, "--", self.fake / "fake_workload", place / "step.txt"],
            env=environment)
        return database

    def comparison(self, number):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "step.txt").write_text(workload())
            seed = (number + 1) * 100
            base = [self.record(place, f"base-{i}", seed + i, False) for i in range(BASELINE)]
            same = self.record(place, "same", seed + 50, False)
            slow = self.record(place, "slow", seed + 51, True)
            return (judged(self.program, base, same, "3%"), judged(self.program, base, same, "1%"),
                    judged(self.program, base, slow, "1%"))


def told(title, outcomes, wanted="regression"):
    counts = collections.Counter(outcome for outcome, _ in outcomes)
    print(f"{title}: {counts[wanted]} of {len(outcomes)} ({100 * counts[wanted] / len(outcomes):.1f} %)"
          f" {wanted}; {dict(counts)}")


def fake(args):
    job = Fake(args.program.resolve(), args.fake_gpu.resolve(), args.noise)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(job.comparison, range(args.comparisons)))
    print(f"fake GPU, noise {args.noise} % per process: {args.comparisons * (BASELINE + 2)} processes,"
          f" {args.comparisons} disjoint comparisons of 1 with {BASELINE}")
    told("the same program, limit 3 %", [r[0] for r in results])
    told("the same program, limit 1 %", [r[1] for r in results])
    told("planted 3 %, limit 1 %", [r[2] for r in results])
    for kind in (0, 1):
        for result in results:
            if result[kind][0] == "regression":
                print(f"  false alarm: {result[kind][1]}")


def recorded(args, name, count, words):
    runs = []
    for i in range(count):
        database = args.folder / f"{name}-{i}.db"
        if not database.exists():
            run([args.program, "record", "-o", database, "--", *words])
        runs.append(database)
    return runs


def command(args):
    words = args.command
    args.folder.mkdir(parents=True, exist_ok=True)
    # Taken in turns, so that another load of the machine does not fall on one kind alone.
    slow = []
    for part in range(4):
        runs = recorded(args, "run", args.processes * (part + 1) // 4, words)
        slow = recorded(args, "slow", args.planted * (part + 1) // 4, words + args.slower.split())
    rng = random.Random(1)
    whole = []
    for order in range(50):
        rng.shuffle(runs)
        outcomes = [judged(args.program, runs[k:k + BASELINE], runs[k + BASELINE], "3%")
                    for k in range(0, len(runs) - BASELINE, BASELINE + 1)]
        if order == 0:
            told(f"{len(runs)} processes, disjoint comparisons", outcomes)
        whole += outcomes
    told("50 orders of them", whole)
    for outcome, sentence in whole:
        if outcome == "regression":
            print(f"  false alarm: {sentence}")
    pairs = [judged(args.program, [a], b, "3%")[0] for a, b in zip(runs[::2], runs[1::2])]
    print(f"one against one, no baseline: {dict(collections.Counter(pairs))}")
    if slow:
        told("planted, limit 1 %", [judged(args.program, rng.sample(runs, BASELINE), new, "1%", facts=False)
                                    for new in slow])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(required=True)
    on_fake = modes.add_parser("fake")
    on_fake.add_argument("program", type=pathlib.Path)
    on_fake.add_argument("fake_gpu", type=pathlib.Path)
    on_fake.add_argument("--comparisons", type=int, default=300)
    on_fake.add_argument("--noise", type=float, default=0.2)
    on_fake.add_argument("--jobs", type=int, default=2)
    on_fake.set_defaults(go=fake)
    of_command = modes.add_parser("command")
    of_command.add_argument("program", type=pathlib.Path)
    of_command.add_argument("folder", type=pathlib.Path)
    of_command.add_argument("--processes", type=int, default=40)
    of_command.add_argument("--planted", type=int, default=0)
    of_command.add_argument("--slower", default="")
    of_command.set_defaults(go=command)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:cut])
    args.command = words[cut + 1:]
    args.go(args)


if __name__ == "__main__":
    sys.exit(main())
