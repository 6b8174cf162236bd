# SPDX-License-Identifier: Apache-2.0
"""Statements and expressions of clang-formatted C++ as a tree, as far as faults by rule need it.

The text is formatted, so a binary operator has blanks around it and a template bracket has none. Unknown
code becomes a leaf: no fault is made there."""

import re
from dataclasses import dataclass, field

OPEN, CLOSE = "([{", ")]}"
ASSIGNMENTS = (" = ", " += ", " -= ", " *= ", " /= ", " |= ", " &= ", " ^= ", " %= ", " <<= ", " >>= ")
# Binary operators by precedence, the weakest first; `|`, `^`, `&` and shifts are no place for faults.
LEVELS = (
    ("or", (" || ",)),
    ("and", (" && ",)),
    (None, (" | ",)),
    (None, (" ^ ",)),
    (None, (" & ",)),
    ("compare", (" == ", " != ")),
    (None, (" <=> ",)),
    ("compare", (" < ", " <= ", " > ", " >= ")),
    (None, (" << ", " >> ")),
    ("sum", (" + ", " - ")),
    ("product", (" * ", " / ", " % ")),
)
# Statements in which an expression must be constant, or that hold none.
NO_FAULTS = re.compile(
    r"(static constexpr|constexpr|inline constexpr|constinit|using|typedef|static_assert|friend|"
    r"template|extern|namespace|goto|case|default|public|private|protected|enum)\b")


