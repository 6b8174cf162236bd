# SPDX-License-Identifier: Apache-2.0
"""Random programs of fusions, as text cases whose expected labels are known by construction.

XLA's metadata on a fusion is the truth. The generator chooses the op that XLA names before it
writes the fusion:

- The op that XLA names is the label. The fusion has the phase, layer and line of the op.

- Other ops make one pass over at most as many elements. They never cost twice as much.

- If the named op passes over at most 1/16 of the elements of another op, that op is the label.

- Views (slice, bitcast, reshape, broadcast, ...) get no time. If XLA names a view, the op that the
  view reads is the label. A fusion of views only is a copy, labelled as XLA names it.

- An op that a second fusion repeats has the phase of that fusion. It is no recomputation.

- Recompute is what has `rematted_computation` in its op_name, or `.remat` in its name.

Each view has a scope that starts with `view`, each other op has a scope that starts with `block`.
"""

import random

FORWARD, BACKWARD, RECOMPUTE, OPTIMIZER = "forward", "backward", "recompute", "optimizer"
OP_NAMES = {
    FORWARD: "jit(train_step)/jvp({scope})/{leaf}",
    BACKWARD: "jit(train_step)/transpose(jvp({scope}))/{leaf}",
    RECOMPUTE: "jit(train_step)/transpose(jvp({scope}))/checkpoint/rematted_computation/{leaf}",
    OPTIMIZER: "jit(train_step)/adam/{scope}/{leaf}",
}
# Opcodes and the primitives of JAX that become them. All of them cost one pass over their elements.
BINARY = {"add": "add", "multiply": "mul", "subtract": "sub", "maximum": "max", "minimum": "min"}
UNARY = {"negate": "neg", "abs": "abs"}


class Value:
    """An instruction: its name, its dimensions, and the op that it is, or reads through views."""

    def __init__(self, name, dims, op=None):
        self.name, self.dims, self.op = name, list(dims), op


class Op:
    """A framework op: what the label must show."""

    def __init__(self, op_name, phase, layer, line):
        self.op_name, self.phase, self.layer, self.line = op_name, phase, layer, line

    def metadata(self):
        return f"  @{self.op_name} train.py:{self.line}"


def shape(dims, kind="f32"):
    layout = ",".join(str(d) for d in reversed(range(len(dims))))
    return f"{kind}[{','.join(map(str, dims))}]" + (f"{{{layout}}}" if dims else "")


class Program:
    """Fusions of one program. `rematerializes`: the framework or XLA marks some work as recompute."""

    def __init__(self, random_source, rematerializes):
        self.random = random_source
        self.rematerializes = rematerializes
        self.computations, self.entry, self.results, self.expected = [], [], [], []
        self.parameters = {}
        self.number = 0
        self.views_only = []  # Fusions that hold nothing else.
        self.repeating = []  # Fusions with work that another one does as well.

    # --- names ---

    def next(self):
        self.number += 1
        return self.number

    def phase(self):
        phases = [FORWARD, BACKWARD, OPTIMIZER] + [RECOMPUTE] * self.rematerializes
        return self.random.choice(phases)

    def op(self, leaf, phase=None, kind="block"):
        number = self.next()
        phase = phase or self.phase()
        scope = f"{kind}_{number}"
        # Optimizer work has the layer of the parameter that it updates; here parameters have none.
        layer = "..." if phase == OPTIMIZER else scope
        return Op(OP_NAMES[phase].format(scope=scope, leaf=leaf), phase, layer, number)

    def parameter(self, dims):
        """One parameter of the entry computation for each shape."""
        return self.parameters.setdefault(tuple(dims), f"arg_{'x'.join(map(str, dims))}")


