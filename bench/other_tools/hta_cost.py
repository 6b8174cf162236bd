# SPDX-License-Identifier: Apache-2.0
"""Loads a trace into HTA and runs six of its analyses, to measure its cost. Run with a Python that has HTA."""

import logging
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402

trace = sys.argv[1]
analysis = TraceAnalysis(trace_files={0: trace}, trace_dir=".")
analysis.get_temporal_breakdown(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)
analysis.get_queue_length_summary(ranks=[0])
