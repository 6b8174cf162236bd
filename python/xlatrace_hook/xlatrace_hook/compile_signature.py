# SPDX-License-Identifier: Apache-2.0
"""The signature for which a jitted function is compiled, and how two signatures differ.

Kinds of differences, the most specific first (`again` of compile.jsonl lists those that apply):

    structure       an argument came or went (name, before or after)
    shape, dtype, weak_type
    python_scalar   a Python number in place of an array, or of another Python number
    static          the value of a static argument
    static_object   a static argument that is equal by identity only: each new object is another
    donation        the argument is donated or not
    sharding        where the argument lies, or the sharding that the function asks for
    mesh            the mesh of the context
    layout
    closure         a variable that the function captures, or a default of it
    configuration   an option of JAX
    options         of jit: keep_unused, compiler options, device, backend
    new_function    the same code in a new function object: JAX caches by object
    cache_cleared   nothing of these: JAX had forgotten the program
"""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
import re
import weakref
from typing import Any

from .compile_log import short
from .user_frames import is_library

MAX_LEAVES = 4096
MAX_DETAILS = 16
MAX_IDENTITIES = 65536
MAX_EARLIER = 32  # Signatures of one function that are kept.

KINDS = (
    "structure shape dtype python_scalar weak_type static static_object donation sharding mesh "
    "layout closure configuration options new_function cache_cleared"
).split()

CONFIGURATION = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_enable_custom_prng",
    "jax_default_device",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_softmax_custom_jvp",
    "jax_disable_jit",
    "jax_enable_checks",
    "jax_remove_size_one_mesh_axis_from_type",
)

_SCALARS = (bool, int, float, complex)


_known: dict[int, tuple[Any, int]] = {}
_numbers = itertools.count(1)


def identity(thing: Any) -> int:
    """A number that no other object gets. `id` is used again when an object is gone."""
    known = _known.get(id(thing))
    if known is not None and known[0]() is thing:
        return known[1]
    try:
        reference = weakref.ref(thing)
    except TypeError:
        return id(thing)
    if len(_known) > MAX_IDENTITIES:
        _known.clear()
    _known[id(thing)] = reference, next(_numbers)
    return _known[id(thing)][1]


class Leaf:
    """One array argument."""

    __slots__ = ("donated", "dtype", "layout", "python", "shape", "sharding", "weak")

    def type_text(self) -> str:
        text = f"{self.dtype}[{','.join(map(str, self.shape))}]"
        if self.python:
            return f"Python {self.python}"
        return text + " (weakly typed)" if self.weak else text


class Signature:
    def __init__(self) -> None:
        self.leaves: dict[str, Leaf] = {}
        self.static: dict[str, tuple[str, int | None]] = {}  # Text; id where only that counts.
        self.closure: dict[str, str] = {}
        self.complete = False  # The arguments are known.
        self.mesh = ""
        self.configuration: dict[str, str] = {}
        self.options = ""
        self.function_id = 0


def function_chain(fun: Any) -> list[Any]:
    """The function and the functions that it wraps, outermost first."""
    chain: list[Any] = []
    for _ in range(8):
        if isinstance(fun, functools.partial):
            fun = fun.func
            continue
        fun = getattr(fun, "__func__", fun)
        if not hasattr(fun, "__code__"):
            call = type(fun).__dict__.get("__call__")
            if not hasattr(call, "__code__"):
                break
            fun = call
        chain.append(fun)
        wrapped = getattr(fun, "__wrapped__", None)
        if wrapped is None:
            break
        fun = wrapped
    return chain


def function_key(fun: Any, name: str) -> tuple:
    """Equal for all function objects of the same code."""
    key: list[Any] = [name]
    for each in function_chain(fun):
        code = each.__code__
        key.append((code.co_filename, code.co_firstlineno, code.co_name))
        for cell in (each.__closure__ or ())[:8]:
            code = getattr(_contents(cell), "__code__", None)
            if code is not None:
                key.append((code.co_filename, code.co_firstlineno, code.co_name))
    return tuple(key)


def definition(fun: Any) -> dict[str, Any] | None:
    """File and line of the user's function, else of the outermost one."""
    chain = function_chain(fun)
    codes = [each.__code__ for each in chain]
    for code in codes:
        if not is_library(code.co_filename):
            return {"file": code.co_filename, "line": code.co_firstlineno, "library": False}
    if not codes:
        return None
    return {"file": codes[0].co_filename, "line": codes[0].co_firstlineno, "library": True}


def signature_of(jax: Any, fun: Any, jit_info: Any, args: tuple, kwargs: dict, params: Any, flat: Any) -> Signature:
    """`params`: JAX's PjitParams of the call or None; `flat`: its flat arguments or None."""
    signature = Signature()
    signature.function_id = identity(fun)
    _add_leaves(signature, params, flat)
    _add_static(signature, fun, jit_info, args, kwargs)
    _add_closure(signature, fun)
    details = getattr(params, "params", None) or {}
    mesh = details.get("ctx_mesh")
    if mesh is not None and not getattr(mesh, "empty", False):
        signature.mesh = short(mesh)
    config = jax.config
    for name in CONFIGURATION:
        value = getattr(config, name, None)
        if value is not None:
            signature.configuration[name] = short(value)
    signature.options = short(
        (details.get("keep_unused"), details.get("compiler_options_kvs"))
        if details
        else getattr(jit_info, "compiler_options_kvs", "")
    )
    return signature