class Fusion:
    """One fused computation, written from its operands to its root."""

    def __init__(self, program):
        self.program, self.random = program, program.random
        self.lines, self.operands = [], []

    def emit(self, dims, text, op=None, prefix="v", kind="f32"):
        name = f"{prefix}.{self.program.next()}"
        self.lines.append(f"{name} = {shape(dims, kind)} {text}{op.metadata() if op else ''}")
        return Value(name, dims, op)

    def argument(self, dims):
        value = self.emit(dims, f"parameter({len(self.operands)})", prefix="p")
        self.operands.append(self.program.parameter(dims))
        return value

    def index(self):
        value = self.emit([], f"parameter({len(self.operands)})", prefix="p", kind="s32")
        self.operands.append("index")
        return value

    # --- views ---

    def view(self, value, dims, text, leaf):
        result = self.emit(dims, text, self.program.op(leaf, kind="view"), prefix="view")
        result.op = value.op
        return result

    def views(self, value, most=3):
        """Up to `most` views that keep the number of elements; the last has the same dimensions."""
        dims = list(value.dims)
        for _ in range(self.random.randrange(most + 1)):
            other = self.random.choice([[1, *dims], [*dims, 1], [dims[0] // 2, 2, *dims[1:]]])
            opcode = self.random.choice(["bitcast", "reshape"])
            value = self.view(value, other, f"{opcode}({value.name})", "squeeze")
            if self.random.random() < 0.3:
                every = ",".join(map(str, range(len(other))))
                value = self.view(value, other, f"reverse({value.name}), dimensions={{{every}}}", "rev")
            value = self.view(value, dims, f"bitcast({value.name})", "reshape")
        return value

    def layer_of_stack(self, dims):
        """w[i] of stacked weights: slice or dynamic-slice, then squeeze."""
        layers = self.random.randrange(2, 9)
        stack = self.argument([layers, *dims])
        if self.random.random() < 0.5:
            at = self.random.randrange(layers)
            rest = ", ".join(f"[0:{d}]" for d in dims)
            text = f"slice({stack.name}), slice={{[{at}:{at + 1}], {rest}}}"
            part = self.view(stack, [1, *dims], text, "slice")
        else:
            zero = self.emit([], "constant(0)", prefix="zero", kind="s32")
            places = ", ".join([self.index().name, *[zero.name] * len(dims)])
            sizes = ",".join(map(str, [1, *dims]))
            text = f"dynamic-slice({stack.name}, {places}), dynamic_slice_sizes={{{sizes}}}"
            part = self.view(stack, [1, *dims], text, "dynamic_slice")
        return self.view(part, dims, f"bitcast({part.name})", "squeeze")

    def operand(self, dims):
        """An array that is read as it is, or through views."""
        source = self.random.choice(["plain", "viewed", "stacked", "transposed", "broadcast"])
        if source == "stacked":
            return self.layer_of_stack(dims)
        if source == "transposed" and len(dims) == 2:
            value = self.argument(dims[::-1])
            return self.view(value, dims, f"transpose({value.name}), dimensions={{1,0}}", "transpose")
        if source == "broadcast":
            value = self.argument(dims[-1:])
            text = f"broadcast({value.name}), dimensions={{{len(dims) - 1}}}"
            return self.view(value, dims, text, "broadcast_in_dim")
        value = self.argument(dims)
        return self.views(value) if source == "viewed" else value

    # --- work ---

    def elementwise(self, value, phase=None):
        """A cheap op on a value and, if it is binary, on another array of its dimensions."""
        if self.random.random() < 0.3:
            opcode = self.random.choice(list(UNARY))
            op = self.program.op(UNARY[opcode], phase)
            return self.emit(value.dims, f"{opcode}({value.name})", op)
        opcode = self.random.choice(list(BINARY))
        op = self.program.op(BINARY[opcode], phase)
        other = self.operand(value.dims)
        names = [value.name, other.name]
        self.random.shuffle(names)
        return self.emit(value.dims, f"{opcode}({', '.join(names)})", op)

    def chain(self, value, most):
        """Values after each of up to `most` ops; at least one."""
        values = []
        for _ in range(self.random.randrange(1, most + 1)):
            value = self.elementwise(self.views(value, 1))
            values.append(value)
        return values

    def dot(self, m, k, n, phase=None):
        lhs, rhs = self.full_operand([m, k]), self.full_operand([k, n])
        if self.random.random() < 0.4:
            lhs = self.elementwise(lhs)
        text = f"dot({lhs.name}, {rhs.name}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
        leaf = self.random.choice(["dot_general", "transpose"])
        return self.emit([m, n], text, self.program.op(leaf, phase))

    def full_operand(self, dims):
        """An operand of a product, all of whose elements are in memory."""
        if self.random.random() < 0.5:
            return self.layer_of_stack(dims)
        return self.views(self.argument(dims))

    def reduce(self, value):
        zero = self.emit([], "constant(0)", prefix="zero")
        text = f"reduce({value.name}, {zero.name}), dimensions={{1}}, to_apply=sum"
        return self.emit(value.dims[:1], text, self.program.op("reduce_sum"))

    # --- the end ---

    def finish(self, roots, xla_names, label, kind="kLoop", name=None):
        """`xla_names`: the op of the fusion's metadata. `label`: the op that xlatrace must show."""
        program = self.program
        name = name or f"fusion.{program.next()}"
        if len(roots) == 1:
            at = next(i for i, line in enumerate(self.lines) if line.startswith(f"{roots[0].name} = "))
            self.lines.append("ROOT " + self.lines.pop(at))
            result = shape(roots[0].dims)
        else:
            result = f"({', '.join(shape(root.dims) for root in roots)})"
            self.lines.append(f"ROOT t.{name} = {result} tuple({', '.join(r.name for r in roots)})")
        body = f"computation.{name}"
        program.computations.append([f"{body} {{", *("  " + line for line in self.lines), "}"])
        operands = ", ".join(self.operands)
        program.entry.append(
            f"{name} = {result} fusion({operands}), kind={kind}, calls={body}{xla_names.metadata()}"
        )
        program.results.append((name, result))
        phase = RECOMPUTE if ".remat" in name else label.phase
        program.expected.append((name, label.op_name, phase, label.layer, label.line))
        return name


# --- kinds of fusions ---------------------------------------------------------------------------


def sizes(program):
    return [program.random.choice([64, 128, 256]) for _ in range(2)]


def product(program):
    """XLA names the product; views and cheap ops surround it."""
    fusion = Fusion(program)
    rows, columns = sizes(program)
    dot = fusion.dot(rows, program.random.choice([128, 256, 512]), columns)
    root = fusion.views(dot)
    if program.random.random() < 0.4:
        root = fusion.views(fusion.elementwise(root), 1)
    fusion.finish([root], dot.op, dot.op, "kCustom")


def product_with_named_epilogue(program):
    """XLA names the root, which has 1/16 of the elements that the product reads, or fewer."""
    fusion = Fusion(program)
    dot = fusion.dot(64, 4096, 128)
    last = fusion.elementwise(fusion.views(dot))
    fusion.finish([fusion.views(last)] if program.random.random() < 0.5 else [last],
                  last.op, dot.op, "kOutput")  # fmt: skip


def elementwise(program):
    """Up to eight cheap ops, of which XLA names one. Sometimes several results."""
    fusion = Fusion(program)
    values = fusion.chain(fusion.operand([1024, *sizes(program)[:1]]), 8)
    named = program.random.choice(values)
    roots = [values[-1]]
    if named is not values[-1] and program.random.random() < 0.5:
        roots.append(named)
    fusion.finish(roots, named.op, named.op)


def reduction(program):
    fusion = Fusion(program)
    value = fusion.argument([512, 128])
    if program.random.random() < 0.7:
        value = fusion.views(fusion.chain(value, 3)[-1])
    reduced = fusion.reduce(value)
    fusion.finish([fusion.views(reduced, 1)], reduced.op, reduced.op, "kInput")


def reduction_with_named_epilogue(program):
    """XLA names an op on the reduced array, which is 1/128 of the array that is reduced."""
    fusion = Fusion(program)
    reduced = fusion.reduce(fusion.views(fusion.argument([512, 128])))
    last = fusion.elementwise(reduced)
    fusion.finish([last], last.op, reduced.op, "kInput")


def views_only(program):
    fusion = Fusion(program)
    dims = [256, 64]
    value = fusion.layer_of_stack(dims)
    for _ in range(program.random.randrange(3)):
        value = fusion.views(value)
    named = program.op("squeeze", kind="view")
    root = fusion.emit(dims, f"bitcast({value.name})", named)
    program.views_only.append(fusion.finish([root], named, named))


def named_after_a_view(program):
    """XLA names the root, a view of what a cheap op made."""
    fusion = Fusion(program)
    dims = [512, 64]
    last = fusion.chain(fusion.argument(dims), 1)[-1]
    named = program.op("reshape", kind="view")
    root = fusion.emit([*dims, 1], f"bitcast({last.name})", named)
    fusion.finish([root], named, last.op)


def repeated(program):
    """Fusion copies the producer into both of its readers: one of forward, one of another phase."""
    opcode = program.random.choice(list(UNARY))
    copied = program.op(UNARY[opcode], FORWARD)
    for phase, reading in ((FORWARD, "multiply"), (BACKWARD, "subtract")):
        fusion = Fusion(program)
        value = fusion.argument([256, 128])
        producer = fusion.emit(value.dims, f"{opcode}({value.name})", copied)
        reader = program.op(BINARY[reading], phase)
        other = fusion.argument([256, 128])
        last = fusion.emit(value.dims, f"{reading}({producer.name}, {other.name})", reader)
        name = fusion.finish([last], reader, reader)
    program.repeating.append(name)


def rematerialized_by_xla(program):
    """XLA's pass copies a forward fusion and adds `.remat` to its name."""
    fusion = Fusion(program)
    last = fusion.elementwise(fusion.argument([512, 64]), FORWARD)
    fusion.finish([last], last.op, last.op, name=f"fusion.{program.next()}.remat")


KINDS = [product] * 5 + [product_with_named_epilogue, elementwise, elementwise, elementwise,
         reduction, reduction, reduction_with_named_epilogue, views_only, named_after_a_view,
         repeated]  # fmt: skip


def listed(names):
    return ", ".join(f"'{name}'" for name in names) or "''"


def program_lines(program):
    lines = ["program jit_train_step", "  sum {", "    a = f32[] parameter(0)",
             "    b = f32[] parameter(1)", "    ROOT s = f32[] add(a, b)", "  }", ""]  # fmt: skip
    for computation in program.computations:
        lines += ["  " + line for line in computation] + [""]
    lines.append("  ENTRY main {")
    for number, (dims, name) in enumerate(program.parameters.items()):
        lines.append(f"    {name} = {shape(dims)} parameter({number})")
    lines.append(f"    index = s32[] parameter({len(program.parameters)})")
    lines += ["    " + line for line in program.entry]
    names, results = zip(*program.results)
    return [*lines, f"    ROOT out = ({', '.join(results)}) tuple({', '.join(names)})", "  }", ""]


def expected_lines(program):
    lines = ["rows from instruction where opcode = 'fusion'",
             "  instruction | op_name | phase | layer | source_line"]  # fmt: skip
    lines += [f"  {' | '.join(map(str, row))}" for row in program.expected]
    lines += ["", "# Views have no time.",
              "rows from instruction_share where op_name like '%view!_%' escape '!'"
              " and instruction like 'fusion.%'"
              f" and instruction not in ({listed(program.views_only)})",
              "  instruction | op_name", "  none", ""]  # fmt: skip
    if not program.rematerializes:
        lines += ["rows from instruction_share where phase = 'recompute'"
                  " and instruction like 'fusion.%'",
                  "  instruction | op_name", "  none", ""]  # fmt: skip
    lines += ["rows from instruction_share where phase = 'forward'"
              f" and instruction in ({listed(program.repeating)})",
              "  instruction | op_name", "  none"]  # fmt: skip
    return lines


def case(seed, fusions, rematerializes):
    """Text of a case (tests/cases/README.md) with at least this many fusions."""
    program = Program(random.Random(seed), rematerializes)
    kinds = KINDS + [rematerialized_by_xla] * (2 * rematerializes)
    # Each phase exists, so that the program is known to train.
    for phase in (FORWARD, BACKWARD, OPTIMIZER):
        fusion = Fusion(program)
        last = fusion.elementwise(fusion.argument([256, 64]), phase)
        fusion.finish([last], last.op, last.op)
    while len(program.expected) < fusions:
        program.random.choice(kinds)(program)
    lines = [f"# Generated fusions, seed {seed}.", "", *program_lines(program),
             "run", "  device H100", "  execute jit_train_step x 2", "",
             *expected_lines(program)]  # fmt: skip
    return "\n".join(lines) + "\n"
