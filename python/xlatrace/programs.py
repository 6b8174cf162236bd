# SPDX-License-Identifier: Apache-2.0
"""A function compiled by JAX, in figures: fusions, kernels, copies, transposes, upcasts, memory.

    program = xlatrace.compile(step, params, batch)
    assert program.fusions <= 4 and program.upcasts == 0
    print(program)

JAX compiles the function as a call with these arguments would, and nothing runs. The figures are read
from the compiled program by the `xlatrace` program. Upcasts are read from the program before
optimization, because the compiler adds and removes conversions of its own.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from xlatrace import program_text, running_test
from xlatrace.errors import XlatraceError
from xlatrace.program_text import COLLECTIVES, Frame, Instruction, ProgramText

# Figures of a program that a limit can name, with the words of the messages.
FIGURES = {
    "fusions": "fusions",
    "kernels": "kernels",
    "copies": "copies",
    "transposes": "transposes",
    "upcasts": "upcasts",
    "collectives": "collectives",
    "host_transfers": "host transfers",
    "flops": "FLOPs",
    "bytes": "bytes accessed",
    "peak_memory": "bytes of peak memory",
    "constant_bytes": "bytes of constants",
}


def jax_module() -> Any:
    """JAX, or an error that names the package to install."""
    try:
        import jax  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise XlatraceError(f"JAX is not available: {error}", "pip install jax")
    return jax


def compile(function: Callable[..., Any], *args: Any, target: Any = None, **kwargs: Any) -> Program:  # noqa: A001
    """Compiles `function` for these arguments, and runs nothing.

    `function` is a function or the result of `jax.jit`. Arguments are arrays or
    `jax.ShapeDtypeStruct`. `target` is an accelerator that need not be present: "v5e:2x2" (TPU), or
    the path of a GPU's target description (.txtpb); None compiles for JAX's default device.
    """
    jax = jax_module()
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    if target is not None:
        from xlatrace import targets

        args, kwargs = targets.arguments_for(target, args, kwargs)
    lowered = jitted.lower(*args, **kwargs)
    program = of_lowered(lowered, lowered.compile(), function_of(function), str(target or ""))
    test = running_test.current()
    if test is not None:
        test.programs.append(program)
    return program


def of_lowered(lowered: Any, compiled: Any, function: Any, target: str = "") -> Program:
    proto = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
    return Program(function, proto, compiled.as_text(), peak_memory_of(compiled), target)


def function_of(function: Any) -> Any:
    """The Python function inside of jit, partial and other wrappers."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            return function


def peak_memory_of(executable: Any) -> Optional[int]:
    """XLA's total: arguments, results and temporary memory, shared memory once."""
    try:
        stats = executable.memory_analysis()
    except AttributeError:
        stats = executable.get_compiled_memory_stats()
    except NotImplementedError:
        return None
    if stats is None:
        return None
    return int(
        stats.argument_size_in_bytes
        + stats.output_size_in_bytes
        + stats.temp_size_in_bytes
        - stats.alias_size_in_bytes
    )


