# SPDX-License-Identifier: Apache-2.0
"""`show` and `summary --gpu`: everything about one thing, and the same launches on another GPU.

The recordings are of 8 x MI300X (products and elementwise programs) and of 2 x H100 whose export
does not name the GPU. Expected figures are worked out here from shapes and durations.
"""

import json
import lzma
import pathlib
import re
import shutil
import tempfile
import unicodedata
import unittest

import support

MI300X_BF16 = 1307e12  # Data sheet, dense.
MI300X_BYTES = 5.3e12


def import_file(folder, relative):
    path = pathlib.Path(folder) / (pathlib.Path(relative).name + ".db")
    ok("import", support.require_data(relative), "-o", path)
    return path


def ok(*arguments):
    result = support.run(*arguments)
    if result.code != 0:
        raise AssertionError(str(result))
    return result.stdout


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Show(support.GoldenText, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        cls.folder = tempfile.mkdtemp(prefix="xlatrace-show-")
        try:
            cls.gemm = import_file(cls.folder, "xplane/jax08_gemm.xplane.pb")
            cls.elementwise = import_file(cls.folder, "xplane/jax08_elementwise.xplane.pb")
            cls.h100 = import_file(cls.folder, "nsys/h100_2gpu_1s.sqlite")
        except unittest.SkipTest:
            shutil.rmtree(cls.folder, ignore_errors=True)
            raise

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def show(self, *arguments):
        return json.loads(ok("show", *arguments, "--format", "json"))

    def query(self, run, sql):
        text = ok("query", run, sql, "--format", "json")
        rows = json.loads(text)
        return rows["rows"] if isinstance(rows, dict) else rows

    def largest_product(self):
        return self.query(self.gemm, "SELECT handle FROM op_time WHERE op_kind = 'gemm'"
                          " ORDER BY self_ns DESC LIMIT 1")[0]["handle"]  # fmt: skip

    def test_peak_share_of_a_product_equals_its_computed_value(self):
        # The step that was found is one of the smaller products; this is the largest of the run.
        op = self.show(self.largest_product(), self.gemm)["op"]
        # bf16[8192,4096] x bf16[4096,8192]
        flops = 2 * 8192 * 8192 * 4096 * op["occurrences"]
        moved = 2 * (2 * 8192 * 4096 + 8192 * 8192) * op["occurrences"]
        self.assertEqual(op["flops"], flops)
        self.assertEqual(op["bytes"], moved)
        share = flops / MI300X_BF16 / (op["self_ns"] / 1e9)
        self.assertAlmostEqual(op["compute_utilisation_pct"], 100 * share, delta=0.01)
        memory = moved / MI300X_BYTES / (op["self_ns"] / 1e9)
        self.assertAlmostEqual(op["memory_utilisation_pct"], 100 * memory, delta=0.01)
        self.assertAlmostEqual(op["wasted_ns"], op["self_ns"] * (1 - share), delta=10)
        self.assertEqual((op["bound_by"], op["compute_type"]), ("compute", "bf16"))

    def test_sheet_of_an_op_has_all_fields(self):
        handle = self.largest_product()
        sheet = self.show(handle, self.gemm)
        self.assertEqual(sheet["schema_version"], 1)
        self.assertEqual((sheet["kind"], sheet["handle"]), ("op", handle))
        self.assertEqual(sum(s["launches"] for s in sheet["launches"]), sheet["op"]["occurrences"])
        self.assertEqual(sum(s["self_ns"] for s in sheet["launches"]), sheet["op"]["self_ns"])
        self.assertEqual(sum(e["self_ns"] for e in sheet["evidence"]), sheet["op"]["self_ns"])
        self.assertEqual(sheet["evidence"][0]["confidence"], "exact")
        self.assertEqual([o["shape"][:14] for o in sheet["operands"]],
                         ["bf16[8192,4096", "bf16[4096,8192"])  # fmt: skip
        self.assertTrue(any("__cublas$gemm" in line for line in sheet["hlo"]))

    def test_text_fits_the_width_and_may_be_ascii(self):
        for run in (self.gemm, self.elementwise):
            for what in ("o1", "o8", "k1", "m1", "f1"):
                for columns in (80, 100, 160):
                    text = ok("show", what, run, "--width", str(columns))
                    widest = max(text.splitlines(), key=width)
                    self.assertLessEqual(width(widest), columns, f"{what}: {widest}")
                    self.assertNotIn("\x1b", text)
                text = ok("show", what, run, "--ascii")
                self.assertTrue(text.isascii(), what)

    def test_ops_kernels_and_modules_are_found_by_name(self):
        op = self.show("o1", self.gemm)["op"]
        self.assertEqual(self.show(op["instruction"], self.gemm)["handle"], "o1")
        self.assertEqual(self.show("%" + op["instruction"], self.gemm)["handle"], "o1")
        self.assertEqual(self.show(op["module"], self.gemm)["kind"], "module")
        file = pathlib.PurePosixPath(op["source_file"]).name
        source = self.show(f"{file}:{op['source_line']}", self.gemm)
        self.assertIn("o1", [row["handle"] for row in source["ops"]])
        self.assertGreaterEqual(source["self_ns"], op["self_ns"])

    def test_instruction_without_time_names_its_callers(self):
        rows = self.query(
            self.elementwise,
            "SELECT i.instruction, i.computation, i.opcode, m.handle FROM instruction i"
            " JOIN module m ON m.module_id = i.module_id"
            " WHERE i.instruction NOT IN"
            " (SELECT instruction FROM op_time WHERE instruction IS NOT NULL)"
            " ORDER BY CAST(substr(m.handle, 2) AS INT)")
        inside = [r for r in rows if "fused" in r["computation"] and r["opcode"] != "parameter"]
        self.assertTrue(inside)
        row = inside[0]
        text = ok("modules", self.elementwise, row["handle"], "--format", "text")
        callers = re.findall(rf"^\s*(?:ROOT )?%(\S+) = .*calls=%{re.escape(row['computation'])}\b",
                             text, re.M)
        sheet = self.show(row["instruction"], self.elementwise)
        self.assertEqual((sheet["kind"], sheet["called_by"]), ("instruction", callers))
        shown = ok("show", row["instruction"], self.elementwise)
        for op in sheet["ops"]:
            self.assertIn(op["handle"] + " ", shown)
        parameter = [r for r in rows if r["opcode"] == "parameter" and "main" in r["computation"]
                     and r["instruction"] not in {i["instruction"] for i in inside}]
        self.assert_golden_text(ok("show", parameter[0]["instruction"], self.elementwise))

    def test_operands_and_users_skip_instructions_without_work(self):
        # Between the transpose and the convolution lie only a get-tuple-element and bitcasts.
        conv = pathlib.Path(self.folder) / "conv.db"
        ok("import", support.require_data("xplane/jax_conv_minimal.xplane.pb"), "-o", conv)
        handle = self.query(conv, "SELECT handle FROM op_time WHERE instruction ="
                            " 'input_transpose_fusion'")[0]["handle"]  # fmt: skip
        sheet = self.show(handle, conv)
        made = sheet["operands"][0]
        self.assertEqual(made["instruction"], "cudnn-conv.1.0")
        self.assertEqual(made["through"], ["get-tuple-element.1.0"])
        self.assertEqual(made["self_ns"], self.query(
            conv, f"SELECT self_ns FROM op_time WHERE handle = '{made['handle']}'")[0]["self_ns"])
        self.assertIn("cudnn-conv.1.0 via get-tuple-element.1.0", ok("show", handle, conv))
        back = self.show(made["handle"], conv)["users"]
        self.assertIn(handle, [user["handle"] for user in back])

    def test_host_latency_is_the_time_between_call_and_start(self):
        symbol = self.query(self.h100, "SELECT kernel_symbol AS s FROM launch WHERE api_call_id"
                            " IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")[0]["s"]  # fmt: skip
        handle = self.query(self.h100, f"SELECT handle FROM kernel WHERE kernel_symbol = '{symbol}'"
                            )[0]["handle"]  # fmt: skip
        waits = sorted(row["ns"] for row in self.query(
            self.h100, "SELECT l.start_ns - c.start_ns AS ns FROM launch l JOIN api_call c"
            f" USING (api_call_id) WHERE l.kernel_symbol = '{symbol}'"))  # fmt: skip
        host = self.show(handle, self.h100)["host"]
        self.assertEqual(host["launches"], len(waits))
        self.assertEqual(host["latency_p50_ns"], waits[(len(waits) - 1) // 2])
        self.assertEqual(host["latency_p90_ns"], waits[(len(waits) - 1) * 90 // 100])
        self.assert_golden_text(ok("show", handle, self.h100).split("\n\n")[0])

    def test_steps_of_an_op_belong_to_one_device(self):
        run = pathlib.Path(self.folder) / "tpu.db"
        ok("import", support.require_data("xplane/tpu_v6e_jit_f_4chips.xplane.pb"), "-o", run)
        sheet = self.show("o1", run)
        devices = self.query(run, "SELECT count(DISTINCT device_id) AS n FROM step")[0]["n"]
        self.assertEqual(devices, 4)
        # A hundred executions on each chip, of which the ends may be cut.
        self.assertIn(sum(row["steady"] for row in sheet["steps"]), (98, 99))
        typical = [row["ns_per_device"] for row in sheet["steps"] if row["typical"]]
        self.assertIn(len(typical), (50, 51))
        self.assertAlmostEqual(sum(typical) / len(typical), sheet["op"]["steady_ns_per_step"], delta=1)

    def test_equal_layers_are_compared_by_time_per_step(self):
        # Two unrolled layers of the project's own recording.
        profile = pathlib.Path(self.folder) / "train.xplane.pb"
        packed = support.require_data("own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz")
        profile.write_bytes(lzma.decompress(pathlib.Path(packed).read_bytes()))
        run = pathlib.Path(self.folder) / "train.db"
        ok("import", profile, "-o", run)
        steps = self.query(run, "SELECT count(*) AS n FROM step WHERE typical")[0]["n"]
        told = {row["layer"]: row["ns"] for row in self.show("layer_*", run)["siblings"]["layers"]}
        expected = {row["name"]: row["ns"] / steps for row in self.query(
            run, "SELECT substr(s.layer || '/', 1, instr(s.layer || '/', '/') - 1) AS name,"
            " sum(o.steady_ns * s.share) AS ns FROM op_time o JOIN instruction_share s"
            " USING (module_id, instruction) WHERE s.layer_group LIKE 'layer!_*%' ESCAPE '!'"
            " AND s.phase <> 'optimizer' AND o.op_kind <> 'collective' GROUP BY 1")}
        self.assertEqual(sorted(told), ["layer_0", "layer_1"])
        for layer, ns in told.items():
            self.assertAlmostEqual(ns, expected[layer], delta=50, msg=layer)
        whole = self.show("layer_0", run)["per_step"]
        self.assertGreaterEqual(whole["ns"], told["layer_0"])
        self.assert_golden_text(ok("show", "layer_*", run).split("\n\n")[2])

    def test_time_of_a_source_line_equals_scope_time(self):
        line = self.query(
            self.elementwise,
            "SELECT source_file, source_line, sum(self_ns) AS ns FROM scope_time WHERE source_line "
            "IS NOT NULL GROUP BY 1, 2 ORDER BY ns DESC LIMIT 1",
        )[0]
        sheet = self.show(f"{line['source_file']}:{line['source_line']}", self.elementwise)
        self.assertEqual(sheet["self_ns"], line["ns"])
        self.assertEqual(sum(p["self_ns"] for p in sheet["phases"]), line["ns"])

    def test_unknown_names_are_errors_with_a_hint(self):
        messages = ""
        for what in ("o999999", "k999999", "m999999", "f999999", "no_such_thing", "gone.py:1"):
            result = support.run("show", what, self.gemm.name, cwd=self.folder)
            self.assertEqual((result.code, len(result.errors), len(result.hints)), (1, 1, 1), what)
            messages += result.stderr
        result = support.run("show", "o1", self.gemm, "--gpu", "voodoo2")
        self.assertEqual(result.code, 2)
        self.assertIn("H100 SXM", result.stderr)
        self.assert_golden_text(messages + result.stderr)

    def test_another_gpu_is_compared_with_its_own_roofs(self):
        sheet = json.loads(
            ok("summary", self.gemm, "--gpu", "h100", "--format", "json")
        )
        self.assertFalse(sheet["is_this_run"])
        self.assertEqual(sheet["gpu"], "H100 SXM")
        product = max(sheet["rows"], key=lambda row: row["self_ns"] or 0)
        # The same share of the bf16 peak: 1307 against 989 TFLOP/s.
        self.assertEqual(product["bound_by_there"], "compute")
        self.assertAlmostEqual(
            product["ns_there"] / product["self_ns"], 1307 / 989, delta=0.001
        )

    def test_given_gpu_is_used_if_the_run_has_none(self):
        sheet = json.loads(
            ok("summary", self.h100, "--gpu", "h100", "--format", "json")
        )
        self.assertTrue(sheet["is_this_run"])
        # 255 registers and 128 threads: 2 blocks of 4 warps per sub-partition's 64 K registers.
        kernel = next(row for row in sheet["rows"] if "ffma" in row["kernel_name"])
        self.assertEqual(kernel["occupancy_there_pct"], 12.5)
        self.assertEqual(kernel["occupancy_limiter_there"], "registers")

    def test_table_of_the_other_gpu_fits_the_width(self):
        for run in (self.gemm, self.h100):
            for columns in (80, 100):
                text = ok(
                    "summary", run, "--gpu", "a100", "--width", str(columns)
                )  # fmt: skip
                self.assertLessEqual(max(map(width, text.splitlines())), columns)
                self.assertLessEqual(len(text.splitlines()), 45)

    def test_devices_list_their_peaks(self):
        device = self.query(
            self.gemm, "SELECT DISTINCT gpu, peaks_source, peak_flops,"
            " memory_bandwidth_bytes_per_s AS bandwidth FROM device",
        )  # fmt: skip
        self.assertEqual(len(device), 1)
        self.assertEqual((device[0]["gpu"], device[0]["peaks_source"]), ("MI300X", "table"))
        self.assertEqual(json.loads(device[0]["peak_flops"])["bf16"], int(MI300X_BF16))
        self.assertEqual(device[0]["bandwidth"], int(MI300X_BYTES))
        unnamed = self.query(self.h100, "SELECT DISTINCT gpu, peak_flops FROM device")
        self.assertEqual(unnamed, [{"gpu": None, "peak_flops": None}])


class ShowOfSeveralDevices(support.TestCase):
    """Three processes with one device each. Each has its own module, so an op runs on one device."""

    def assert_golden_time(self, handle, run):
        """The second section of the sheet of an op."""
        self.assert_golden_text(ok("show", handle, run).split("\n\n")[1])

    def test_mean_of_an_op_on_one_device_counts_all_devices(self):
        ops = [
            ("add.2", "add", "jit(step)/jvp(layers_0)/mlp/add", "/m/model.py", 11),
            ("dot.1", "dot", "jit(step)/jvp(layers_0)/mlp/dot_general", "/m/model.py", 10),
        ]
        for host in range(3):
            lasts = {"add.2": 300_000, "dot.1": 600_000 if host == 0 else 420_000}
            space = support.xspace("jit_step", ops, executions=12, host=f"host{host}", op_ns=lasts)
            (self.folder / f"host{host}.xplane.pb").write_bytes(space)
        run = self.folder / "run.db"
        ok("import", *sorted(self.folder.glob("*.pb")), "-o", run)
        rows = json.loads(ok("query", run, "--format", "json",
                             "SELECT handle, average_ns FROM op_time WHERE instruction = 'dot.1'"))  # fmt: skip
        rows = rows["rows"] if isinstance(rows, dict) else rows
        slow = next(row["handle"] for row in rows if row["average_ns"] == 600_000)
        with support.open_database(run) as db:
            steady, own = db.execute(
                "SELECT sum(typical), sum(typical) FILTER (WHERE device_id = 1) FROM step").fetchone()  # fmt: skip
        op = json.loads(ok("show", slow, run, "--format", "json"))["op"]
        self.assertEqual((op["steady_devices"], op["ran_on_devices"]), (3, 1))
        self.assertEqual(op["steady_ns_per_step_there"], 600_000)
        self.assertEqual(op["steady_steps"], steady)
        self.assertAlmostEqual(op["steady_ns_per_step"], 600_000 * own / steady, delta=1)
        self.assert_golden_time(slow, run)

    def test_op_of_all_devices_has_one_mean(self):
        run = import_file(self.folder, "captures/nsys-jax-maxtext-fsdp4-h100")
        op = json.loads(ok("show", "o1", run, "--format", "json"))["op"]
        self.assertEqual((op["steady_devices"], op["ran_on_devices"], op["steady_steps"]), (4, 4, 12))
        self.assertNotIn("steady_ns_per_step_there", op)
        self.assert_golden_time("o1", run)


if __name__ == "__main__":
    unittest.main()
