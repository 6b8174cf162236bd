# SPDX-License-Identifier: Apache-2.0
"""The faults by rule: what becomes of a few lines of code, and that samples are the same each time."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import operators  # noqa: E402
import records  # noqa: E402
import sample  # noqa: E402
from tree import inserted  # noqa: E402


def changes(code, rule=None):
    """Results of each fault in `code`, one line, with single blanks."""
    text = f"void F() {{\n  {code}\n}}\n"
    found = []
    for fault in operators.sweep(text):
        if rule in (None, fault.rule):
            begin, end, new = fault.texts[0]
            changed = " ".join((text[:begin] + new + text[end:]).split())
            found.append(changed.removeprefix("void F() {").removesuffix("}").strip())
    return found


class RuleTest(unittest.TestCase):
    def test_a_condition_is_fixed_negated_or_loses_an_operand(self):
        made = changes("if (a && b) continue;", "condition")
        self.assertIn("if (false) continue;", made)
        self.assertIn("if (true) continue;", made)
        self.assertIn("if (!(a && b)) continue;", made)
        self.assertIn("if (true && b) continue;", made)
        self.assertIn("if (a && true) continue;", made)

    def test_a_comparison_changes_its_boundary_and_its_direction(self):
        self.assertEqual(changes("x = a < b;", "boundary"), ["x = a <= b;"])
        self.assertEqual(changes("x = a < b;", "comparison"), ["x = a > b;", "x = a >= b;"])

    def test_statements_and_jumps_are_left_out(self):
        self.assertEqual(changes("Count(x);", "statement"), [""])
        self.assertEqual(changes("continue;", "statement"), ["break;", ""])

    def test_a_declaration_is_not_left_out(self):
        self.assertEqual(changes("const Foo x = Bar(y);", "statement"), [])

    def test_terms_factors_and_signs_change(self):
        self.assertEqual(changes("x = first - second;", "sign"), ["x = first + second;"])
        self.assertIn("x = first;", changes("x = first - second;", "term"))
        self.assertEqual(changes("x = n * size;", "operator"), ["x = n / size;"])
        self.assertEqual(changes("x += n;", "operator"), ["x -= n;", "x = n;"])

    def test_a_sum_in_a_condition_is_one_operand(self):
        self.assertIn("if (a < b) return;", changes("if (a < b + c) return;", "term"))

    def test_numbers_become_their_neighbours_zero_and_twice(self):
        self.assertEqual(changes("x = 10;", "constant"), ["x = 0;", "x = 11;", "x = 20;", "x = 9;"])
        self.assertEqual(changes("x = ns / 1e6;", "unit"), ["x = ns / 1e3;", "x = ns / 1e9;"])

    def test_a_constant_expression_is_left_alone(self):
        self.assertEqual(changes("constexpr int64_t kMost = 20;"), [])
        self.assertEqual(changes("char text[64];"), [])

    def test_min_and_max_are_exchanged(self):
        made = changes("x = std::min(a, b);", "minmax")
        self.assertEqual(sorted(made), ["x = a;", "x = b;", "x = std::max(a, b);"])

    def test_a_field_becomes_its_opposite_where_the_file_has_one(self):
        self.assertIn("x = w.end_ns - w.end_ns;", changes("x = w.end_ns - w.start_ns;", "name"))
        self.assertEqual(changes("x = w.start_ns;", "name"), [])

    def test_an_enumerator_becomes_another_of_its_enum(self):
        text = "enum class Kind { kCopy, kKernel };\nvoid F() { x = Kind::kCopy; }\n"
        made = [f.texts[0][2] for f in operators.sweep(text) if f.rule == "enum"]
        self.assertEqual(made, ["Kind::kKernel"])

    def test_literals_and_comments_are_left_alone(self):
        self.assertEqual(changes('Print("a < b && c");  // if (x) y;'), ["// if (x) y;"])

    def test_a_template_bracket_is_no_comparison(self):
        self.assertEqual(changes("x = std::max<int64_t>(a, b) < c;", "boundary"),
                         ["x = std::max<int64_t>(a, b) <= c;"])

    def test_a_lambda_is_entered(self):
        self.assertIn("Sort(v, [](const T& p, const T& q) { return p.n <= q.n; });",
                      changes("Sort(v, [](const T& p, const T& q) { return p.n < q.n; });", "boundary"))


class SwitchTest(unittest.TestCase):
    def test_switches_nest_and_hold_the_original(self):
        text = "void F() {\n  if (a < b && c) Count(x + 1);\n}\n"
        faults = operators.sweep(text)
        spans = [(f.begin, f.end, f.front.replace("@", str(i)), f.behind) for i, f in enumerate(faults)]
        planted, kept = inserted(text, spans)
        self.assertGreater(len(kept), 15)
        self.assertEqual(planted.count("("), planted.count(")"))
        self.assertEqual(planted.count("{"), planted.count("}"))
        self.assertEqual(len(set(re.findall(r"On\((\d+)\)", planted))), len(kept))


class RecordTest(unittest.TestCase):
    def maker(self, code, at, becomes):
        mutant = records.Mutant("x.cc", "t", why="w", at=at, is_=becomes)
        return operators.maker(code, operators.sweep(code), *records.place(code, mutant), becomes)

    def test_a_record_that_a_rule_makes_is_recognised(self):
        code = "void F() {\n  if (a < b && c) return;\n  x = int64_t{n};\n}\n"
        self.assertEqual(self.maker(code, "if («a < b && c») return;", "c").rule, "condition")
        self.assertEqual(self.maker(code, "«if (a < b && c) return;»", "").rule, "condition")
        self.assertEqual(self.maker(code, "if («a < b» && c)", "a <= b").rule, "boundary")

    def test_a_record_that_no_rule_makes_is_kept(self):
        code = "void F() {\n  x = Rounded(a, b);\n}\n"
        self.assertIsNone(self.maker(code, "x = «Rounded(a, b)»;", "Other(a)"))


class SampleTest(unittest.TestCase):
    CODE = "void F() {\n  if (a < b) Count(x + 1);\n  y = std::max(p, q);\n}\n"

    def found(self, code=CODE):
        return {"base": sample.of_file("base/x.cc", code), "model": sample.of_file("model/y.cc", code)}

    def test_the_same_seed_draws_the_same_faults(self):
        drawn = [[m.identity for of in sample.draw(self.found(), 6, 3).values() for m in of] for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])
        other = [m.identity for of in sample.draw(self.found(), 6, 4).values() for m in of]
        self.assertNotEqual(drawn[0], other)

    def test_components_have_equal_shares(self):
        self.assertEqual(sample.shares(self.found(), 5), {"base": 3, "model": 2})

    def test_a_fault_keeps_its_identity_when_other_code_moves(self):
        before = {m.identity for m in sample.of_file("base/x.cc", self.CODE)}
        after = {m.identity for m in sample.of_file("base/x.cc", "// A line.\n\n" + self.CODE)}
        self.assertEqual(before, after)

    def test_identities_are_unique(self):
        twice = self.CODE + self.CODE.replace("F()", "G()")
        identities = [m.identity for m in sample.of_file("base/x.cc", twice)]
        self.assertEqual(len(identities), len(set(identities)))


if __name__ == "__main__":
    unittest.main()
