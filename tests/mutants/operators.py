# SPDX-License-Identifier: Apache-2.0
"""Faults made by rule: what a developer's slip leaves behind.

A fault is a place of a file and its replacement. The switch of a fault nests with the switches of other
faults: `front` and `behind` enclose the code, with @ for the fault's number. `texts` are the same change
as replacements of text, (begin, end, new text), so that a recorded fault of a rule is recognised. The
rules work on the formatted text (expressions.py); the caller leaves out code that does not compile."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from expressions import Parser

ON = "::xlatrace_mutants::On(@)"
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Words of a name, each with the words that it is confused with.
PAIRS = [
    ("start", "end"), ("begin", "end"), ("min", "max"), ("first", "last"), ("front", "back"),
    ("low", "high"), ("least", "most"), ("shortest", "longest"), ("smallest", "largest"),
    ("before", "after"), ("base", "now"), ("old", "new"), ("self", "total"), ("wall", "busy"),
    ("busy", "idle"), ("source", "destination"), ("host", "device"), ("here", "there"),
    ("left", "right"), ("a", "b"), ("x", "y"), ("y", "z"), ("from", "to"), ("lower", "upper"),
    ("floor", "ceil"), ("find", "rfind"), ("any", "all"), ("all", "none"), ("flops", "bytes"),
    ("exact", "inferred"), ("ours", "theirs"), ("grid", "block"), ("duration", "self"),
    ("forward", "backward"), ("operand", "result"), ("rows", "columns"), ("process", "device"),
    ("module", "instruction"), ("previous", "next"), ("producer", "consumer"), ("major", "minor"),
    ("dynamic", "static"), ("input", "output"), ("parameters", "results"), ("inner", "outer"),
]
CONFUSED = {}
for _one, _other in PAIRS:
    CONFUSED.setdefault(_one, []).append(_other)
    CONFUSED.setdefault(_other, []).append(_one)
# Functions whose result is nearly their first argument.
# Last words of names of amounts: such a value may as well be 0.
AMOUNTS = {"ns", "us", "bytes", "id", "count", "calls", "flops", "wait", "cost"}
WRAPPERS = ("std::abs", "std::llround", "std::round", "std::ceil", "std::floor", "std::sqrt", "std::log",
            "std::exp", "std::fabs")


@dataclass
class Fault:
    begin: int
    end: int
    rule: str
    title: str
    front: str
    behind: str
    texts: list = field(default_factory=list)

    @property
    def key(self):
        return self.begin, self.end, self.front


class Names:
    """Declarations of the product: numbers that are constants, and the words of each enum."""

    def __init__(self, texts=()):
        self.numbers, self.enums = set(), {}
        for text in texts:
            for match in re.finditer(
                    r"\bconstexpr (?:u?int\d+_t|int|size_t|double|float|long|std::ptrdiff_t) ([^;{}]*);", text):
                self.numbers.update(re.findall(r"(?:^|, )\s*(k\w+) =", match.group(1)))
            for match in re.finditer(r"\benum class (\w+)[^{;]*\{([^}]*)\}", text):
                words = re.findall(r"\b(k\w+)", re.sub(r"//[^\n]*|=\s*[^,}]*", "", match.group(2)))
                # Two enums of one name are ambiguous.
                known = self.enums.setdefault(match.group(1), words)
                if known != words:
                    self.enums[match.group(1)] = []

    @classmethod
    def of(cls, folder, rooms):
        files = [path for room in rooms for ending in ("*.h", "*.cc")
                 for path in sorted(Path(folder, room).rglob(ending))]
        return cls(path.read_text(encoding="utf-8") for path in files)


class Rules:
    def __init__(self, text, names=None):
        self.text = text
        self.names = names or Names([text])
        self.parser = Parser(text)
        self.words = set(re.findall(r"\w+", self.parser.flat))
        self.faults = {}

    def all(self):
        for node in self.parser.nodes:
            getattr(self, "_" + node.kind, self._nothing)(node)
        return sorted(self.faults.values(), key=lambda f: (f.begin, f.end, f.front))

    # --- Making one ------------------------------------------------------------------------------

    def _source(self, begin, end):
        return self.text[begin:end]

    def _add(self, rule, title, begin, end, front, behind, texts):
        fault = Fault(begin, end, rule, title, front, behind, texts)
        known = self.faults.setdefault(fault.key, fault)
        if known is not fault:
            known.texts += [text for text in texts if text not in known.texts]

    def _always(self, node, rule, title, value, more=()):
        """The condition `node` is always `value`."""
        front = f"({ON} || (" if value else f"(!{ON} && ("
        self._add(rule, title, node.begin, node.end, front, "))",
                  [(node.begin, node.end, "true" if value else "false"), *more])

    def _becomes(self, node, rule, title, new, more=()):
        self._add(rule, title, node.begin, node.end, f"({ON} ? ({new}) : (", "))",
                  [(node.begin, node.end, new), *more])

    def _left_out(self, begin, end, rule, title):
        # In braces of its own, so that an `else` behind it stays with the `if` in front of it.
        self._add(rule, title, begin, end, f"{{ if (!{ON}) {{ ", " } }", [(begin, end, "")])

    def _nothing(self, node):
        pass

    # --- Statements ------------------------------------------------------------------------------

    def _if(self, node):
        if node.head is None:
            return
        body = self._source(*node.body)
        inside = body[1:-1] if body.startswith("{") else body
        other = self._source(*node.other) if node.other else ""
        inside_other = other[1:-1] if other.startswith("{") else other
        begin, end = node.begin, node.end
        self._always(node.head, "condition", "the condition never holds", False,
                     [(begin, end, other), (begin, end, inside_other)])
        self._always(node.head, "condition", "the condition always holds", True,
                     [(begin, end, body), (begin, end, inside)])
        if node.head.kind not in ("compare", "not"):
            self._becomes(node.head, "condition", "the condition is negated",
                          f"!({self._source(node.head.begin, node.head.end)})")

    def _loop(self, node):
        if node.head is None:
            return
        self._always(node.head, "condition", "the loop never runs", False, [(node.begin, node.end, "")])

    def _do(self, node):
        # Without these a program is only slower, or it never compiles.
        if re.search(r"\.reserve\(|\.shrink_to_fit\(|= (default|delete);$|^XLATRACE_ASSIGN\(",
                     self._source(node.begin, node.end)):
            return
        self._left_out(node.begin, node.end, "statement", "the statement is left out")

    def _jump(self, node):
        word = self._source(node.begin, node.end)
        self._left_out(node.begin, node.end, "statement", f"{word[:-1]} is left out")
        if word == "continue;":
            self._add("statement", "continue becomes break", node.begin, node.end,
                      f"if ({ON}) {{ break; }} else {{ ", " }", [(node.begin, node.end, "break;")])

    def _return(self, node):
        value = node.head
        if value is not None and value.kind in ("or", "and", "compare", "not"):
            self._always(value, "condition", "the result is always true", True)
            self._always(value, "condition", "the result is always false", False)

    # --- Conditions ------------------------------------------------------------------------------

    def _operands(self, node, neutral):
        source = self._source
        for i, part in enumerate(node.parts):
            # As text the operand may be `true`, or be missing together with its operator.
            if i == 0:
                cut = (part.begin, node.parts[1].begin, "")
            else:
                cut = (node.parts[i - 1].end, part.end, "")
            self._always(part, "condition", f"{node.signs[0][1]} without one of its sides", neutral, [cut])
            # The other value decides the whole.
            self._always(node, "condition", f"{node.signs[0][1]} is always {str(not neutral).lower()}",
                         not neutral, [(part.begin, part.end, str(not neutral).lower())])
        self._always(node, "condition", f"{node.signs[0][1]} is always {str(neutral).lower()}", neutral)
        if len(node.parts) == 2 and all(p.kind not in ("or", "and") for p in node.parts):
            sign = "||" if neutral else "&&"
            left, right = (source(p.begin, p.end) for p in node.parts)
            self._becomes(node, "operator", f"{node.signs[0][1]} becomes {sign}", f"{left} {sign} {right}")

    def _and(self, node):
        self._operands(node, True)

    def _or(self, node):
        self._operands(node, False)

    def _compare(self, node):
        if len(node.parts) != 2:
            return
        left, right = (self._source(p.begin, p.end) for p in node.parts)
        sign = node.signs[0][1]
        for table, rule, what in ((BOUNDARY, "boundary", "the boundary"), (OPPOSITE, "comparison", "opposite"),
                                  (TURNED, "comparison", "turned round")):
            if sign in table:
                self._becomes(node, rule, f"{sign} becomes {table[sign]} ({what})",
                              f"{left} {table[sign]} {right}")
        self._always(node, "condition", "the comparison always holds", True)
        self._always(node, "condition", "the comparison never holds", False)

    def _not(self, node):
        inner = node.parts[0]
        self._becomes(node, "condition", "the negation is lost", self._source(inner.begin, inner.end))
        self._always(node, "condition", "the condition always holds", True)
        self._always(node, "condition", "the condition never holds", False)

    def _ternary(self, node):
        first, second = node.parts
        if first is None or second is None or node.head is None:
            return
        head, one, two = (self._source(p.begin, p.end) for p in (node.head, first, second))
        self._always(node.head, "condition", "always the first of two values", True,
                     [(node.begin, node.end, one)])
        self._always(node.head, "condition", "always the second of two values", False,
                     [(node.begin, node.end, two)])
        self._becomes(node, "swap", "the two values change places", f"{head} ? {two} : {one}")

    # --- Arithmetic ------------------------------------------------------------------------------

    def _sum(self, node):
        signs = ["+", *(sign for _, sign in node.signs)]
        texts = [self._source(p.begin, p.end) for p in node.parts]
        for i, part in enumerate(node.parts):
            left = "".join(
                f" {sign} {text}" for k, (sign, text) in enumerate(zip(signs, texts)) if k != i)
            if not left.startswith(" + "):
                if len(texts) == 2:
                    self._becomes(node, "swap", "the difference is turned round", f"{texts[1]} - {texts[0]}")
                continue  # Nothing but a difference would be left.
            title = "the first term is left out" if i == 0 else f"without {signs[i]} {texts[i]}"
            self._becomes(node, "term", title[:80], left[3:], [(part.begin, part.end, "0")])
            if i == 0:
                continue
            sign = "-" if signs[i] == "+" else "+"
            turned = "".join(f" {sign if k == i else s} {t}" for k, (s, t) in enumerate(zip(signs, texts)))
            self._becomes(node, "sign", f"{signs[i]} becomes {sign}", turned[3:])

    def _product(self, node):
        signs = [sign for _, sign in node.signs]
        texts = [self._source(p.begin, p.end) for p in node.parts]
        for i in range(1, len(texts)):
            rest = texts[0] + "".join(
                f" {signs[k - 1]} {texts[k]}" for k in range(1, len(texts)) if k != i)
            self._becomes(node, "term", f"without {signs[i - 1]} {texts[i]}"[:80], rest)
            if signs[i - 1] != "%":
                sign = "/" if signs[i - 1] == "*" else "*"
                turned = texts[0] + "".join(
                    f" {sign if k == i else signs[k - 1]} {texts[k]}" for k in range(1, len(texts)))
                self._becomes(node, "operator", f"{signs[i - 1]} becomes {sign}", turned)
        if signs[0] == "*":
            rest = texts[1] + "".join(f" {signs[k - 1]} {texts[k]}" for k in range(2, len(texts)))
            self._becomes(node, "term", f"without {texts[0]} *"[:80], rest)

    def _assign(self, node):
        at, sign = node.signs[0]
        if sign == "=":
            return
        left = self._source(node.begin, at).rstrip()
        right = self._source(at + len(sign), node.end).lstrip()
        changes = {"+=": ("=", "-="), "-=": ("=", "+="), "|=": ("=",), "&=": ("=",), "*=": ("=",)}
        for new in changes.get(sign, ()):
            # A statement: its semicolon follows.
            self._add("operator", f"{sign} becomes {new}", node.begin, node.end,
                      f"({ON} ? (void)({left} {new} {right}) : (void)(", "))",
                      [(node.begin, node.end, f"{left} {new} {right}")])

    # --- Values ----------------------------------------------------------------------------------

    def _number(self, node):
        text = self._source(node.begin, node.end)
        if re.fullmatch(r"\d[\d']*", text):
            value = int(text.replace("'", ""))
            for new in sorted({value + 1, value - 1, 0, 2 * value} - {value, -1}):
                self._becomes(node, "constant", f"{text} becomes {new}", str(new))
        elif re.fullmatch(r"1e-?\d+", text):
            power = int(text[2:])
            for new in (power - 3, power + 3):
                self._becomes(node, "unit", f"{text} becomes 1e{new}", f"1e{new}")
        elif re.fullmatch(r"\d+\.\d+|\d+(\.\d+)?e-?\d+", text):
            for new in (f"2 * {text}", f"{text} / 2", "0.0"):
                self._becomes(node, "constant", f"{text} becomes {new}", new)

    def _name(self, node):
        text = self._source(node.begin, node.end)
        last = text.split("::")[-1]
        if last in self.names.numbers:
            for new in (f"{text} + 1", f"{text} - 1", f"2 * {text}", f"{text} / 2"):
                self._becomes(node, "constant", f"{text} becomes {new}", new)
            self._becomes(node, "constant", f"{text} becomes 0", "0")
        if text in ("true", "false"):
            other = "false" if text == "true" else "true"
            self._becomes(node, "constant", f"{text} becomes {other}", other)
        owner = text.split("::")[-2] if "::" in text else ""
        for word in self.names.enums.get(owner, ()):
            if word != last:
                new = text[:-len(last)] + word
                self._becomes(node, "enum", f"{text} becomes {word}", new)
        if node.truth:
            self._always(node, "condition", "the condition always holds", True)
            self._always(node, "condition", "the condition never holds", False)
        self._amount(node, text)
        self._confused(node)

    def _target(self, node):
        self._confused(node)

    def _amount(self, node, text):
        if text[0] != "&" and re.split(r"[._>:]+", text.split("(")[0].rstrip("_"))[-1] in AMOUNTS and not node.truth:
            self._becomes(node, "amount", f"{text} becomes 0"[:80], "0")

    def _call(self, node):
        source = self._source
        if node.truth:
            self._always(node, "condition", "the condition always holds", True)
            self._always(node, "condition", "the condition never holds", False)
        self._confused(node)
        inner = [part for part, _ in node.inner]
        name = node.inner[0][1] if node.inner else ""
        whole = bool(inner) and re.fullmatch(
            re.escape(name) + r"(<[^()]*>)?\(", source(node.begin, inner[0].begin)) and (
                self.parser.match.get(inner[0].begin - 1) == node.end - 1)
        if name in ("std::min", "std::max") and whole and len(inner) == 2:
            for part, what in zip(inner, ("first", "second")):
                self._becomes(node, "minmax", f"{name}: always the {what}", source(part.begin, part.end))
        elif name in WRAPPERS and whole and len(inner) == 1:
            self._becomes(node, "term", f"without {name}", source(inner[0].begin, inner[0].end))
        elif name.endswith("value_or") and len(inner) == 1 and self.parser.match.get(
                inner[0].begin - 1) == node.end - 1:
            self._becomes(node, "amount", "never known", source(inner[0].begin, inner[0].end))
        elif "(" not in source(node.begin, node.end):
            self._amount(node, source(node.begin, node.end))
        for (one, name), (two, again) in zip(node.inner, node.inner[1:]):
            if name != again or name in ("std::min", "std::max", "std::tie", "std::pair", "std::swap"):
                continue
            left, right = source(one.begin, one.end), source(two.begin, two.end)
            if left == right or not self._alike(left, right):
                continue
            new = (source(node.begin, one.begin) + right + source(one.end, two.begin) + left +
                   source(two.end, node.end))
            self._becomes(node, "swap", f"{left} and {right} change places"[:80], new)

    @staticmethod
    def _alike(left, right):
        """May one be passed for the other? By their names alone."""
        def tail(text):
            words = re.findall(r"[A-Za-z]\w*", text)
            return words[-1].strip("_").split("_")[-1] if words else ""
        simple = r"[\w.\->]+"
        return bool(re.fullmatch(simple, left) and re.fullmatch(simple, right)) and (
            tail(left) == tail(right) and tail(left) != "")

    def _confused(self, node):
        """One name of a pair for the other: a field, a function or a variable."""
        text = self._source(node.begin, node.end)
        brackets = 0
        for match in re.finditer(r"[\[({]|[\])}]|[A-Za-z_]\w*", self.parser.flat[node.begin:node.end]):
            word = match.group()
            if word in "[({":
                brackets += 1
            elif word in "])}":
                brackets -= 1
            elif brackets == 0:
                for new in self._others(word):
                    changed = text[:match.start()] + new + text[match.end():]
                    rule = "minmax" if word in ("min", "max") else "name"
                    self._becomes(node, rule, f"{word} becomes {new}", changed)

    def _others(self, word):
        parts = word.split("_")
        for i, part in enumerate(parts):
            for other in CONFUSED.get(part, ()):
                new = "_".join([*parts[:i], other, *parts[i + 1:]])
                # One that the file names too, so that most of them compile.
                if new in self.words or word in ("min", "max", "find", "rfind", "front", "back",
                                                 "min_element", "max_element"):
                    yield new


def sweep(text, names=None):
    """Every fault of `text`, by place."""
    return Rules(text, names).all()


def squeezed(text):
    """Without blanks, and without parentheses around a single name."""
    return re.sub(r"(?<![\w>)\]])\((\w+)\)", r"\1", re.sub(r"\s+", "", text))


def plain(text):
    """A replacement without what changes only its type: `int64_t{0}` and `(0)` are 0."""
    text = text.strip()
    while True:
        match = (re.fullmatch(r"\((.*)\)", text, re.S) if text.count("(") == 1 else None) or (
            re.fullmatch(r"(?:[\w:]+)\{(-?\d+)\}", text)) or re.fullmatch(r"(\d+)(?:u|\.0)", text)
        if not match:
            return text
        text = match.group(1).strip()


def maker(text, faults, begin, end, new):
    """The fault that changes `text` as replacing [begin, end) by `new` does, or None."""
    wanted = {squeezed(text[:begin] + each + text[end:]) for each in (new, plain(new))}
    low, high = begin, end
    for fault in faults:
        if fault.begin > high + 400 or fault.end < low - 400:
            # Far from the place; a statement around it may be long.
            if not (fault.begin <= low and high <= fault.end):
                continue
        for b, e, replacement in fault.texts:
            for each in (replacement, plain(replacement)):
                if squeezed(text[:b] + each + text[e:]) in wanted:
                    return fault
    return None
