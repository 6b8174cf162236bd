# SPDX-License-Identifier: Apache-2.0
"""HTA's breakdown of the time of traces, as JSON: a line per file. Run with a Python that has HTA."""

import json
import logging
import pathlib
import shutil
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def facts(source):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "rank0.json.gz"
        shutil.copy(source, copy)
        try:
            analysis = TraceAnalysis(trace_files={0: str(copy)}, trace_dir=folder)
            row = analysis.get_temporal_breakdown(visualize=False).to_dict("records")[0]
        except Exception as error:  # Any kind: the failure is the result.
            return {"answer": None, "error": f"{type(error).__name__}: {error}"}
        return {
            "answer": "yes",
            "busy_us": row["compute_time(us)"] + row["non_compute_time(us)"],
            "idle_us": row["idle_time(us)"],
            "whole_us": row["kernel_time(us)"],
        }


for path in map(pathlib.Path, sys.argv[1:]):
    print(json.dumps({"file": path.name, **facts(path)}), flush=True)
