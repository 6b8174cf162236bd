# SPDX-License-Identifier: Apache-2.0
"""Where launches without a label came from, by SQL over the views `launch`, `api_call`, `range` and `python_call`.

The page's table `launched_in` and `show`, compared with sums that are made here one launch at a time. For
each call they take the ranges of its thread around its start, outermost first."""

import collections
import json
import re
import sqlite3
import unittest

import support
from page_reader import Page

CALLS = """
SELECT l.device_id, l.stream_id, l.start_ns, l.kernel_name, l.kernel_symbol, l.self_ns, l.api_call_id, c.process_id, c.thread_id, c.start_ns
FROM launch l LEFT JOIN api_call c USING (api_call_id) WHERE l.confidence = 'none'
AND l.self_ns IS NOT NULL
"""
AROUND = """
SELECT text FROM (SELECT range_id, process_id, thread_id, domain, text, start_ns, end_ns, depth FROM range
WHERE depth IS NOT NULL UNION ALL
SELECT range_id, process_id, thread_id, NULL, text, start_ns, end_ns, depth FROM python_call)
WHERE process_id = ? AND thread_id = ? AND start_ns <= ? AND end_ns > ? ORDER BY start_ns, end_ns DESC, range_id
"""
FRAME = r"nn\.Module: |.*\.py\(\d+\): "


def short(name):
    """A module without what it is, a Python function without its folders."""
    if name.startswith("nn.Module: "):
        return name[len("nn.Module: "):]
    return name.rsplit("/", 1)[-1] if re.match(FRAME, name) else name


def words(text):
    """A range's text without what counts calls."""
    text = re.split(r", [A-Za-z_]+ = ", text)[0]
    return re.sub(r"(?<![^ #_.\-/=:\[(])(?<!\.py\()\d+(?![^ #_.\-/=:\])>,])", "*", text)


def names_around(texts):
    names = []
    for text in texts:
        name = words(text)
        if re.match(r"(cuda|hip|cu)[A-Z]|hsa_", name) or (names and names[-1] == name):
            continue
        names.append(name)
    return [n for n in names if not n.startswith("ProfilerStep")] or names[-1:]


class LaunchedIn(support.TestCase):
    def truth(self):
        """By kernel: launches and time by path; paths of more than four names by their last."""
        database = sqlite3.connect(f"file:{self.folder}/run.db?mode=ro", uri=True)
        self.addCleanup(database.close)
        sums = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        called = "SELECT device_id, stream_id, min(start_ns) FROM activity WHERE api_call_id IS NOT NULL GROUP BY 1, 2"
        first = {(device, stream): at for device, stream, at in database.execute(called)}
        for device, stream, at, name, symbol, ns, call, process, thread, start in database.execute(CALLS):
            if thread is None:
                key = "earlier" if call is None and at < first.get((device, stream), at) else "no_call"
            else:
                around = database.execute(AROUND, (process, thread, start, start))
                names = names_around(text for (text,) in around)
                key = tuple(names) if names else "outside"
            of = sums[symbol or name][key]
            of[0] += 1
            of[1] += ns
        return sums

    def compare(self, kernel, rows, truth):
        """`rows`: (how, path, launches, ns) as shown, of one kernel."""
        paths = {k: v for k, v in truth.items() if isinstance(k, tuple)}
        if not paths:
            self.assertEqual(rows, [], kernel)
            return 0
        shown_paths = [r for r in rows if r[0] == "path"]
        for how in ("outside", "earlier", "no_call"):
            self.assertEqual(
                [list(r[2:]) for r in rows if r[0] == how],
                [truth[how]] if how in truth else [],
                (kernel, how),
            )
        for column in (2, 3):
            self.assertEqual(
                sum(r[column] for r in rows if r[0] in ("path", "more")),
                sum(v[column - 2] for v in paths.values()),
                kernel,
            )
        self.assertEqual([r[3] for r in shown_paths], sorted((r[3] for r in shown_paths))[::-1])
        for _, path, launches, ns in shown_paths:
            shown = path.split(" > ")
            # Four names, five with Python's among them, stand for all paths that have them left.
            of = []
            for names, v in paths.items():
                most = 5 if any(re.match(FRAME, n) for n in names) else 4
                k = [short(n) for n in names]
                if k == shown if len(k) <= most else (len(shown) == most and k[-1] == shown[-1]
                                                      and [n for n in k if n in shown] == shown):
                    of.append(v)
            self.assertEqual([sum(x) for x in zip(*of)], [launches, ns], (kernel, path))
        return len(shown_paths)

    def check(self, name, at_least, some_path):
        path = support.require_data(name)
        self.assertEqual(self.run_program("import", path, "-o", "run.db").code, 0)
        self.assertEqual(self.run_program("report", "run.db", "-o", "run.html").code, 0)
        truth = self.truth()
        page = Page.open(f"{self.folder}/run.html")
        kernels = page.rows("kernels")
        of_kernel = collections.defaultdict(list)
        for row in page.rows("launched_in"):
            of_kernel[row["kernel"]].append(
                (row["how"], row["path"], row["occurrences"], row["self_ns"])
            )
        told = 0
        for at, kernel in enumerate(kernels):
            if kernel["kind"] == "kernel":
                key = kernel["symbol"] or kernel["name"]
                told += self.compare(key, of_kernel[at], truth[key])
        self.assertGreaterEqual(told, at_least)
        if some_path is not None:
            self.assertIn(some_path, {row["path"] for row in page.rows("launched_in")})
        for handle in ("k1", "k2", "k3"):
            sheet = json.loads(
                self.run_program("show", handle, "run.db", "--format", "json").stdout
            )
            rows = [
                (r["how"], r["path"], r["launches"], r["self_ns"]) for r in sheet["launched_in"]
            ]
            key = sheet["kernel"]["kernel_symbol"] or sheet["kernel"]["kernel_name"]
            self.compare(key, rows, truth[key])
            at = next(i for i, k in enumerate(kernels) if k["handle"] == handle)
            self.assertEqual(rows, of_kernel[at])
        return truth

    def test_kineto_launches_have_their_range_path(self):
        self.check("kineto/h100_bert-small.json.gz", 12,
                   "BertSdpaSelfAttention_* > modeling_bert.py(364): forward > Linear_* > aten::linear > aten::addmm")

    def test_nsight_systems_launches_have_their_range_path(self):
        self.check(
            "nsys/mfu_2gpu_after.sqlite",
            25,
            "c10d::alltoall_base_ > record_param_comms > nccl:all_to_all > ncclGroupEnd",
        )

    def test_ranges_are_only_for_unlabelled_launches_with_hlo(self):
        # 42 of 54 launches have an instruction; the calls of the others lie in no range.
        truth = self.check("xplane/jax08_gemm.xplane.pb", 0, None)
        self.assertEqual(sum(v[0] for of in truth.values() for v in of.values()), 12)


if __name__ == "__main__":
    unittest.main()
