# SPDX-License-Identifier: Apache-2.0
"""Pairs that run on the fake GPU without a framework: scripts of fake_workload with given kernel times.

Streams, events, graphs and the host's work are all in the script. So every figure of a prediction is
known, and two runs differ only by the host's time."""

from pairs import Change, Flag, Op, Pair, Side, Without

STEPS = 40
COPY_SCALE = 20  # Scale of the device's times if there are copies.
WARM_UP = "launch warm; sync"


def natural_us(kernel: str) -> float:
    """Time of a kernel with this name on the fake device (tests/fake_gpu/driver/timeline.cc)."""
    value = 0xCBF29CE484222325
    for byte in kernel.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return (1536 + value % 512 * 32) / 1000


def scenario(kernels: dict[str, float], time_scale: float = 1) -> str:
    return "".join(
        f"kernel {n} times {us / natural_us(n) / time_scale:.6f}\n" for n, us in kernels.items()
    )


def registered(ops: str) -> str:
    """Instructions of the module. Their names mark it as training: such a step may be idle for long."""
    text = (
        '{op} = f32[8]{{0}} custom-call(), custom_call_target=\\"any\\", '
        'metadata={{op_name=\\"jit(train_step)/transpose(jvp(mlp))/{word}\\"}}'
    )
    return "; ".join(
        f'op {op} hlo "{text.format(op=op, word=op.partition(".")[0])}"' for op in ops.split()
    )


def script(body: str, setup: str = "", between: str = "", ops: str = "") -> str:
    """A training loop of one module; `body` are its thunks, `between` is what the host does after each."""
    table = registered(ops)
    return (
        f"executable jit_train_step 7 {{ {table} }}\n{setup}\n{WARM_UP}\n"
        f"repeat {STEPS} {{\n  module jit_train_step 7 {{\n{body}\n  }}\n  {between}\n}}\nsync\n"
    )


def side(text: str, **kernels_us: float) -> Side:
    return Side(text, {"scenario": scenario(kernels_us)})


def copying(text: str, **kernels_us: float) -> Side:
    """A side with copies. The fake moves their bytes on the host, so it gets few, and a slow device."""
    return Side(text, {"scenario": scenario(kernels_us, COPY_SCALE), "time_scale": COPY_SCALE})


def instruction(name: str) -> str:
    return f"instruction = '{name}'"


def pair(name: str, about: str, before: Side, after: Side, *changes: Change) -> Pair:
    """Whose step is the device's alone: the same in every run, however busy the machine is."""
    return Pair(name, "workload", about, before, after, changes, quick=True)


def host_pair(
    name: str, about: str, before: Side, after: Side, *changes: Change, undecided: bool = False
) -> Pair:
    """In whose step the host's own time is."""
    return Pair(name, "workload", about, before, after, changes, undecided, host=True)


def thunk(name: str, what: str, stream: str = "") -> str:
    on = f" on {stream}" if stream else ""
    return f"    thunk {name} {{ {what}{on} }}\n"


def nodes(op: str, kernel: str, count: int) -> str:
    """Nodes of a graph, one after another; of each of them the script makes one."""
    return f"  thunk {op} {{ " + "; ".join([f"launch {kernel}"] * count) + " }\n"


def one_graph(body: str, ops: str) -> str:
    """A step that is the launch of one graph."""
    return script(
        "    thunk command_buffer.9 { run whole }",
        setup=f"graph whole {{\n{body}}}\n",
        ops=f"{ops} command_buffer.9",
    )


def one_stream() -> list[Pair]:
    """Work in one queue, of which the host is ahead."""
    ops = "dot.1 add.2 sort.3"
    body = (
        thunk("dot.1", "launch dot x 10") + thunk("add.2", "launch add x 20")
        + thunk("sort.3", "launch sort x 2")
    )  # fmt: skip
    without_sort = thunk("dot.1", "launch dot x 10") + thunk("add.2", "launch add x 20")
    queue, synced = script(body, ops=ops), script(body, ops=ops, between="sync")
    slow = {"dot": 60.0, "add": 12.0, "sort": 300.0}
    fast = slow | {"sort": 90.0}
    return [
        pair("queue_op_faster", "one op of a full queue takes 0.3 times as long",
             side(queue, **slow), side(queue, **fast), Op(instruction("sort.3"))),
        pair("queue_op_slower", "one op of a full queue takes twice as long",
             side(queue, **slow), side(queue, **(slow | {"sort": 600.0})), Op(instruction("sort.3"))),
        pair("queue_op_removed", "an op of a full queue is gone",
             side(queue, **slow), side(script(without_sort, ops=ops), **slow),
             Without(instruction("sort.3"))),
        pair("queue_two_ops", "one op is gone, another takes half as long",
             side(queue, **slow), side(script(without_sort, ops=ops), **(slow | {"dot": 30.0})),
             Without(instruction("sort.3")), Op(instruction("dot.1"))),
        host_pair("synced_op_faster", "a synchronisation per step; one op takes 0.3 times as long",
             side(synced, **slow), side(synced, **fast), Op(instruction("sort.3"))),
    ]  # fmt: skip


