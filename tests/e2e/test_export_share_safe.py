# SPDX-License-Identifier: Apache-2.0
"""`export --share-safe`: nothing of a program's names is left in the bytes of any format."""

import gzip
import json
import pathlib
import re
import shutil
import tempfile
import unittest
import zlib

import byte_search
import export_support
from export_support import query
import support
import tiers

FORMATS = (
    "perfetto kineto pprof speedscope folded pgle parquet csv nsys xplane db".split()
)
# Columns that stay as they are: closed lists, shapes, the hardware, calls of CUDA's API.
KEPT = """
opcode category op_kind shape fusion_kind kind phase part evidence confidence unattributed_reason
origin role severity copy_kind how bound_by compute_type occupancy_limiter compute_capability
peak_flops gpu peaks_source op_name_method op basis cause verdict limiter why_ended ended
owner memory_space shape_index stage work state
""".split()
LIBRARY = re.compile(
    r"^(void )?(ampere_|volta_|turing_|sm\d+_|cutlass|cublas|cudnn|nccl|cub::|_ZN3cub|nvjet_|"
    r"Memcpy|Memset|Cijk_|splitKreduce|gemmSN|gemv|dot_kernel)"
)


# Words of the formats themselves: keys of Kineto's and speedscope's JSON, units, titles of tracks, and the
# NVTX domain of a library.
FORMAT_WORDS = {
    "NCCL",
    "args", "name", "frames", "stream", "device", "kernel", "block", "grid", "rank", "exporter",
    "nanoseconds", "layers", "steps", "phases", "modules", "samples", "weights",
    "core_count",
}  # fmt: skip


def strings_of(run):
    """Every text of the run that must not be visible, if one of its words has at least four characters.
    Shorter words such as "a, b" also occur between other names: "x3a, b7"."""
    kept, found = set(), set()
    schema = " ".join(sql for (sql,) in query(run, "SELECT sql FROM sqlite_master WHERE sql <> ''"))
    kept.update(re.findall(r"\w{4,}", schema))
    tables = [
        name
        for (name,) in query(
            run,
            "SELECT name FROM sqlite_master WHERE type IN ('view', 'table') AND name NOT LIKE 'CUPTI%'",
        )
    ]
    for table in tables:
        for column, values in export_support.texts_of(run, table):
            if column in KEPT or (table, column) in [
                ("device", "name"),
                ("x_device", "name"),
                ("TARGET_INFO_GPU", "name"),
                ("run_stat", "name"),
                ("x_run_stat", "name"),
                ("finding", "id"),
                ("ruled_out", "id"),
                ("ruled_out", "what"),  # Such as "copies"; `text` has all of it.
                ("x_finding", "id"),
                ("x_ruled_out", "id"),
                ("x_ruled_out", "what"),
                ("run_info", "key"),
                ("x_run_info", "key"),
                ("api_call", "name"),
                # Sentences of the replay's own, with counts and no names.
                ("replay", "assumptions"),
                ("x_replay", "assumptions"),
                ("replay", "withheld"),
                ("x_replay", "withheld"),
            ]:
                kept.update(values)
                continue
            found.update(values)
            if column in ("op_name", "layer", "layer_group", "source_file"):
                for value in values:
                    found.update(re.findall(r"[\w.*-]+", value))
    for key in ("tool_version", "start_unix_ns", "granularity", "mode", "end"):
        kept.update(v for (v,) in query(run, f"SELECT value FROM run_info WHERE key = '{key}'"))
    # A word that is part of one that stays ("record" of a column's name) shows nothing.
    kept_text = "\n".join(filter(None, [*kept, *FORMAT_WORDS]))
    # Most candidates begin or end with four characters that do not occur in it, so no search is needed.
    fours = {kept_text[at : at + 4] for at in range(len(kept_text) - 3)}

    def is_kept(text):
        return (len(text) < 4 or (text[:4] in fours and text[-4:] in fours)) and text in kept_text

    return {
        text
        for text in found
        if re.search(r"\w{4}|[^\x00-\x7f]", text)
        and not is_kept(text)
        and not LIBRARY.match(text)
        and not re.fullmatch(r"[-+]?[\d.]+", text)
        and not re.fullmatch(r"[okmf]\d+", text)  # Handles.
        and not re.fullmatch(r"Stream #\d+", text)  # A stream's number, in words of the format.
        # "add.2": a hash may end so by chance.
        and not re.fullmatch(r"[0-9a-f]{1,6}(\.\d+)?", text)
    }


