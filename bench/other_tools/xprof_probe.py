# SPDX-License-Identifier: Apache-2.0
"""XProf's figures for profiles, as JSON: a line per file. Run with a Python that has xprof."""

import json
import pathlib
import shutil
import sys
import tempfile

from xprof.convert import raw_to_tool_data


def tool(path, name):
    data, _ = raw_to_tool_data.xspace_to_tool_data([str(path)], name, {})
    return json.loads(data) if data else None


def table(data):
    columns = [column["id"] for column in data["cols"]]
    return [dict(zip(columns, [cell["v"] for cell in row["c"]])) for row in data["rows"]]


def facts(path):
    stats = tool(path, "hlo_stats")
    if not stats:
        return {"answer": None}
    ops = table(stats)
    total = sum(op["total_self_time"] for op in ops)
    profile = tool(path, "op_profile")["byProgram"]
    by_program = {child["name"]: child["metrics"]["rawTime"] / 1e6 for child in profile["children"]}
    kernels = tool(path, "kernel_stats")
    roofline = tool(path, "roofline_model")[0]["p"]
    statements = [page.get("p") or {} for page in tool(path, "overview_page")]
    return {
        "answer": "yes",
        "op_us": total,
        "named_pct": 100 * sum(op["total_self_time"] for op in ops if op["tf_op_name"]) / total,
        "bound_unknown_pct": 100
        * sum(op["total_self_time"] for op in ops if op["bound_by"] == "Unknown")
        / total,
        "idle_us": by_program.get("IDLE", 0.0),
        "profile_us": sum(by_program.values()),
        "kernels": sum(k["occurrences"] for k in table(kernels)) if kernels else 0,
        "largest_registers": max(
            (k["registers_per_thread"] for k in table(kernels)), default=0
        ) if kernels else 0,
        "peak_tflops": float(roofline["peak_flop_rate"]) / 1e3,
        "peak_gbytes": float(roofline["peak_hbm_bw"]) * 2**30 / 1e9,
        "statement": next((p["statement"] for p in statements if p.get("statement")), ""),
    }


for source in map(pathlib.Path, sys.argv[1:]):
    # It writes caches beside what it reads.
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "host.xplane.pb"
        shutil.copy(source, copy)
        print(json.dumps({"file": source.name, **facts(copy)}), flush=True)