def host() -> list[Pair]:
    """The host sleeps, or launches slowly."""
    ops = "dot.1 add.2"
    body = thunk("dot.1", "launch dot x 10") + thunk("add.2", "launch add x 10")
    times = {"dot": 120.0, "add": 30.0}
    synced = script(body, ops=ops, between="sync; sleep 3")
    ahead = script(body, ops=ops, between="sleep 4")
    fast = times | {"dot": 60.0}
    # The host takes 60 us for a launch: longer than the kernels.
    bound = f"rate 16000\n{script(body, ops=ops)}"
    short = {"dot": 20.0, "add": 10.0}
    merged = one_graph(nodes("dot.1", "dot", 10) + nodes("add.2", "add", 10), ops)
    return [
        host_pair("gap_closed", "the host no longer sleeps 3 ms between steps, and no longer waits",
             side(synced, **times), side(script(body, ops=ops), **times), Flag("--no-gaps")),
        host_pair("gap_closed_op_faster", "the sleep is gone, and an op takes half as long",
             side(synced, **times), side(script(body, ops=ops), **fast),
             Flag("--no-gaps"), Op(instruction("dot.1"))),
        host_pair("sleep_after_wait", "a synchronisation per step, then a sleep; one op takes half as long",
             side(synced, **times), side(synced, **fast), Op(instruction("dot.1")), undecided=True),
        host_pair("sleep_beside_device", "the host sleeps while the device works; an op takes half as long",
             side(ahead, **times), side(ahead, **fast), Op(instruction("dot.1")), undecided=True),
        host_pair("launch_bound_op_faster", "the host launches slower than the device works; an op at half",
             side(bound, **short), side(bound, **(short | {"dot": 10.0})), Op(instruction("dot.1"))),
        host_pair("launch_bound_one_graph", "the same kernels as one graph",
             side(bound, **short), side(merged, **short), Flag("--one-launch")),
    ]  # fmt: skip


def streams() -> list[Pair]:
    """Two streams that wait for each other by events."""
    ops = "dot.1 add.2 gather.3 copy.4"
    fork = "    record begin\n    wait-event begin on side\n"
    join = "    record done on side\n    wait-event done\n"

    def beside(main: str, other: str) -> str:
        return script(fork + other + main + join + thunk("add.2", "launch add x 5"), ops=ops)

    main = thunk("dot.1", "launch dot x 10")
    other = thunk("gather.3", "launch gather x 4", "side")
    both = beside(main, other)
    times = {"dot": 80.0, "gather": 60.0, "add": 20.0}
    long = {"dot": 160.0, "add": 300.0}
    near = times | {"gather": 150.0}
    copied = thunk("copy.4", "copy htod 800000", "side")  # 380 us
    half = thunk("copy.4", "copy htod 400000", "side")
    inline = script(thunk("copy.4", "copy htod 800000") + main, ops=ops)
    hidden = script(fork + copied + main + join, ops=ops)
    first = script(
        fork + copied + join + main + thunk("add.2", "launch add x 5"), ops=ops
    )
    gone = script(main + thunk("add.2", "launch add x 5"), ops=ops)
    return [
        pair("side_op_faster", "an op beside a longer one takes a quarter: nothing changes",
             side(both, **times), side(both, **(times | {"gather": 15.0})), Op(instruction("gather.3"))),
        pair("side_becomes_path", "the longer of two ops takes a quarter: the other is the limit",
             side(both, **near), side(both, **(near | {"dot": 20.0})), Op(instruction("dot.1"))),
        pair("both_sides_faster", "two parallel ops, both 0.5 times the time",
             side(both, **near), side(both, **(near | {"dot": 40.0, "gather": 75.0})),
             Op(instruction("dot.1")), Op(instruction("gather.3"))),
        pair("side_grows_to_path", "an op beside a longer one takes four times as long, and is the limit",
             side(both, **times), side(both, **(times | {"gather": 240.0})), Op(instruction("gather.3"))),
        pair("copy_half_hidden", "a copy that is longer than the work beside it, of half the bytes",
             copying(beside(thunk("dot.1", "launch dot"), copied), **long),
             copying(beside(thunk("dot.1", "launch dot"), half), **long), Op(instruction("copy.4"))),
        pair("copy_hidden", "a copy in the queue goes to a stream of its own, beside other work",
             copying(inline, **long), copying(hidden, **long), Without(instruction("copy.4"))),
        pair("copy_gone", "a copy on a stream of its own that all work waits for is gone",
             copying(first, **long), copying(gone, **long), Without(instruction("copy.4"))),
    ]  # fmt: skip