def contents(place):
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    for file in files:
        if file.is_file():
            data = file.read_bytes()
            yield file.name, data
            if data.startswith(b"SQLite format 3"):
                yield f"cells of {file.name}", "\n".join(cells(file)).encode()


def contents_of(places):
    """The same for every format, by its name."""
    for to, place in places.items():
        for file, data in contents(pathlib.Path(place)):
            yield f"{to}: {file}", data


def leaks(places, wanted, reference):
    """(file, name) of each given name in the exports. `places` and `reference` map a format to its export.

    A folder, host or layer may have a name that is also a word of the product, such as "xlatrace" or "kernel".
    A word is the product's own if the same format has it for the reference, a run without that name. The
    reference itself is tested with an empty reference."""
    hits = byte_search.found_in_files(lambda: contents_of(places), wanted)
    words = {name for _, name in hits}
    own = {
        (file.split(":")[0], word)
        for file, word in byte_search.found_in_files(lambda: contents_of(reference), words)
    }
    return [(file, name) for file, name in hits if (file.split(":")[0], name) not in own]


def cells(database):
    """Every text that a database holds as one, but its own schema's."""
    tables = query(database, "SELECT name FROM sqlite_master WHERE type = 'table'")
    for (table,) in tables:
        for _, texts in export_support.texts_of(database, table):
            yield from texts


def numbers_of(value, path=""):
    """Every number of a JSON document with the keys that lead to it; texts do not count."""
    if isinstance(value, dict):
        return [pair for k, v in value.items() for pair in numbers_of(v, f"{path}.{k}")]
    if isinstance(value, list):
        # Names decide the order of rows of equal weight.
        return sorted(pair for v in value for pair in numbers_of(v, path + "[]"))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [(path, value)]
    return []


class ByteSearchTest(unittest.TestCase):
    """The search itself: a name is found wherever it hides."""

    def test_short_names_are_found_only_in_texts(self):
        self.assertEqual(byte_search.found_in(b"a row of adam", ["adam"]), {"adam"})
        packed = b"\xff\xfeadam\x00\x80 and secret_layer"
        self.assertEqual(byte_search.found_in(packed, ["adam", "secret_layer"]), {"secret_layer"})
        self.assertEqual(byte_search.found_in(gzip.compress(b"of adam"), ["adam"]), {"adam"})

    def test_overlapping_names_are_found_with_their_files(self):
        names = ["jit/secret_layer/dot", "secret_layer", "another", "adam/x"]
        files = [("a", b"to jit/secret_layer/dot"), ("b", b"\xff adam/x"), ("c", b"nothing, adam")]
        self.assertEqual(
            byte_search.found_in_files(lambda: files, names),
            [("a", "jit/secret_layer/dot"), ("a", "secret_layer"), ("b", "adam/x")],
        )

    def test_names_in_compressed_files_are_found(self):
        secret = b"....secret_layer...." * 3
        zstd = support.run_command(["zstd", "-qc"], stdin=secret)
        if zstd.code != 0:
            raise unittest.SkipTest("there is no zstd")
        for packed in (
            secret,
            gzip.compress(secret),
            b"head" + gzip.compress(b"x" + zlib.compress(secret)) + b"tail",
            b"page" + zstd.stdout_bytes + b"page",
            gzip.compress(b"page" + zstd.stdout_bytes),
        ):
            self.assertEqual(
                byte_search.found_in(packed, ["secret_layer", "another"]), {"secret_layer"}
            )