class Program:
    """One compiled program. Figures are integers; None where the compiler does not report them."""

    def __init__(
        self, function: Any, lowered: bytes, hlo: str, peak_memory: Optional[int], target: str = ""
    ) -> None:
        self.function = function
        self.target = target
        self.peak_memory = peak_memory
        self.hlo = hlo
        self.lowered_proto = lowered

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self.function, "__name__", "") or self.compiled.summary["module"])

    @functools.cached_property
    def compiled(self) -> ProgramText:
        return _read("compiled.hlo.txt", self.hlo.encode())

    @functools.cached_property
    def lowered(self) -> ProgramText:
        return _read("lowered.hlo.pb", self.lowered_proto)

    @property
    def fusions(self) -> int:
        """Fusions."""
        return int(self.compiled.summary["fusions"])

    @property
    def kernels(self) -> int:
        """Launched operations: fusions and operations outside of fusions; a loop's body once."""
        return int(self.compiled.summary["operations"])

    @property
    def copies(self) -> int:
        """Copies, also inside of fusions."""
        return len(self.instructions_of("copies"))

    @property
    def transposes(self) -> int:
        """Transposes, also inside of fusions."""
        return len(self.instructions_of("transposes"))

    @property
    def upcasts(self) -> int:
        """Conversions to a wider float type in the program as it was traced."""
        return len(self.instructions_of("upcasts"))

    @property
    def collectives(self) -> int:
        """Collectives; an asynchronous one counts once."""
        return len(self.instructions_of("collectives"))

    @property
    def host_transfers(self) -> int:
        """Callbacks to Python, infeeds and outfeeds in the program."""
        return len(self.instructions_of("host_transfers"))

    @property
    def flops(self) -> Optional[int]:
        """Floating point operations, by XLA's cost model; a loop's body once."""
        return _integer(self.compiled.summary["flops"])

    @property
    def bytes(self) -> Optional[int]:
        """Bytes read and written, by XLA's cost model; a loop's body once."""
        return _integer(self.compiled.summary["bytes_accessed"])

    @property
    def constant_bytes(self) -> int:
        """Bytes of constants that are part of the program."""
        return int(self.compiled.summary["constant_bytes"])

    @property
    def donated(self) -> List[str]:
        """Arguments whose memory a result takes over."""
        return self.compiled.aliased

    def figures(self) -> Dict[str, Optional[int]]:
        """All figures by name."""
        return {name: getattr(self, name) for name in FIGURES}

    def instructions_of(self, figure: str) -> List[Instruction]:
        """The instructions that a figure counts; of sums, those with the largest part first."""
        return list(_counted(self, figure))

    def frame_of(self, instruction: Instruction) -> Optional[Frame]:
        """The line of the user's code that an instruction comes from."""
        text = self.lowered if self.lowered.by_name.get(instruction.name) is instruction else self.compiled
        return text.frame_of(instruction)

    def same_as(self, name: str = "main") -> None:
        """Compares with the baseline `name` of the running test; raises CheckFailed on a change."""
        from xlatrace import checks

        checks.same_as(name, [self])

    def limits(self, **limits: Any) -> None:
        """Raises CheckFailed if a figure is above its limit: `program.limits(fusions=3)`."""
        from xlatrace import program_limits

        program_limits.check_program(self, program_limits.parsed(limits))

    def definition(self) -> Optional[Frame]:
        """The first line of the function, its decorators included."""
        code = getattr(self.function, "__code__", None)
        if code is None:
            return None
        return Frame(code.co_filename, code.co_firstlineno, code.co_name)

    def __repr__(self) -> str:
        figures = ", ".join(
            f"{count:,} {FIGURES[name]}" for name, count in self.figures().items() if count is not None
        )
        return f"<xlatrace program {self.name}: {figures}>"


def _counted(program: Program, figure: str) -> Iterator[Instruction]:
    compiled = program.compiled
    if figure == "upcasts":
        yield from program.lowered.upcasts()
        return
    for instruction in compiled.instructions:
        opcode = instruction.opcode
        base = opcode[: -len("-start")] if opcode.endswith("-start") else opcode
        if figure == "fusions" and opcode == "fusion":
            yield instruction
        elif figure == "copies" and base == "copy":
            yield instruction
        elif figure == "transposes" and opcode == "transpose":
            yield instruction
        elif figure == "collectives" and base in COLLECTIVES:
            yield instruction
        elif figure == "host_transfers" and instruction.talks_to_host:
            yield instruction
        elif figure == "constant_bytes" and opcode == "constant" and "[]" not in instruction.shape:
            yield instruction


def _read(name: str, content: bytes) -> ProgramText:
    with tempfile.TemporaryDirectory(prefix="xlatrace-program-") as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return program_text.read(path)


def _integer(value: Any) -> Optional[int]:
    return None if value is None else int(value)


def source_line(frame: Frame) -> str:
    """Text of a line of code, or nothing."""
    import linecache

    return linecache.getline(frame.file, frame.line).strip()


def environment(target: str = "") -> Dict[str, str]:
    """Facts that the compiled program depends on, besides the program."""
    jax = jax_module()
    facts = {
        "jax": jax.__version__,
        "jaxlib": sys.modules["jaxlib"].__version__ if "jaxlib" in sys.modules else "",
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
        "target": target,
    }
    if target:
        return facts
    device = jax.devices()[0]
    facts["platform"] = device.platform
    facts["device"] = device.device_kind
    facts["devices"] = str(jax.device_count())
    if device.platform == "cpu":
        facts["cpu"], facts["cores"] = _cpu(), str(len(os.sched_getaffinity(0)))
    return facts


@functools.lru_cache(maxsize=None)
def _cpu() -> str:
    """Model of the processor: XLA compiles for its vector instructions."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def signature_of(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> str:
    """Shapes of the arguments, for messages."""
    jax = jax_module()
    parts = []
    for path, leaf in jax.tree_util.tree_flatten_with_path((args, kwargs))[0]:
        described = shape_text(leaf) if hasattr(leaf, "shape") else repr(leaf)[:40]
        parts.append(f"{jax.tree_util.keystr(path[1:])}={described}")
    return ", ".join(parts)


def shape_text(array: Any) -> str:
    """"float32[8,64]"."""
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def is_test_function(function: Any) -> bool:
    """Is it a plain test function or method, and not one to compile?"""
    return inspect.isfunction(function) and function.__name__.startswith("test")