def _add_leaves(signature: Signature, params: Any, flat: Any) -> None:
    avals = getattr(params, "in_avals", None)
    if avals is None:
        return
    signature.complete = True
    details = params.params
    names = list(getattr(params, "arg_names", None) or [])
    flat = list(flat or [])
    extra = max(len(flat) - len(avals), 0)  # Captured constants come first.
    flat = flat[extra:]
    donated = _tail(details.get("donated_invars"), len(avals))
    shardings = _tail(details.get("in_shardings"), len(avals))
    layouts = _tail(details.get("in_layouts"), len(avals))
    texts: dict[int, str] = {}

    def text_of(thing: Any) -> str:
        known = texts.get(id(thing))
        if known is None:
            known = texts[id(thing)] = short(thing)
        return known

    for index, aval in enumerate(avals[:MAX_LEAVES]):
        leaf = Leaf()
        value = flat[index] if index < len(flat) else None
        leaf.dtype = str(getattr(aval, "dtype", type(aval).__name__))
        leaf.shape = tuple(getattr(aval, "shape", ()))
        leaf.weak = bool(getattr(aval, "weak_type", False))
        leaf.python = type(value).__name__ if isinstance(value, _SCALARS) else ""
        leaf.donated = bool(donated[index]) if index < len(donated) else False
        asked = shardings[index] if index < len(shardings) else None
        if asked is not None and "Unspecified" in type(asked).__name__:
            asked = None
        committed = getattr(value, "_committed", False)
        leaf.sharding = (
            text_of(asked)
            if asked is not None
            else text_of(value.sharding)
            if committed and hasattr(value, "sharding")
            else ""
        )
        layout = layouts[index] if index < len(layouts) else None
        leaf.layout = "" if layout is None else text_of(layout)
        name = names[index] if index < len(names) and names[index] else f"argument {index}"
        signature.leaves[short(name)] = leaf


def _tail(values: Any, count: int) -> list:
    try:
        values = list(values)
    except TypeError:
        return []
    return values[len(values) - count :] if len(values) >= count else []


def _add_static(signature: Signature, fun: Any, info: Any, args: tuple, kwargs: dict) -> None:
    numbers = getattr(info, "static_argnums", None) or ()
    names = getattr(info, "static_argnames", None) or ()
    parameters: list[str] = []
    try:
        of_function = getattr(info, "fun_signature", None) or inspect.signature(fun)
        parameters = list(of_function.parameters)
    except (TypeError, ValueError):
        pass
    for number in numbers:
        if 0 <= number < len(args):
            name = parameters[number] if number < len(parameters) else f"argument {number}"
            signature.static[name] = _static_text(args[number])
    for name in names:
        if name in kwargs:
            signature.static[name] = _static_text(kwargs[name])


def _static_text(value: Any) -> tuple[str, int | None]:
    kind = type(value)
    by_identity = kind.__eq__ is object.__eq__ and not callable(value)
    if by_identity:
        return short(kind.__qualname__), identity(value)
    if hasattr(value, "__code__"):
        return short(f"{value.__qualname__} {identity(value)}"), None
    return short(repr(value)), None


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _add_closure(signature: Signature, fun: Any) -> None:
    while isinstance(fun, functools.partial):
        for index, value in enumerate(fun.args):
            signature.closure[f"partial argument {index}"] = _value_text(value)
        for name, value in fun.keywords.items():
            signature.closure[name] = _value_text(value)
        fun = fun.func
    owner = getattr(fun, "__self__", None)
    if owner is not None:
        signature.closure["self"] = _value_text(owner)
    for each in function_chain(fun):
        if is_library(each.__code__.co_filename):
            continue
        for name, cell in zip(each.__code__.co_freevars, each.__closure__ or ()):
            signature.closure[name] = _value_text(_contents(cell))
        for name, value in _defaults(each):
            signature.closure[name] = _value_text(value)


def _defaults(fun: Any) -> list[tuple[str, Any]]:
    values = getattr(fun, "__defaults__", None) or ()
    code = fun.__code__
    names = code.co_varnames[: code.co_argcount][-len(values) :] if values else ()
    named = getattr(fun, "__kwdefaults__", None) or {}
    return [*zip(names, values), *named.items()]