class LeaksTest(unittest.TestCase):
    """Names of a run and words of the product are distinguished."""

    def places(self, **texts):
        folder = tempfile.mkdtemp(prefix="xlatrace-leaks-")
        self.addCleanup(shutil.rmtree, folder)
        places = {}
        for to, text in texts.items():
            places[to] = pathlib.Path(folder) / f"run.{to}"
            places[to].write_text(text)
        return places

    def test_word_in_the_reference_format_is_no_leak(self):
        shared = self.places(kineto='{"by": "xlatrace", "frames": 7}')
        reference = self.places(kineto='{"by": "xlatrace", "frames": 5}')
        self.assertEqual(leaks(shared, {"xlatrace", "frames", "secret_layer"}, reference), [])

    def test_name_of_this_run_alone_is_a_leak(self):
        shared = self.places(kineto='{"by": "xlatrace", "file": "/srv/xlatrace/secret_place/a.py"}')
        reference = self.places(kineto='{"by": "xlatrace", "file": "/3f/9a/b2/c0.py"}')
        wanted = {"xlatrace", "secret_place", "/srv/xlatrace/secret_place/a.py", "srv/xlatrace"}
        self.assertEqual(
            [name for _, name in leaks(shared, wanted, reference)],
            ["/srv/xlatrace/secret_place/a.py", "secret_place", "srv/xlatrace"],
        )

    def test_word_in_another_format_of_the_reference_is_a_leak(self):
        shared = self.places(folded="xlatrace;c0ffee 5", csv="tool\nxlatrace\n")
        reference = self.places(folded="beef;cafe 4", csv="tool\nxlatrace\n")
        self.assertEqual(leaks(shared, {"xlatrace"}, reference), [("folded: run.folded", "xlatrace")])