def graphs() -> list[Pair]:
    """A step that is one CUDA graph."""
    ops = "dot.1 add.2 gather.3"

    first, middle, last = nodes("dot.1", "dot", 5), nodes("gather.3", "gather", 3), nodes("add.2", "add", 1)
    chain = one_graph(first + middle + last, ops)
    times = {"dot": 50.0, "gather": 100.0, "add": 60.0}
    branches = one_graph(
        nodes("dot.1", "dot", 1) + "  thunk gather.3 { launch gather after none }\n", ops
    )
    branch = {"dot": 300.0, "gather": 200.0}
    return [
        pair("graph_op_faster", "an op of a graph takes 0.4 times as long",
             side(chain, **times), side(chain, **(times | {"gather": 40.0})), Op(instruction("gather.3"))),
        pair("graph_branch_faster", "of two branches of a graph the longer one takes a quarter",
             side(branches, **branch), side(branches, **(branch | {"dot": 75.0})),
             Op(instruction("dot.1"))),
        pair("graph_branch_hidden", "of two branches of a graph the shorter one takes a quarter",
             side(branches, **branch), side(branches, **(branch | {"gather": 50.0})),
             Op(instruction("gather.3"))),
        pair("graph_op_removed", "an op of a graph is gone",
             side(chain, **times),
             side(one_graph(first + last, ops), **times),
             Without(instruction("gather.3"))),
    ]  # fmt: skip


def collectives() -> list[Pair]:
    """Two devices in a process, a host thread for each."""
    ops = "dot.1 all-reduce.2 add.3"
    reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

    def step(body: str) -> str:
        table = registered(ops)
        return (
            f"executable jit_train_step 7 {{ {table} }}\n"
            "threads 2 {\n  device %t\n  launch warm; sync\n"
            f"  repeat {STEPS} {{\n  module jit_train_step 7 {{\n{body}\n  }}\n  }}\n  sync\n}}\n"
        )

    call = f"nccl ncclAllReduce 4194304 {{ launch {reduce} }}"
    exposed = step(
        thunk("dot.1", "launch dot x 5") + f"    thunk all-reduce.2 {{ {call} }}\n"
        + thunk("add.3", "launch add x 2")
    )  # fmt: skip
    # The same all-reduce on its own stream, in parallel with add.3, which does not use its result.
    hidden = step(
        thunk("dot.1", "launch dot x 5")
        + "    record ready; wait-event ready on side\n"
        + f"    thunk all-reduce.2 {{ nccl ncclAllReduce 4194304 {{ launch {reduce} on side }} }}\n"
        + thunk("add.3", "launch add x 2")
        + "    record done on side; wait-event done\n"
    )
    times = {"dot": 80.0, "add": 30.0, reduce: 400.0}
    long = times | {"add": 250.0}
    halved = times | {reduce: 200.0}
    return [
        pair("collective_faster", "the link is twice as fast, the collective exposed",
             side(exposed, **times), side(exposed, **halved), Flag("--collective-bandwidth 2x")),
        pair("collective_hidden", "an exposed collective goes beside the work that follows",
             side(exposed, **long), side(hidden, **long), Without(instruction("all-reduce.2"))),
        pair("collective_and_op", "the link is twice as fast, and an op takes half as long",
             side(exposed, **times), side(exposed, **(halved | {"dot": 40.0})),
             Flag("--collective-bandwidth 2x"), Op(instruction("dot.1"))),
    ]  # fmt: skip


def pairs() -> list[Pair]:
    return one_stream() + host() + streams() + graphs() + collectives()
