# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the page in a browser (page_*.py) in another interpreter than the one of ctest: one that
has Playwright. All tests of one process share one browser."""

import os
import pathlib
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import tiers  # noqa: E402

# The cases of the first tier of a module. All cases of a module without an entry are in the first tier.
FIRST_TIER = {
    "page_bare": ["Bare.test_run_with_one_step_has_one_step_button", "Bare.test_filter_applies_to_kernels_if_the_run_has_no_hlo"],
    "page_clear": [
        "Devices.test_slow_devices_are_measured_against_the_median_device_everywhere",
        "Graph.test_a_copy_from_the_host_has_its_rate_and_direction",
        "Sums.test_idle_column_of_a_step_is_labelled_as_sum",
        "Words.test_show_of_a_kernel_has_the_figures_of_the_page",
    ],
    "page_controls": [
        "Controls.test_idle_time_by_cause_equals_sql_and_opens_its_gaps",
        "Controls.test_keys_o_r_and_t_work_on_every_page",
        "Controls.test_filter_applies_to_verdict_and_graph",
        "Controls.test_words_are_completed_while_typing",
        "KernelsOnly.test_key_n_shows_the_next_launch_of_a_kernel",
        "RowKeys.test_the_marked_row_opens_on_every_page",
    ],
    "page_figures": ["Figures.test_figures_of_xplane_jax08_gemm_xplane_pb_are_the_same_everywhere"],
    "page_filters": [
        "Filtered.test_time_filter_applies_to_the_sum_of_folded_rows",
        "Filtered.test_shares_under_a_device_filter_are_of_that_device",
    ],
    "page_leads": [
        "Compared.test_kernel_with_longer_calls_is_the_first_row",
        "Idle.test_each_idle_cause_is_explained",
        "Starts.test_attributed_shares_of_steps_and_recording_are_shown",
    ],
    "page_path": ["CriticalPath.test_critical_path_on_request_sums_to_the_step"],
    "page_provenance": ["Provenance.test_passes_are_listed_in_order_with_the_earlier_names"],
    "page_ranks": [
        "Job.test_slow_rank_is_named_with_its_cost",
        "Job.test_rank_map_has_every_rank_in_every_step",
        "OneRun.test_time_of_each_rank_equals_sql",
    ],
    "page_shown": ["Shown.test_idle_sums_include_gaps_that_are_not_stored"],
}
# Seconds of each module in the first tier (2026-11-30, 2 cores), to divide them evenly; of a module without
# an entry 5.
COST_S = {"page_browser": 36, "page_axe": 15, "page_controls": 12}
OTHER_COST_S = 5


def chromium_path():
    """The headless shell needs two thirds of the time of the whole browser (10 cases: 12 and 17 s)."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    return next(filter(None, map(shutil.which, names)), None)


def modules():
    """Modules with tests, those that take longest first."""
    # Some make their tests in a loop.
    names = [path.stem for path in FOLDER.glob("page_*.py") if "test_" in path.read_text(encoding="utf-8")]
    return sorted(names, key=lambda name: (-COST_S.get(name, OTHER_COST_S), name))


def cases(module):
    """The cases of a module that the present tier runs, as names for unittest."""
    if tiers.IS_LONG or module not in FIRST_TIER:
        return [module]
    return [f"{module}.{case}" for case in FIRST_TIER[module]]


def part(number, parts):
    """The modules of part `number` of `parts`; each module is in one part."""
    sums, divided = [0] * parts, [[] for _ in range(parts)]
    for name in modules():
        least = sums.index(min(sums))
        sums[least] += COST_S.get(name, OTHER_COST_S)
        divided[least].append(name)
    return divided[number - 1]


def run(test, number, parts):
    """Runs a part of the modules with XLATRACE_TEST_PYTHON_BROWSER; skips `test` with a reason where that is
    not possible. The output is printed, so that skipped cases in it are counted."""
    python = os.environ.get("XLATRACE_TEST_PYTHON_BROWSER")
    if not python:
        test.skipTest("XLATRACE_TEST_PYTHON_BROWSER is not set")
    if not chromium_path():
        test.skipTest("no chromium")
    result = subprocess.run(
        [python, "-m", "unittest", "-v", *(case for module in part(number, parts) for case in cases(module))],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=1700,
    )
    print("\n" + result.stdout.decode("utf-8", "replace"), flush=True)
    test.assertEqual(result.returncode, 0, "failures are listed above")


if __name__ == "__main__":
    print(*modules())