class ShareSafeTest(export_support.ExportTest):
    def shared(self, name, run):
        """Share-safe exports of a run by format."""
        places = {}
        for to in FORMATS:
            if to == "pgle" and not query(
                run, "SELECT 1 FROM activity WHERE instruction IS NOT NULL LIMIT 1"
            ):
                continue  # A run without instructions has no costs.
            output = self.folder / f"{name}.shared.{to}"
            places[to] = self.export(run, to, "--share-safe", output=output)
        return places

    def test_no_format_holds_a_name(self):
        # bench/big_run.py chooses all names of the first run, so that none comes from this machine.
        reference = {}
        for name, run in self.runs():
            wanted = strings_of(run)
            self.assertGreater(len(wanted), 20)
            places = self.shared(name, run)
            with self.subTest(run=name):
                self.assertEqual(leaks(places, wanted, reference)[:20], [])
            reference = reference or places
            self.assertEqual([p for p in self.folder.iterdir() if ".tmp." in p.name], [])

    def test_folder_with_a_name_of_the_product_is_no_leak(self):
        trace = self.folder / "trace.xplane.pb"
        source = "/srv/xlatrace/speedscope/file/secret_place/kernel.py"
        ops = [(name, opcode, op_name, source, line) for name, opcode, op_name, _, line in support.OPS]
        trace.write_bytes(support.xspace("jit_step", ops))
        run = self.import_run("product_names", [trace])
        wanted = strings_of(run)
        self.assertLessEqual({source, "xlatrace", "speedscope", "secret_place"}, wanted)
        reference = self.shared("made", self.our_run())
        places = self.shared("product_names", run)
        self.assertEqual(leaks(places, wanted, reference), [])
        # Without --share-safe the same search finds them.
        open_places = {"csv": self.export(run, "csv", output=self.folder / "open.csv")}
        found = {name for _, name in leaks(open_places, wanted, reference)}
        self.assertLessEqual({source, "secret_place"}, found)

    def test_times_shapes_and_counts_stay(self):
        run = self.our_run()
        shared = self.export(run, "db", "--share-safe")
        for sql in (
            "SELECT kind, start_ns, duration_ns, self_ns, step, phase, op_kind, evidence FROM activity",
            "SELECT opcode, shape, category, flops, bytes FROM instruction",
            "SELECT step, device_id, start_ns, end_ns, busy_ns, steady FROM step",
            "SELECT phase, sum(self_ns) FROM op_time GROUP BY phase",
            "SELECT count(DISTINCT instruction), count(DISTINCT layer), count(DISTINCT op_name),"
            " count(DISTINCT layer_group) FROM instruction",
            "SELECT length(layer) - length(replace(layer, '/', '')) FROM instruction",
        ):
            self.assertEqual(query(shared, sql), query(run, sql), sql)
        self.assertEqual(self.run_program("summary", shared).code, 0)
        self.assertEqual(self.run_program("report", shared, "-o", "shared.html").code, 0)
        libraries = (
            "SELECT kernel_name, launches, self_ns FROM kernel"
            " WHERE kernel_name GLOB 'sm90_*' OR kernel_name GLOB 'nccl*' ORDER BY 1"
        )
        self.assertGreater(len(query(run, libraries)), 1)
        self.assertEqual(query(shared, libraries), query(run, libraries))

    def test_files_are_comparable_only_with_the_same_salt(self):
        run = self.our_run()
        salt = self.folder / "salt"
        salt.write_bytes(b"0123456789abcdef0123456789abcdef")
        names = [
            query(
                self.export(run, "db", "--share-safe", *extra, output=self.folder / f"{i}.db"),
                "SELECT instruction, op_name, layer FROM instruction",
            )
            for i, extra in enumerate([("--salt", salt), ("--salt", salt), (), ()])
        ]
        self.assertEqual(names[0], names[1])
        self.assertNotEqual(names[0], names[2])
        self.assertNotEqual(names[2], names[3])

    def test_diff_of_shared_runs_equals_that_of_originals(self):
        salt = self.folder / "salt"
        salt.write_bytes(b"0123456789abcdef0123456789abcdef")
        pairs = [(self.our_run(), self.our_run(20_000))]
        if tiers.IS_LONG:
            pairs.append((self.demo_run(), self.demo_run("demo_again")))
        for before, after in pairs:
            shared = [
                self.export(run, "db", "--share-safe", "--salt", salt, output=self.folder / f"{i}.db")
                for i, run in enumerate((before, after))
            ]
            figures = []
            for runs in ((before, after), shared):
                result = self.run_program("diff", *runs, "--format", "json")
                self.assertIn(result.code, (0, 1), result)
                figures.append(numbers_of(json.loads(result.stdout)))
            self.assertGreater(len(figures[0]), 20)
            self.assertEqual(*figures)
            for path in shared:
                path.unlink()

    def test_a_short_salt_is_refused(self):
        salt = self.folder / "salt"
        salt.write_bytes(b"short")
        result = self.run_program(
            "export", self.our_run(), "--to", "db", "--share-safe", "--salt", salt, "-o", "out.db"
        )
        self.assertEqual(result.code, 1, result)
        self.assertFalse((self.folder / "out.db").exists())

    def test_every_text_column_has_a_rule(self):
        # run_copy.cc empties a text column that its table does not name, so each new column needs a decision.
        source = (support.REPOSITORY / "store" / "run_copy.cc").read_text()
        named = set(re.findall(r'"(x_\w+\.\w+)"', source))
        emptied = {
            "x_process.command", "x_module.file", "x_module.hlo", "x_module.thunk_sequence",
            "x_module.thunk_metadata", "x_run_stat.source", "x_run_stat.advice",
            "x_module_facts.role_reason", "x_label.losers", "x_finding.where_op",
            "x_finding.where_layer", "x_finding.where_source", "x_finding.evidence",
            "x_finding.sentence", "x_finding.headline", "x_finding.reason", "x_ruled_out.figure", "x_gap_evidence.evidence",
            "x_hint.hlo", "x_hint.enclosing", "x_hint.op_type", "x_loss.cause",
            "x_finding.action", "x_finding.how_to_check", "x_ruled_out.evidence",
            "x_compile_detail.before", "x_compile_detail.after",
        }  # fmt: skip
        run = self.our_run()
        tables = query(run, "SELECT name FROM sqlite_master WHERE type = 'table'")
        columns = {
            f"{table}.{column}"
            for (table,) in tables
            for _, column, kind, *_ in query(run, f"PRAGMA table_info({table})")
            if kind in ("TEXT", "BLOB") and table not in ("x_string", "x_run_info")
        }
        self.assertEqual(columns - named - emptied, set())


if __name__ == "__main__":
    unittest.main()
