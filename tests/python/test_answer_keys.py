# SPDX-License-Identifier: Apache-2.0
"""The answers by hand (tests/answers) can be read, and the program that judges them judges."""

import pathlib
import sys
import tomllib
import unittest

ANSWERS = pathlib.Path(__file__).resolve().parents[1] / "answers"
sys.path.insert(0, str(ANSWERS))

import check_answers


class Said:
    """Stands for the answers of xlatrace."""

    imported = True

    def __init__(self, **texts):
        self.texts = dict.fromkeys(check_answers.PLACES, "") | {"findings": []} | texts
        self.ids = [f"f{n}" for n in range(len(self.texts["findings"]))]


def claims(said, **key):
    return check_answers.judge(key, said)


class KeysTest(unittest.TestCase):
    def test_every_key_states_its_proof(self):
        paths = sorted(ANSWERS.glob("*.toml"))
        self.assertGreater(len(paths), 20)
        for path in paths:
            with self.subTest(path.name):
                key = tomllib.loads(path.read_text())
                check_answers.check_key(key)
                self.assertTrue(key["about"].strip())
                for kind in ("must", "should", "never"):
                    for entry in key.get(kind, []):
                        self.assertTrue(entry["why"].strip(), entry["text"])

    def test_a_misspelt_entry_is_refused(self):
        entry = {"text": "t", "where": "headline", "anyof": ["x"], "why": "w"}
        with self.assertRaises(check_answers.Broken):
            check_answers.check_key({"recording": "r", "must": [entry]})

    def test_an_unknown_finding_is_refused(self):
        entry = {"text": "t", "where": "findings", "id": ["no_such_finding"], "why": "w"}
        with self.assertRaises(check_answers.Broken):
            check_answers.check_key({"recording": "r", "never": [entry]})

    def test_an_unknown_place_is_refused(self):
        entry = {"text": "t", "where": "title", "any_of": ["x"], "why": "w"}
        with self.assertRaises(check_answers.Broken):
            check_answers.check_key({"recording": "r", "never": [entry]})


class JudgeTest(unittest.TestCase):
    def test_a_claim_counts_only_within_its_rank(self):
        said = Said(findings=["copies", "Attention writes scores"])
        entry = {"text": "t", "where": "findings", "any_of": ["attention"], "rank_max": 1}
        self.assertFalse(claims(said, must=[entry])[0].passed)
        self.assertTrue(claims(said, must=[entry | {"rank_max": 2}])[0].passed)

    def test_all_of_must_meet_in_one_finding(self):
        said = Said(findings=["attention", "scores of 2048 x 2048"])
        entry = {"text": "t", "where": "findings", "all_of": ["attention", "scores"]}
        self.assertFalse(claims(said, must=[entry])[0].passed)
        said = Said(findings=["Attention writes scores"])
        self.assertTrue(claims(said, must=[entry])[0].passed)

    def test_a_never_fails_where_its_expression_matches(self):
        entry = {"text": "t", "where": "headline", "any_of": ["idle 7 %"]}
        self.assertFalse(claims(Said(headline="gpu0:\nidle\n7 %."), never=[entry])[0].passed)
        self.assertTrue(claims(Said(summary="idle 7 %"), never=[entry])[0].passed)

    def test_an_id_is_found_within_its_rank_whatever_the_text(self):
        said = Said(findings=["x", "scores"])
        entry = {"text": "t", "where": "findings", "id": ["f1"]}
        self.assertTrue(claims(said, must=[entry])[0].passed)
        self.assertFalse(claims(said, never=[entry])[0].passed)
        self.assertFalse(claims(said, must=[entry | {"rank_max": 1}])[0].passed)
        self.assertFalse(claims(said, must=[entry | {"id": ["f7"]}])[0].passed)

    def test_all_of_must_match_in_the_finding_of_the_id(self):
        said = Said(findings=["scores", "other"])
        entry = {"text": "t", "where": "findings", "id": ["f0"], "all_of": ["scores"]}
        self.assertTrue(claims(said, must=[entry])[0].passed)
        self.assertFalse(claims(said, must=[entry | {"id": ["f1"]}])[0].passed)

    def test_any_of_is_an_alternative_to_the_id(self):
        said = Said(findings=["p99"])
        entry = {"text": "t", "where": "findings", "id": ["f7"], "any_of": ["p9"]}
        self.assertFalse(claims(said, never=[entry])[0].passed)
        self.assertTrue(claims(Said(findings=["p5"]), never=[entry])[0].passed)

    def test_half_of_the_should_entries_is_enough(self):
        fine = check_answers.Line("should", "", True, "", "")
        missed = check_answers.Line("should", "", False, "", "")
        self.assertTrue(check_answers.passes([fine, missed]))
        self.assertFalse(check_answers.passes([fine, missed, missed]))
        unsaid = check_answers.Line("must", "", False, "", "")
        self.assertFalse(check_answers.passes([fine, unsaid]))

    def test_figures_keep_their_tolerance(self):
        self.assertTrue(check_answers.same(100, 102, {"tolerance_pct": 2}))
        self.assertFalse(check_answers.same(100, 103, {"tolerance_pct": 2}))
        self.assertFalse(check_answers.same(100, 101, {}))
        self.assertFalse(check_answers.same(0, None, {"tolerance": 5}))

    def test_several_counts_of_steps_can_be_right(self):
        self.assertEqual(check_answers.numbers_of([0, 4]), {0, 4})
        self.assertEqual(check_answers.numbers_of("0 or 2..4"), {0, 2, 3, 4})


if __name__ == "__main__":
    unittest.main()