def blanked(text):
    """Comments and preprocessor lines as spaces, literals as underscores, of the same length."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
        r"|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", re.S | re.M)
    # A literal stays an operand: as spaces it would be trimmed off the end of a comparison.
    return pattern.sub(
        lambda m: re.sub(r"[^\n]", "_" if m.group()[0] in "R\"'" else " ", m.group()), text)


@dataclass
class Node:
    """`kind` of an expression: or, and, compare, sum, product, ternary, not, assign, target, call, name,
    number, paren, other. `kind` of a statement: if, loop, do (an expression), jump (break, continue),
    return."""

    kind: str
    begin: int
    end: int
    parts: list = field(default_factory=list)
    signs: list = field(default_factory=list)  # Operators between the parts: (position, text).
    truth: bool = False  # True if only the truth of the value is used.
    head: "Node | None" = None  # The condition of an if or a loop.
    body: tuple = ()  # Body of an if or a loop: (begin, end).
    other: tuple = ()  # Code after the else of an if.
    inner: list = field(default_factory=list)  # Nodes inside brackets of a call or name.


class Parser:
    """Finds every statement and expression of a file; `nodes` holds them, outer before inner."""

    def __init__(self, text):
        self.text = text
        self.flat = blanked(text).replace("\n", " ")
        self.match = self._brackets()
        self.nodes = []
        self._block(0, len(self.flat))

    def _brackets(self):
        match, stack = {}, []
        for at, char in enumerate(self.flat):
            if char in OPEN:
                stack.append(at)
            elif char in CLOSE and stack:
                begin = stack.pop()
                match[begin] = at
        return match

    # --- Text ------------------------------------------------------------------------------------

    def _trim(self, begin, end):
        while begin < end and self.flat[begin] == " ":
            begin += 1
        while end > begin and self.flat[end - 1] == " ":
            end -= 1
        return begin, end

    def _template_end(self, at, end):
        """Behind the '>' that closes the template bracket at `at`, or None."""
        if at == 0 or not (self.flat[at - 1].isalnum() or self.flat[at - 1] == "_"):
            return None
        if self.flat[at + 1:at + 2] in (" ", "=", "<", ""):
            return None
        depth, here = 0, at
        while here < min(end, at + 300):
            char = self.flat[here]
            if char == "<":
                depth += 1
            elif char == ">" and self.flat[here - 1] != "-":
                depth -= 1
                if depth == 0:
                    return here + 1
            elif char in ";{}" or self.flat[here:here + 4] in (" && ", " || "):
                return None
            elif char in "([":
                here = self.match.get(here, end)
            here += 1
        return None

    def _top(self, begin, end):
        """Positions in [begin, end) outside of all brackets."""
        at = begin
        while at < end:
            char = self.flat[at]
            if char in OPEN:
                yield at
                at = self.match.get(at, end)
            elif char == "<":
                behind = self._template_end(at, end)
                if behind is not None:
                    at = behind
                    continue
                yield at
            else:
                yield at
            at += 1

    def _find(self, begin, end, signs):
        """(position of the sign's first character that is no blank, sign), outside of brackets."""
        found = []
        for at in self._top(begin, end):
            if self.flat[at] != " ":
                continue
            for sign in signs:
                # A line break may have made several blanks of the last one.
                if self.flat[at:at + len(sign)] == sign and at > begin and at + len(sign) < end:
                    found.append((at + 1, sign.strip()))
                    break
        return found

    def _split(self, begin, end, char):
        """[begin, end) cut at each `char` outside of brackets."""
        parts, from_ = [], begin
        for at in self._top(begin, end):
            if self.flat[at] == char:
                parts.append((from_, at))
                from_ = at + 1
        return [*parts, (from_, end)]

    # --- Statements ------------------------------------------------------------------------------

    def _block(self, begin, end):
        at = begin
        while True:
            at, _ = self._trim(at, end)
            if at >= end:
                return
            behind = self._statement(at, end)
            at = behind if behind > at else at + 1

    def _is_block(self, at):
        """Does the brace at `at` begin a block and not a list of values?"""
        before = at - 1
        while before >= 0 and self.flat[before] == " ":
            before -= 1
        if before < 0:
            return True
        if before == at - 1:
            return self.flat[before] == ")"
        if self.flat[before] in "=,({[?:<&|+-":
            return False
        return not re.search(r"\breturn$", self.flat[max(0, before - 8):before + 1])

    def _statement(self, at, end):
        """Parses the one at `at`; returns where the next begins."""
        flat = self.flat
        if flat[at] == "{":
            close = self.match.get(at, end)
            self._block(at + 1, close)
            return close + 1
        if flat[at] in ";})]":
            return at + 1
        head = re.compile(r"(if|while|for|switch) \(").match(flat, at)
        if head:
            return self._headed(head.group(1), at, head.end() - 1, end)
        label = re.compile(r"(?:case [^;{}]*?[^:]|default|public|private|protected) ?:(?!:)").match(flat, at)
        if label:
            return label.end()
        jump = re.compile(r"(else|do|try)\b").match(flat, at)
        if jump:
            return jump.end()
        if re.compile(r"enum\b").match(flat, at):
            brace = flat.find("{", at)
            semicolon = flat.find(";", at)
            if 0 <= brace < semicolon or semicolon < 0:
                return self.match.get(brace, end) + 1
            return semicolon + 1
        for here in self._top(at, end):
            if flat[here] == ";":
                self._simple(at, here)
                return here + 1
            if flat[here] == "{" and self._is_block(here):
                # The body of a function, a class or a lambda. A constexpr body gets no faults.
                close = self.match.get(here, end)
                if not re.search(r"\b(constexpr|consteval)\b", flat[at:here]):
                    self._block(here + 1, close)
                return close + 1
        return end

    def _headed(self, word, at, bracket, end):
        close = self.match.get(bracket, end)
        parts = self._split(bracket + 1, close, ";")
        head = None
        if word == "for":
            if len(parts) == 3:
                self._simple(*parts[0])
                head = self._expression(*parts[1], truth=True)
                self._expression(*parts[2])
            else:
                colon = self._find(bracket + 1, close, [" : "])
                if colon:
                    self._expression(colon[0][0] + 1, close)
        elif word == "switch":
            self._expression(bracket + 1, close)
        else:
            for part in parts[:-1]:
                self._simple(*part)
            begin, behind = parts[-1]
            if self._find(begin, behind, [" = "]):
                self._simple(begin, behind)  # A declaration that is the condition.
            else:
                head = self._expression(begin, behind, truth=True)
        node = Node("if" if word == "if" else "loop", at, close + 1, head=head)
        if word != "switch":
            self.nodes.append(node)
        body, _ = self._trim(close + 1, end)
        behind = self._statement(body, end)
        node.body = (body, behind)
        node.end = behind
        if word == "if":
            rest, _ = self._trim(behind, end)
            if re.compile(r"else\b").match(self.flat, rest):
                other, _ = self._trim(rest + 4, end)
                node.end = self._statement(other, end)
                node.other = (other, node.end)
        return node.end

    def _simple(self, begin, end):
        """A statement without its semicolon."""
        begin, end = self._trim(begin, end)
        if begin >= end or NO_FAULTS.match(self.flat, begin):
            return
        word = re.compile(r"(return|co_return|throw|delete|break|continue)\b").match(self.flat, begin)
        if word and word.group(1) in ("break", "continue"):
            self.nodes.append(Node("jump", begin, end + 1))
            return
        if word:
            if word.end() < end:
                node = Node("return", begin, end + 1)
                if word.group(1) == "return":
                    self.nodes.append(node)
                node.head = self._expression(word.end(), end)
            return
        if self._is_effect(begin, end):
            self.nodes.append(Node("do", begin, end + 1))
        elif re.match(r"[\w:<>, *&]+ \w+\[", self.flat[begin:end]):
            return  # The size of an array must be constant.
        self._expression(begin, end)

    def _is_effect(self, begin, end):
        """An assignment, a call, a step: no declaration."""
        text = self.flat[begin:end]
        sign = next(iter(self._find(begin, end, ASSIGNMENTS)), None)
        left = self.flat[begin:sign[0] - 1] if sign else text
        # A type in front of a name.
        if re.match(r"(const|auto|static|struct|class)\b", text):
            return False
        bare = re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", left))
        if " " in bare.strip() and not re.search(r" (\?|:|<<|>>|\+|-|&&|\|\|) ", bare):
            return False
        if sign:
            return True
        return text.startswith(("++", "--")) or text.endswith(("++", "--", ")"))

    # --- Expressions -----------------------------------------------------------------------------

    def _expression(self, begin, end, truth=False):
        begin, end = self._trim(begin, end)
        if begin >= end:
            return None
        commas = self._split(begin, end, ",")
        if len(commas) > 1:
            for part in commas:
                self._expression(*part)
            return None
        sign = next(iter(self._find(begin, end, ASSIGNMENTS)), None)
        if sign:
            node = Node("assign", begin, end, signs=[sign])
            self.nodes.append(node)
            left = self._trim(begin, sign[0])
            # For a declaration only its initial value.
            if not re.match(r"(const|auto|static)\b", self.flat[left[0]:left[1]]) and (
                    " " not in re.sub(r"\[[^\]]*\]|\([^)]*\)", "", self.flat[left[0]:left[1]])):
                target = self._primary(*left, False)
                target.kind = "target"  # An assigned variable is no value.
            is_bool = re.search(r"\bbool &?\w+$", self.flat[left[0]:left[1]])
            right = self._expression(sign[0] + len(sign[1]), end, truth=bool(is_bool) and sign[1] == "=")
            node.parts = [right] if right else []
            return node
        question = self._ternary(begin, end)
        if question:
            at, colon = question
            node = Node("ternary", begin, end, truth=truth)
            self.nodes.append(node)
            node.head = self._expression(begin, at, truth=True)
            node.parts = [self._expression(at + 1, colon, truth), self._expression(colon + 1, end, truth)]
            return node
        for kind, signs in LEVELS:
            found = self._find(begin, end, signs)
            if not found:
                continue
            node = Node(kind or "other", begin, end, signs=found, truth=truth)
            self.nodes.append(node)
            from_ = begin
            for at, text in [*found, (end, "")]:
                part = self._expression(from_, at, truth=kind in ("or", "and"))
                node.parts.append(part)
                from_ = at + len(text)
            if None in node.parts:
                node.kind = "other"
            return node
        return self._primary(begin, end, truth)

    def _ternary(self, begin, end):
        question, depth = None, 0
        for at in self._top(begin, end):
            if self.flat[at:at + 3] == " ? ":
                if question is None:
                    question = at + 1
                else:
                    depth += 1
            elif question is not None and self.flat[at:at + 3] == " : ":
                if depth == 0:
                    return question, at + 1
                depth -= 1
        return None

    def _primary(self, begin, end, truth):
        flat = self.flat
        if flat[begin] == "!" and flat[begin + 1:begin + 2] != "=":
            node = Node("not", begin, end, truth=truth)
            self.nodes.append(node)
            node.parts = [self._primary(begin + 1, end, True)]
            return node
        if flat[begin] == "(" and self.match.get(begin) == end - 1:
            node = Node("paren", begin, end, truth=truth)
            node.parts = [self._expression(begin + 1, end - 1, truth)]
            return node
        text = flat[begin:end]
        if re.fullmatch(r"-?\d[\d']*(\.\d+)?(e[+-]?\d+)?[uUlLfz]*", text):
            kind = "number"
        elif re.fullmatch(r"-?[\w:.\->*&~]+", text):
            kind = "name"
        else:
            kind = "call"
        node = Node(kind, begin, end, truth=truth)
        self.nodes.append(node)
        for at in self._top(begin, end):
            if flat[at] not in OPEN:
                continue
            close = self.match.get(at, end)
            if flat[at] == "{" and self._is_block(at):
                self._block(at + 1, close)  # Body of a lambda.
            elif flat[at] == "[" and (at == begin or not re.match(r"[\w)\]>]", flat[at - 1])):
                continue  # The capture list of a lambda.
            elif flat[at] == "(" and flat[at - 1:at] == "]":
                continue  # Parameters of a lambda, or a call of an array element.
            else:
                whole = re.search(r"\b(static_cast|std::\w+|[\w:]+)(<[^()]*>)?$", flat[begin:at])
                for part in self._split(at + 1, close, ","):
                    inner = self._expression(*part)
                    if inner is not None:
                        node.inner.append((inner, whole.group(1) if whole else ""))
        return node