def _value_text(value: Any, depth: int = 0) -> str:
    if value is None or isinstance(value, (*_SCALARS, str, bytes)):
        return short(repr(value))
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        text = f"{value.dtype}[{','.join(map(str, value.shape))}]"
        small = type(value).__module__ == "numpy" and getattr(value, "size", 99) <= 4
        return text + (f" {short(value.tolist())}" if small else f" at {identity(value)}")
    if hasattr(value, "__code__"):
        code = value.__code__
        return f"function {value.__qualname__}, {code.co_filename}:{code.co_firstlineno}"
    if isinstance(value, (tuple, list)) and len(value) <= 8 and depth < 2:
        return "(" + ", ".join(_value_text(each, depth + 1) for each in value) + ")"
    return f"{type(value).__qualname__} at {identity(value)}"


def differences(now: Signature, before: Signature) -> list[dict[str, Any]]:
    """In the order of KINDS. Empty: the two are equal."""
    found: list[dict[str, Any]] = []

    def add(kind: str, name: str, old: object, new: object) -> None:
        found.append({"kind": kind, "name": name, "before": old, "after": new})

    for name, leaf in now.leaves.items():
        old = before.leaves.get(name)
        if old is None:
            add("structure", name, None, leaf.type_text())
            continue
        texts = old.type_text(), leaf.type_text()
        if leaf.shape != old.shape:
            add("shape", name, *texts)
        if leaf.dtype != old.dtype or leaf.weak != old.weak:
            if leaf.python or old.python:
                add("python_scalar", name, *texts)
            elif leaf.dtype != old.dtype:
                add("dtype", name, *texts)
            else:
                add("weak_type", name, *texts)
        if leaf.donated != old.donated:
            words = {False: "not donated", True: "donated"}
            add("donation", name, words[old.donated], words[leaf.donated])
        if leaf.sharding != old.sharding:
            add("sharding", name, old.sharding or "not committed", leaf.sharding or "not committed")
        if leaf.layout != old.layout:
            add("layout", name, old.layout or "default", leaf.layout or "default")
    for name, old in before.leaves.items():
        if name not in now.leaves:
            add("structure", name, old.type_text(), None)
    for name, new in now.static.items():
        old_static = before.static.get(name)
        if old_static is None:
            add("static", name, "not given", new[0])
        elif old_static[0] != new[0]:
            add("static", name, old_static[0], new[0])
        elif old_static[1] != new[1]:
            add("static_object", name, f"a {new[0]}", f"another {new[0]}")
    for name, old_static in before.static.items():
        if name not in now.static:
            add("static", name, old_static[0], "not given")
    if now.mesh != before.mesh:
        add("mesh", "", before.mesh or "none", now.mesh or "none")
    if now.function_id != before.function_id:
        for name, text in now.closure.items():
            old_text = before.closure.get(name)
            if old_text is not None and old_text != text:
                add("closure", name, old_text, text)
    for name, value in now.configuration.items():
        if before.configuration.get(name) != value:
            add("configuration", name, before.configuration.get(name), value)
    for name, value in before.configuration.items():
        if name not in now.configuration:
            add("configuration", name, value, None)
    if now.options != before.options:
        add("options", "", before.options, now.options)
    if now.function_id != before.function_id:
        add("new_function", "", None, None)
    found = _of_whole_arguments(found, now)
    found.sort(key=lambda detail: KINDS.index(detail["kind"]))
    return found


def _argument_of(path: str) -> str:
    """`batch` of the leaf `batch['x'][1]`."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _of_whole_arguments(found: list[dict[str, Any]], now: Signature) -> list[dict[str, Any]]:
    """One difference instead of the same one of each leaf of an argument. JAX donates whole arguments."""
    leaves = collections.Counter(_argument_of(name) for name in now.leaves)
    same: dict[tuple, int] = collections.Counter(
        (detail["kind"], _argument_of(detail["name"]), detail["before"], detail["after"]) for detail in found
    )
    kept: list[dict[str, Any]] = []
    joined = set()
    for detail in found:
        argument = _argument_of(detail["name"])
        key = detail["kind"], argument, detail["before"], detail["after"]
        if detail["name"] not in now.leaves or not (
            detail["kind"] == "donation" or 1 < leaves[argument] == same[key]
        ):
            kept.append(detail)
        elif key not in joined:
            joined.add(key)
            kept.append(dict(detail, name=argument))
    return kept


class Functions:
    """The signatures of all functions so far."""

    def __init__(self) -> None:
        self._earlier: dict[tuple, list[Signature]] = {}

    def compare(self, key: tuple, signature: Signature) -> list[dict[str, Any]] | None:
        """How the signature differs from the nearest earlier one. None: it is the first."""
        earlier = self._earlier.setdefault(key, [])
        nearest: list[dict[str, Any]] | None = None
        for other in reversed(earlier):
            found = differences(signature, other)
            if nearest is None or len(found) < len(nearest):
                nearest = found
            if not found:
                break
        earlier.append(signature)
        if len(earlier) > MAX_EARLIER:
            del earlier[1]  # The first one stays: others are variants of it.
        if nearest is None:
            return None
        if not nearest and signature.complete:
            nearest = [{"kind": "cache_cleared", "name": "", "before": None, "after": None}]
        return nearest[:MAX_DETAILS]
