# SPDX-License-Identifier: Apache-2.0
"""Secrets in other tools' captures: masked in the run, named by `doctor --secrets`."""

import csv
import io
import json
import pathlib
import shutil
import sqlite3
import unittest

import support

# Put together here, so that no scanner takes this file for a leak.
BODY = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"
SECRETS = {
    "aws": "AKIA" + "ABCDEFGH12345678",
    "github": "ghp_" + BODY,
    "hugging_face": "hf_" + BODY,
    "web_token": "eyJ" + BODY + ".eyJ" + BODY + "." + BODY,
    "password": "Pa55" + "w0rdOfTheUser",
    "word": "correct" + "horsebattery",
}
TEXTS = [
    f"upload with {SECRETS['aws']} to s3",
    f"train.py --api_key={SECRETS['word']} --steps=3",
    f"WANDB_API_KEY={SECRETS['word']} python train.py",
    f"https://me:{SECRETS['password']}@host/x",
    f"clone {SECRETS['github']}",
    f"login({SECRETS['hugging_face']})",
    f'{{"password": "{SECRETS["password"]}", "jwt": "{SECRETS["web_token"]}"}}',
]
KEPT = ["--steps=3", "upload with *** to s3", "login(***)", "clone ***"]


class Secrets(support.TestCase):
    def imported(self, trace):
        run = self.folder / "run.db"
        result = self.run_program("import", trace, "-o", run)
        self.assertEqual(result.code, 0, str(result))
        return run

    def assert_masked(self, run, kept=()):
        """No secret is in the file's bytes, in its views, or in the page."""
        page = self.folder / "page.html"
        result = self.run_program("report", run, "-o", page)
        self.assertEqual(result.code, 0, str(result))
        with sqlite3.connect(run) as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
            said = "\n".join(
                str(value)
                for table in tables
                for row in database.execute(f'SELECT * FROM "{table}"')
                for value in row
                if isinstance(value, str)
            )
        for kind, secret in SECRETS.items():
            self.assertNotIn(secret.encode(), run.read_bytes(), kind)
            self.assertNotIn(secret.encode(), page.read_bytes(), kind)
            self.assertNotIn(secret, said, kind)
        for text in kept:
            self.assertIn(text, said)
        result = self.run_program("doctor", "--secrets", run, "--format", "json")
        self.assertEqual((result.code, json.loads(result.stdout)["secrets"]), (0, []), result)

    def test_secrets_in_nsys_files_are_masked(self):
        trace = self.folder / "trace.sqlite"
        shutil.copyfile(support.require_data("nsys/mfu_2gpu_before.sqlite"), trace)
        with sqlite3.connect(trace) as database:
            rows = [row for (row,) in database.execute(
                "SELECT rowid FROM NVTX_EVENTS WHERE text IS NOT NULL OR textId IS NOT NULL")]  # fmt: skip
            for row, text in zip(rows[:: max(1, len(rows) // 20)], TEXTS, strict=False):
                database.execute("UPDATE NVTX_EVENTS SET text = ?, textId = NULL WHERE rowid = ?", (text, row))
            (first,) = database.execute("SELECT min(id) FROM StringIds").fetchone()
            for text, (name,) in zip(TEXTS, database.execute(
                    "SELECT DISTINCT nameId FROM ThreadNames").fetchall(), strict=False):  # fmt: skip
                database.execute("UPDATE StringIds SET value = ? WHERE id = ?", (text, name))
            database.execute("UPDATE PROCESSES SET name = ?", (TEXTS[1],))
            self.assertIsNotNone(first)
        self.assert_masked(self.imported(trace), KEPT)

    def test_secrets_in_kineto_files_are_masked(self):
        events = [
            {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": TEXTS[1]}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 7, "args": {"name": TEXTS[4]}},
        ]
        for n in range(30):
            events.append({"ph": "X", "cat": "kernel", "name": f"kernel_{n % 3}", "pid": 0, "tid": 7,
                           "ts": 1000 + 100 * n, "dur": 50,
                           "args": {"stream": 7, "device": 0, "correlation": n + 1}})  # fmt: skip
            events.append({"ph": "X", "cat": "user_annotation", "name": TEXTS[n % len(TEXTS)], "pid": 1,
                           "tid": 7, "ts": 1000 + 100 * n, "dur": 60, "args": {}})  # fmt: skip
        trace = self.folder / "trace.json"
        trace.write_text(json.dumps({
            "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
            "host": TEXTS[3], "command": TEXTS[2], "trace_name": TEXTS[0], "traceEvents": events,
        }))  # fmt: skip
        self.assert_masked(self.imported(trace), KEPT)

    def test_secrets_in_xplane_files_are_masked(self):
        trace = self.folder / "trace.xplane.pb"
        ops = [("add.1", "add", "jit(f)/add", "f.py", 3), ("dot.2", "dot", "jit(f)/dot", "f.py", 4)]
        trace.write_bytes(support.xspace("jit_f", ops, host=TEXTS[0]))
        run = self.imported(trace)
        self.assert_masked(run, KEPT[1:2])
        self.assert_golden_text(self.run_program("doctor", "--secrets", run.name).stdout)

    def test_secrets_in_nsys_jax_captures_are_masked(self):
        source = support.require_data("captures/nsys-jax-maxtext-fsdp4-h100")
        trace = self.folder / "capture"
        shutil.copytree(source, trace, copy_function=shutil.copyfile)
        table = trace / "report_nvtx_pushpop_trace.csv.xz"
        rows = list(csv.DictReader(io.StringIO(support.lzma.decompress(table.read_bytes()).decode())))
        for row, secret in zip(rows[4:], (SECRETS["aws"], SECRETS["hugging_face"], SECRETS["github"]), strict=False):
            row["Name"] = f"clone {secret}"
        text = io.StringIO()
        out = csv.DictWriter(text, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
        table.write_bytes(support.lzma.compress(text.getvalue().encode()))
        # The rows reach the run, without the secrets.
        self.assert_masked(self.imported(trace), ["clone ***"])

    def test_secrets_in_a_run_of_an_older_version_are_listed(self):
        run = self.imported(support.require_data("xplane/jax08_gemm.xplane.pb"))
        with sqlite3.connect(run) as database:
            database.execute("UPDATE x_process SET command = ?", (TEXTS[1] + " " + SECRETS["github"],))
            database.execute("INSERT INTO x_run_info VALUES ('api_key', ?)", (SECRETS["word"],))
        result = self.run_program("doctor", "--secrets", run.name)
        self.assertEqual(result.code, 3, str(result))
        self.assert_golden_text(result.stdout, masks=[(r"(x_run_info\.value row )\d+", r"\1#")])
        listed = json.loads(self.run_program("doctor", "--secrets", run, "--format", "json").stdout)
        self.assertEqual(len(listed["secrets"]), 3)
        for secret in SECRETS.values():
            self.assertNotIn(secret, result.stdout + json.dumps(listed))

    def test_public_captures_contain_no_secrets(self):
        for relative in (
            "kineto/h100_bert-small.json.gz", "kineto/mi300_bert-small.json.gz", "nsys/h100_2gpu_1s.sqlite",
            "xplane/tpu_v6e_jit_f_4chips.xplane.pb", "captures/nsys-jax-pax-fsdp4-a100",
        ):  # fmt: skip
            with self.subTest(capture=relative):
                run = self.folder / f"{pathlib.Path(relative).name}.db"
                result = self.run_program("import", support.require_data(relative), "-o", run)
                self.assertEqual(result.code, 0, str(result))
                with sqlite3.connect(run) as database:
                    starred = database.execute("SELECT text FROM x_string WHERE text LIKE '%***%'").fetchall()
                # XLA has names with three stars of its own: "LSRAv2 *** total allocation".
                source = pathlib.Path(support.require_data(relative))
                recorded = source.read_bytes() if source.suffix == ".pb" else b""
                self.assertEqual([text for (text,) in starred if text.encode() not in recorded], [])
                self.assertEqual(self.run_program("doctor", "--secrets", run).code, 0)


if __name__ == "__main__":
    unittest.main()
