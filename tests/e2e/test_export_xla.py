# SPDX-License-Identifier: Apache-2.0
"""`export --to xplane`, opened by XProf, and `--to pgle`, XLA's profile for its scheduler."""

import re
import struct
import unittest

import export_support
from export_support import query, run_python
import support

XPROF = """
import json, os, shutil, sys, tempfile
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from xprof.convert import raw_to_tool_data
def rows(tool, path):
    place = os.path.join(tempfile.mkdtemp(), "host.xplane.pb")
    shutil.copy(path, place)
    data, _ = raw_to_tool_data.xspace_to_tool_data([place], tool, {})
    table = json.loads(data)
    names = [c["id"] for c in table["cols"]]
    return [dict(zip(names, [c["v"] for c in row["c"]])) for row in table["rows"]]
out = []
for path in sys.argv[1:]:
    stats = rows("hlo_stats", path)
    out.append([[r["hlo_op_name"], int(float(r["program_id"])), round(float(r["total_self_time"]) * 1e3),
                 int(float(r["occurrences"])), r["tf_op_name"]] for r in stats])
print(json.dumps(out))
"""
OP_PROFILE = """
import json, os, shutil, sys, tempfile
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from xprof.convert import raw_to_tool_data
out = []
for path in sys.argv[1:]:
    place = os.path.join(tempfile.mkdtemp(), "host.xplane.pb")
    shutil.copy(path, place)
    data, _ = raw_to_tool_data.xspace_to_tool_data([place], "op_profile", {})
    tree = json.loads(data)["byProgram"]
    out.append({program["name"]: program["metrics"]["rawTime"] for program in tree["children"]})
print(json.dumps(out))
"""


class XplaneTest(export_support.ExportTest):
    def test_xprof_shows_the_times_and_op_names_of_the_run(self):
        run = self.recorded_run("xla_gpu")
        original = support.require_data(export_support.RECORDINGS["xla_gpu"][0])
        got, before = run_python("XPROF", XPROF, self.export(run, "xplane"), original)
        wanted = query(
            run,
            "SELECT instruction, program_id, sum(self_ns), count(*) FROM activity"
            " WHERE instruction IS NOT NULL GROUP BY module_id, instruction",
        )
        self.assertEqual(sorted(tuple(row[:4]) for row in got), sorted(wanted))
        # XProf leaves op_names of fusions empty: most of this file's time.
        unnamed = sum(ns for _, _, ns, _, name in before if not name)
        self.assertGreater(unnamed, sum(ns for _, _, ns, _, _ in before) // 2)
        self.assertEqual([row for row in got if not row[4]], [])

    def test_op_profile_shows_the_time_of_each_program(self):
        for name in ("xla_gpu", "two_ranks"):
            with self.subTest(run=name):
                run = self.recorded_run(name)
                (programs,) = run_python("XPROF", OP_PROFILE, self.export(run, "xplane"))
                self.assertGreater(programs.pop("IDLE"), 0)
                # Programs of two processes have numbers of their own there.
                got = {}
                for program, picoseconds in programs.items():
                    name = program.rsplit("(", 1)[0]
                    got[name] = got.get(name, 0) + round(picoseconds / 1e3)
                wanted = query(
                    run,
                    "SELECT module, sum(self_ns) FROM activity"
                    " WHERE instruction IS NOT NULL GROUP BY 1 HAVING sum(self_ns) > 0",
                )
                self.assertEqual(got, dict(wanted))

    def test_xplane_export_can_be_imported(self):
        run = self.recorded_run("xla_gpu")
        trace = self.export(run, "xplane", output=self.folder / "again.xplane.pb")
        again = self.import_run("again", [trace])
        sql = "SELECT start_ns - (SELECT min(start_ns) FROM activity), duration_ns, name, instruction, module FROM activity ORDER BY 1, 3"
        self.assertEqual(query(again, sql), query(run, sql))


def costs_of(data):
    """{name: us} of a ProfiledInstructionsProto: costs 1 {name 1, cost_us 2}."""

    def fields(data):
        at = 0

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte = data[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if not byte & 128:
                    return value

        while at < len(data):
            key = varint()
            if key & 7 == 2:
                size = varint()
                yield key >> 3, data[at : at + size]
                at += size
            else:
                yield key >> 3, struct.unpack("<d", data[at : at + 8])[0]
                at += 8

    return {
        cost[1].decode(): cost[2]
        for field, message in fields(data)
        if field == 1
        for cost in [dict(fields(message))]
    }


class PgleTest(export_support.ExportTest):
    def test_costs_are_the_mean_of_typical_steps(self):
        run = self.our_run(20_000)
        folder = self.export(run, "pgle")
        (text,) = folder.glob("*.pbtxt")
        (binary,) = folder.glob("*.pb")
        costs = costs_of(binary.read_bytes())
        parsed = {
            name: float(us)
            for name, us in re.findall(r'costs \{ name: "([^"]+)" cost_us: (\S+) \}', text.read_text())
        }
        self.assertEqual(parsed, costs)
        # Without a loop in the HLO, all launches of an execution are one occurrence.
        wanted = query(
            run,
            "SELECT a.instruction, sum(a.duration_ns) / 1e3 / count(DISTINCT a.execution_id)"
            " FROM activity a"
            " JOIN step s ON s.device_id = a.device_id AND s.step = a.step"
            " WHERE s.typical AND a.instruction IS NOT NULL GROUP BY 1",
        )
        self.assertGreater(len(wanted), 1000)
        for name, us in wanted:
            self.assertAlmostEqual(costs[name], us, places=6)

    def test_pgle_file_is_named_after_the_fingerprint(self):
        run = self.import_run(
            "maxtext", [support.require_data("captures/nsys-jax-maxtext-fsdp4-h100")]
        )
        folder = self.export(run, "pgle")
        names = sorted(file.name for file in folder.glob("*.pbtxt"))
        # As `strings` finds it in the dump of jit_train_step.
        self.assertIn("7bfc001d01c11a054a2e8a5fd0482112.pbtxt", names)


if __name__ == "__main__":
    unittest.main()
