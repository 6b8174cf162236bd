# SPDX-License-Identifier: Apache-2.0
"""Faults made by rule, for a sweep over a room: what a slip of the hand leaves behind.

Each is (begin, end, title, text in front, text behind): by place in the text of a file, what stands
around what is there, with @ for the fault's number. So they nest. Works on the clang-formatted text
alone: whatever does not compile is left out by the caller.
"""

import re

ON = "::xlatrace_mutants::On(@)"
OPEN, CLOSE = "([{", ")]}"


def blanked(text):
    """Comments and preprocessor lines as spaces, literals as underscores, of the same length."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
        r"|^[ \t]*#[^\n]*", re.S | re.M)
    # A literal stays an operand: as spaces it would be trimmed off the end of a comparison.
    return pattern.sub(
        lambda m: re.sub(r"[^\n]", "_" if m.group()[0] in "R\"'" else " ", m.group()), text)


def extent(text, at, step, stops):
    """From `at` on, over balanced brackets, to one of `stops` (or a bracket that closes)."""
    depth = 0
    enter, leave = (OPEN, CLOSE) if step > 0 else (CLOSE, OPEN)
    while 0 <= at < len(text):
        char = text[at]
        if char in enter:
            depth += 1
        elif char in leave:
            if depth == 0:
                return at
            depth -= 1
        elif depth == 0:
            if char in ";{}":
                return at
            for stop in stops:
                begin = at if step > 0 else at - len(stop) + 1
                if text[begin:begin + len(stop)] == stop:
                    return at
        at += step
    return at


ENDS = [" && ", " || ", ", ", " ? ", " : ", "return ", " = ", " |= ", " &= "]
COMPARISONS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ",
               " != ": " == "}


def trimmed(text, begin, end):
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


def operators(text):
    plain = blanked(text)
    flat = re.sub(r"\n", " ", plain)  # So that " && " at a line's end is found.
    for operator in (" && ", " || "):
        for match in re.finditer(re.escape(operator), flat):
            neutral = "true" if operator == " && " else "false"
            begin, end = trimmed(flat, match.end(), extent(flat, match.end(), 1, ENDS))
            if begin < end:
                glue = "||" if neutral == "true" else "&&"
                on = ON if neutral == "true" else f"!{ON}"
                yield begin, end, f"{operator.strip()} without its right side", \
                    f"({on} {glue} (", "))"
            begin = extent(flat, match.start(), -1, ENDS) + 1
            begin, end = trimmed(flat, begin, match.start())
            if begin < end and operator == " && ":
                yield begin, end, "&& without its left side", f"({ON} || (", "))"
            elif begin < end:
                yield begin, end, "|| without its left side", f"(!{ON} && (", "))"
    for operator, other in COMPARISONS.items():
        for match in re.finditer(re.escape(operator), flat):
            begin = extent(flat, match.start(), -1, ENDS) + 1
            begin, middle = trimmed(flat, begin, match.start())
            behind, end = trimmed(flat, match.end(), extent(flat, match.end(), 1, ENDS))
            if begin >= middle or behind >= end:
                continue
            left, right = text[begin:middle], text[behind:end]
            yield begin, end, f"{operator.strip()} becomes {other.strip()}", \
                f"({ON} ? ({left}{other}{right}) : (", "))"
    for match in re.finditer(r"\bif \(", flat):
        end = extent(flat, match.end(), 1, [])
        if flat[end] == ")" and " = " not in flat[match.end():end]:
            yield match.end(), end, "the condition never holds", f"!{ON} && (", ")"
    for match in re.finditer(r" [+-] 1\b(?![.'\d])", flat):
        yield match.end() - 1, match.end(), f"without{match.group()}", f"({ON} ? 0 : ", ")"
    for match in re.finditer(r"\b(true|false)\b", flat):
        other = "false" if match.group() == "true" else "true"
        yield match.start(), match.end(), f"{match.group()} becomes {other}", \
            f"({ON} ? {other} : ", ")"
    for match in re.finditer(r"\bstd::(min|max)(<\w+>)?\(", flat):
        end = extent(flat, match.end(), 1, [])
        other = "min" if match.group(1) == "max" else "max"
        kind = match.group(2) or ""
        inside = text[match.end():end]
        yield match.start(), end + 1, f"{match.group(1)} becomes {other}", \
            f"({ON} ? std::{other}{kind}({inside}) : ", ")"
    for match in re.finditer(r"\b(?:\w+::)*Confidence::(kExact|kInferred)\b", flat):
        other = match.group().replace("kExact", "#").replace("kInferred", "kExact").replace(
            "#", "kInferred")
        yield match.start(), match.end(), f"{match.group(1)} becomes the other", \
            f"({ON} ? {other} : ", ")"
    statement = re.compile(
        r"(?<=[;{}])\s+((?:[\w\]\[.()*]|->|\+\+)+(?: (?:[-+|&*]?=) [^;{}=]*|\([^;{}]*\))?;)")
    for match in statement.finditer(flat):
        inside = match.group(1)
        if re.match(r"(return|break|continue|using|throw|delete|case|default|goto)\b", inside):
            continue
        if not re.search(r"[=(]|\+\+", inside):
            continue
        yield match.start(1), match.end(1), "left out", \
            f"if (!{ON}) {{ ", " }"


def sweep(text):
    """All of them; of those that do the same at one place, one."""
    found = {}
    for begin, end, title, front, behind in operators(text):
        found.setdefault((begin, end, front), (begin, end, title, front, behind))
    return sorted(found.values())
