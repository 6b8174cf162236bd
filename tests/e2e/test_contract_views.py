# SPDX-License-Identifier: Apache-2.0
"""docs/schema.md, sentence by sentence, on every real recording."""

import bisect
import json
import unittest

import support
from contract import CLOSED, COLUMNS, KEYS, NSIGHT, UNIQUE


class ContractViews(support.OneRecording):
    def rows(self, sql, *arguments):
        return self.database.execute(sql, arguments).fetchall()

    def value(self, sql, *arguments):
        return self.rows(sql, *arguments)[0][0]

    def assert_no_rows(self, sql, message=""):
        rows = self.rows(sql)
        shown = [dict(row) for row in rows[:3]]
        self.assertEqual(len(rows), 0, f"{message}: {len(rows)} rows, as {shown}\n{sql}")

    def columns(self, view):
        return [row["name"] for row in self.rows(f'PRAGMA table_info("{view}")')]

    # --- shape ---

    def test_every_view_and_column_exists(self):
        views = {row[0] for row in self.rows("SELECT name FROM sqlite_master WHERE type='view'")}
        self.assertEqual(sorted(set(COLUMNS) | set(NSIGHT)), sorted(views & (set(COLUMNS) | set(NSIGHT))))
        for view, columns in COLUMNS.items():
            with self.subTest(view=view):
                self.assertEqual([c for c in columns if c not in self.columns(view)], [])

    def test_every_view_can_be_read_with_sqlite_and_with_query(self):
        for view in list(COLUMNS) + list(NSIGHT):
            with self.subTest(view=view):
                own = self.value(f'SELECT count(*) FROM "{view}"')
                rows = support.query(self.path, f'SELECT count(*) AS n FROM "{view}"')
                self.assertEqual(rows, [{"n": own}])

    def test_query_gives_the_same_rows(self):
        for view in ("activity", "op_time", "step_part", "busy_time", "module", "run_info"):
            with self.subTest(view=view):
                sql = f'SELECT * FROM "{view}" ORDER BY 1, 2, 3 LIMIT 50'
                if view == "run_info":
                    sql = "SELECT * FROM run_info ORDER BY 1, 2"
                self.assertEqual(support.query(self.path, sql), [dict(row) for row in self.rows(sql)])

    def test_user_version_is_the_schema_version(self):
        self.assertGreater(self.value("PRAGMA user_version"), 0)

    def test_run_info_has_the_required_keys(self):
        info = {row["key"]: row["value"] for row in self.rows("SELECT * FROM run_info")}
        for key in ("source", "granularity", "tool_version", "start_unix_ns"):
            self.assertIn(key, info)
        self.assertIn(info["granularity"], ("kernel", "op", "range"))
        self.assertTrue(str(info["start_unix_ns"]).isdigit(), info["start_unix_ns"])

    # --- NULL, types, lists, ids ---

    def test_no_empty_text_and_no_minus_one(self):
        for view in COLUMNS:
            for column in self.columns(view):
                with self.subTest(view=view, column=column):
                    count = self.value(f"SELECT count(*) FROM \"{view}\" WHERE \"{column}\" = ''")
                    self.assertEqual(count, 0, f"{view}.{column} is ''")
                    if column.endswith("_id") or column in ("source_line", "program_id", "step", "pid", "bytes", "flops"):
                        if column not in ("correlation_id", "program_id"):
                            count = self.value(f'SELECT count(*) FROM "{view}" WHERE "{column}" = -1')
                            self.assertEqual(count, 0, f"{view}.{column} is -1")

    def test_source_line_is_not_zero(self):
        for view in ("activity", "instruction", "instruction_share", "op_time", "scope_time"):
            self.assert_no_rows(f"SELECT * FROM {view} WHERE source_line <= 0", view)

    def test_source_line_has_a_file(self):
        for view in ("activity", "instruction", "instruction_share", "op_time", "scope_time"):
            self.assert_no_rows(
                f"SELECT * FROM {view} WHERE source_line IS NOT NULL AND source_file IS NULL", view
            )

    def test_times_are_integers(self):
        for view in COLUMNS:
            for column in self.columns(view):
                if column.endswith("_ns") and column not in ("average_ns",):
                    with self.subTest(view=view, column=column):
                        self.assert_no_rows(
                            f'SELECT "{column}" FROM "{view}" WHERE typeof("{column}") NOT IN (\'integer\', \'null\')'
                        )

    def test_average_is_an_integer(self):
        self.assert_no_rows("SELECT average_ns FROM op_time WHERE typeof(average_ns) != 'integer'")

    def test_required_columns_have_values(self):
        for column in (
            "activity_id,kind,process_id,device_id,start_ns,end_ns,duration_ns,self_ns,origin,"
            "confidence,phase,op_kind,name"
        ).split(","):
            with self.subTest(column=column):
                self.assert_no_rows(f"SELECT * FROM activity WHERE {column} IS NULL")

    def test_values_of_closed_lists_are_known(self):
        for (view, column), allowed in CLOSED.items():
            with self.subTest(view=view, column=column):
                seen = {row[0] for row in self.rows(f'SELECT DISTINCT "{column}" FROM "{view}"')}
                self.assertLessEqual(seen - {None}, allowed)

    def test_ids_are_unique(self):
        for view, columns in UNIQUE.items():
            with self.subTest(view=view):
                self.assert_no_rows(
                    f'SELECT {columns}, count(*) AS n FROM "{view}" GROUP BY {columns} HAVING n > 1'
                )

    def test_every_key_refers_to_a_row(self):
        for (view, column), (target, key) in KEYS.items():
            with self.subTest(view=view, column=column):
                self.assert_no_rows(
                    f'SELECT "{column}" FROM "{view}" WHERE "{column}" IS NOT NULL AND "{column}" '
                    f'NOT IN (SELECT "{key}" FROM "{target}")'
                )

    def test_names_beside_ids_agree(self):
        self.assert_no_rows(
            "SELECT * FROM activity a JOIN module m USING (module_id) "
            "WHERE a.module IS NOT m.name OR a.program_id IS NOT m.program_id"
        )
        self.assert_no_rows(
            "SELECT * FROM activity a JOIN device d USING (device_id) WHERE a.process_id != d.process_id"
        )
        self.assert_no_rows(
            "SELECT * FROM activity a JOIN execution e USING (execution_id) "
            "WHERE a.module_id IS NOT e.module_id OR a.device_id != e.device_id"
        )
        self.assert_no_rows(
            "SELECT * FROM activity a JOIN module m USING (module_id) WHERE a.process_id != m.process_id"
        )
        self.assert_no_rows(
            "SELECT * FROM activity a LEFT JOIN stream s ON s.device_id = a.device_id AND "
            "s.stream_id = a.stream_id WHERE a.stream_id IS NOT NULL AND s.stream_id IS NULL"
        )

    # --- attribution ---

    def test_confidence_none_has_no_instruction_but_a_reason(self):
        self.assert_no_rows(
            "SELECT * FROM activity WHERE NOT ((confidence = 'none') = (instruction IS NULL AND "
            "evidence IS NOT 'op_range') AND (confidence = 'none') = (unattributed_reason IS NOT NULL))"
        )
        self.assert_no_rows(
            "SELECT * FROM op_time WHERE (confidence = 'none') != (op IS NULL)"
        )

    def test_labels_have_evidence_and_module(self):
        self.assert_no_rows(
            "SELECT * FROM activity WHERE instruction IS NOT NULL AND (evidence IS NULL OR module_id IS NULL)"
        )

    def test_exact_rows_have_module_execution_and_instruction(self):
        self.assert_no_rows(
            "SELECT * FROM activity WHERE confidence = 'exact' AND "
            "(module_id IS NULL OR execution_id IS NULL OR instruction IS NULL) AND "
            "NOT (evidence = 'op_range' AND op_name IS NOT NULL AND op_type IS NOT NULL)"
        )

    def test_instruction_exists_in_its_module(self):
        for view in ("activity", "op_time", "instruction_share", "activity_share"):
            with self.subTest(view=view):
                self.assert_no_rows(
                    f"SELECT v.module_id, v.instruction FROM {view} v LEFT JOIN instruction i ON "
                    "i.module_id = v.module_id AND i.instruction = v.instruction "
                    "WHERE v.instruction IS NOT NULL AND i.instruction IS NULL"
                )

    def test_activity_repeats_its_instruction(self):
        for column in ("op_name", "source_file", "source_line", "phase", "layer", "layer_group",
                       "mixed", "category", "op_kind", "op_type"):  # fmt: skip
            with self.subTest(column=column):
                self.assert_no_rows(
                    f"SELECT a.activity_id, a.instruction, a.{column} AS activity, i.{column} AS instruction_ "
                    "FROM activity a JOIN instruction i USING (module_id, instruction) "
                    f"WHERE a.kind != 'graph' AND a.{column} IS NOT i.{column}"
                )

    def test_shares_of_an_instruction_sum_to_one(self):
        shares = {}
        for row in self.rows("SELECT module_id, instruction, share FROM instruction_share"):
            self.assertGreater(row["share"], 0)
            self.assertLessEqual(row["share"], 1)
            shares.setdefault((row[0], row[1]), []).append(row["share"])
        for key, values in shares.items():
            self.assertAlmostEqual(sum(values), 1, delta=1e-9, msg=str(tuple(key)))
        labelled = {
            (row[0], row[1])
            for row in self.rows(
                "SELECT DISTINCT module_id, instruction FROM activity WHERE instruction IS NOT NULL"
            )
        }
        self.assertEqual(sorted(labelled - set(shares)), [], "no share for what has time")

    def test_mixed_means_several_shares(self):
        for column in ("phase", "layer", "op_name"):
            self.assert_no_rows(
                f"SELECT i.module_id, i.instruction, count(DISTINCT ifnull(s.{column}, '')) AS n "
                "FROM instruction i JOIN instruction_share s USING (module_id, instruction) "
                "WHERE i.mixed = 0 GROUP BY 1, 2 HAVING n > 1",
                column,
            )
        self.assert_no_rows(
            "SELECT i.module_id, i.instruction, count(*) AS n FROM instruction i "
            "JOIN instruction_share s USING (module_id, instruction) WHERE i.mixed = 1 "
            "GROUP BY 1, 2 HAVING count(DISTINCT ifnull(s.phase, '')) = 1 "
            "AND count(DISTINCT ifnull(s.layer, '')) = 1 AND count(DISTINCT ifnull(s.op_name, '')) = 1",
            "mixed without others",
        )

    def test_single_phase_is_the_largest_share(self):
        best = {}
        for row in self.rows(
            "SELECT module_id, instruction, phase, sum(share) AS share FROM instruction_share GROUP BY 1, 2, 3"
        ):
            best.setdefault((row[0], row[1]), {})[row["phase"]] = row["share"]
        wrong = []
        for row in self.rows("SELECT module_id, instruction, phase FROM instruction"):
            shares = best.get((row[0], row[1]))
            if shares and shares.get(row["phase"], 0) < max(shares.values()) - 1e-6:
                wrong.append((tuple(row), shares))
        self.assertEqual(wrong[:3], [], f"{len(wrong)} instructions")

    # --- time ---

    def test_duration_is_end_minus_start(self):
        self.assert_no_rows("SELECT * FROM activity WHERE end_ns - start_ns != duration_ns")
        self.assert_no_rows("SELECT * FROM activity WHERE self_ns < 0 OR self_ns > duration_ns")

    def test_earlier_kernel_of_a_stream_owns_the_overlap(self):
        ends = {}
        for row in self.rows(
            "SELECT * FROM activity WHERE kind IN ('kernel', 'memcpy', 'memset') ORDER BY start_ns, activity_id"
        ):
            stream = (row["device_id"], row["context_id"], row["stream_id"])
            own_from = max(row["start_ns"], ends.get(stream, 0))
            if row["self_ns"] != row["duration_ns"]:
                self.assertEqual(row["self_ns"], max(0, row["end_ns"] - own_from), dict(row))
            ends[stream] = max(row["end_ns"], ends.get(stream, 0))

    def test_sums_are_device_time(self):
        total = self.value("SELECT sum(self_ns) FROM activity")
        self.assertEqual(self.value("SELECT sum(self_ns) FROM op_time"), total, "op_time")
        self.assertEqual(self.value("SELECT sum(self_ns) FROM scope_time"), total, "scope_time")
        self.assertEqual(self.value("SELECT sum(self_ns) FROM phase_time"), total, "phase_time")

    def test_sums_per_device_equal_device_time(self):
        for row in self.rows("SELECT device_id, sum(self_ns) AS ns FROM activity GROUP BY 1"):
            self.assertEqual(
                self.value("SELECT sum(self_ns) FROM phase_time WHERE device_id = ?", row[0]), row["ns"]
            )

    def test_sums_per_device_and_step_equal_device_time(self):
        own = self.rows("SELECT device_id, step, sum(self_ns) FROM activity GROUP BY 1, 2")
        view = self.rows("SELECT device_id, step, sum(self_ns) FROM phase_time GROUP BY 1, 2")
        self.assertEqual(sorted(map(repr, map(tuple, own))), sorted(map(repr, map(tuple, view))))

    def test_phase_sums_agree_between_views(self):
        scope = dict(map(tuple, self.rows("SELECT phase, sum(self_ns) FROM scope_time GROUP BY 1")))
        phase = dict(map(tuple, self.rows("SELECT phase, sum(self_ns) FROM phase_time GROUP BY 1")))
        # Each is rounded by largest remainder on its own rows: equal up to a nanosecond per row.
        rows = self.value("SELECT count(*) FROM activity")
        for name in set(scope) | set(phase):
            self.assertAlmostEqual(scope.get(name, 0), phase.get(name, 0), delta=rows, msg=name)

    def test_phase_time_is_self_times_share(self):
        own = dict(
            map(
                tuple,
                self.rows(
                    "WITH p AS (SELECT module_id, instruction, phase, sum(share) AS share "
                    "FROM instruction_share GROUP BY 1, 2, 3) "
                    "SELECT ifnull(p.phase, a.phase) AS phase, sum(a.self_ns * ifnull(p.share, 1)) "
                    "FROM activity a LEFT JOIN p USING (module_id, instruction) GROUP BY 1"
                ),
            )
        )
        view = dict(map(tuple, self.rows("SELECT phase, sum(self_ns) FROM phase_time GROUP BY 1")))
        rows = self.value("SELECT count(*) FROM activity")
        for name in set(own) | set(view):
            self.assertAlmostEqual(own.get(name, 0), view.get(name, 0), delta=rows + 1, msg=name)

    def test_estimated_time_is_part_of_the_time(self):
        for view in ("scope_time", "phase_time"):
            self.assert_no_rows(f"SELECT * FROM {view} WHERE estimated_ns < 0 OR estimated_ns > self_ns", view)

    def test_op_time_equals_the_time_of_its_instruction(self):
        own = {
            (row[0], row[1]): tuple(row)[2:]
            for row in self.rows(
                "SELECT module_id, instruction, count(*), sum(duration_ns), sum(self_ns), "
                "min(duration_ns), max(duration_ns) FROM activity WHERE instruction IS NOT NULL "
                "AND kind != 'graph' GROUP BY 1, 2"
            )
        }
        view = {
            (row[0], row[1]): tuple(row)[2:]
            for row in self.rows(
                "SELECT module_id, instruction, occurrences, total_ns, self_ns, min_ns, max_ns "
                "FROM op_time WHERE instruction IS NOT NULL"
            )
        }
        self.assertEqual(set(own), set(view))
        for key, (count, total, self_ns, shortest, longest) in own.items():
            # Where one occurrence is several kernels, occurrences and extremes are those of groups.
            occurrences = view[key][0]
            self.assertEqual(view[key][1:3], (total, self_ns), key)
            if occurrences == count:
                self.assertEqual(view[key][3:], (shortest, longest), key)
            else:
                self.assertEqual(count % occurrences, 0, key)
                self.assertLessEqual(shortest, view[key][3], key)
                self.assertGreaterEqual(view[key][4], longest, key)

    def test_op_time_has_one_row_per_instruction(self):
        self.assert_no_rows(
            "SELECT module_id, instruction, count(*) AS n FROM op_time WHERE instruction IS NOT NULL "
            "GROUP BY 1, 2 HAVING n > 1"
        )

    def test_figures_of_op_time_are_consistent(self):
        self.assert_no_rows(
            "SELECT instruction, average_ns, min_ns, max_ns FROM op_time "
            "WHERE average_ns < min_ns OR average_ns > max_ns"
        )
        self.assert_no_rows("SELECT * FROM op_time WHERE steady_ns > self_ns OR steady_ns < 0")
        total = self.value("SELECT sum(self_pct) FROM op_time")
        self.assertAlmostEqual(total, 100, delta=0.1)

    def test_unlabelled_time_is_in_op_time(self):
        self.assertEqual(
            self.value("SELECT ifnull(sum(self_ns), 0) FROM activity WHERE instruction IS NULL"),
            self.value("SELECT ifnull(sum(self_ns), 0) FROM op_time WHERE instruction IS NULL"),
        )

    def test_launch_is_the_kernels_or_the_finest_rows(self):
        kinds = {row[0] for row in self.rows("SELECT DISTINCT kind FROM activity")}
        wanted = "kind = 'kernel'" if "kernel" in kinds else "kind IN ('op', 'range')"
        self.assertEqual(
            [row[0] for row in self.rows("SELECT launch_id FROM launch ORDER BY 1")],
            [row[0] for row in self.rows(f"SELECT activity_id FROM activity WHERE {wanted} ORDER BY 1")],
        )

    def intervals(self, device, where="1"):
        return [
            (row[0], row[1])
            for row in self.rows(
                f"SELECT start_ns, end_ns FROM activity WHERE device_id = ? AND {where} ORDER BY 1, 2",
                device,
            )
        ]

    def test_busy_time_equals_the_union_of_activities(self):
        devices = [row[0] for row in self.rows("SELECT DISTINCT device_id FROM activity")]
        rows = {row["device_id"]: row for row in self.rows("SELECT * FROM busy_time")}
        self.assertEqual(sorted(devices), sorted(rows))
        for device in devices:
            with self.subTest(device=device):
                row = rows[device]
                spans = self.intervals(device)
                self.assertEqual(row["busy_ns"], support.union(spans), "busy_ns is the union of intervals")
                self.assertEqual(row["start_ns"], min(start for start, _ in spans))
                self.assertEqual(row["end_ns"], max(end for _, end in spans))
                self.assertEqual(row["idle_ns"], row["end_ns"] - row["start_ns"] - row["busy_ns"])
                device_ns = self.value("SELECT sum(self_ns) FROM activity WHERE device_id = ?", device)
                self.assertEqual(row["overlap_ns"], device_ns - row["busy_ns"], "overlap_ns")
                for part in ("compute_ns", "collective_ns", "copy_ns", "steady_busy_ns"):
                    self.assertTrue(row[part] is None or 0 <= row[part] <= row["busy_ns"], part)
                self.assertLessEqual(row["exposed_collective_ns"], row["collective_ns"])
                self.assertLessEqual(row["exposed_copy_ns"], row["copy_ns"])
                self.assertEqual(
                    row["compute_ns"] + row["exposed_collective_ns"] + row["exposed_copy_ns"], row["busy_ns"]
                )

    def test_gaps_equal_the_holes_between_activities(self):
        for device in {row[0] for row in self.rows("SELECT device_id FROM busy_time")}:
            own = [gap for gap in holes(self.intervals(device)) if gap[1] - gap[0] >= 1000]
            view = [
                tuple(row)
                for row in self.rows(
                    "SELECT start_ns, end_ns FROM gap WHERE device_id = ? ORDER BY 1", device
                )
            ]
            self.assertEqual(own, view)
        self.assert_no_rows(
            "SELECT * FROM gap g JOIN activity a ON a.activity_id = g.previous_activity_id "
            "WHERE a.end_ns != g.start_ns OR a.device_id != g.device_id"
        )
        self.assert_no_rows(
            "SELECT * FROM gap g JOIN activity a ON a.activity_id = g.next_activity_id "
            "WHERE a.start_ns != g.end_ns OR a.device_id != g.device_id"
        )

    def test_launch_queue_equals_its_definition(self):
        calls = {
            row[0]: (row[1], row[2]) for row in self.rows("SELECT api_call_id, start_ns, end_ns FROM api_call")
        }
        steady = {tuple(row) for row in self.rows("SELECT device_id, step FROM step WHERE typical")}
        launches = {}  # device -> call -> start of its first activity, end of its last, steady
        for device, call, start, end, step in self.rows(
            "SELECT device_id, api_call_id, start_ns, end_ns, step FROM activity "
            "WHERE api_call_id IS NOT NULL AND start_ns IS NOT NULL AND end_ns IS NOT NULL"
        ):
            first, last, counts = launches.setdefault(device, {}).get(call, (start, end, False))
            launches[device][call] = (
                min(first, start),
                max(last, end),
                counts or (device, step) in steady,
            )
        view = {row["device_id"]: row for row in self.rows("SELECT * FROM launch_queue")}
        expected = {}
        for device, of_device in launches.items():
            early = sum(first < calls[call][0] for call, (first, _, _) in of_device.items())
            if 20 * early <= len(of_device):
                expected[device] = of_device
        self.assertEqual(sorted(expected), sorted(view))
        for device, of_device in expected.items():
            with self.subTest(device=device):
                row = view[device]
                any_steady = any(counts for _, _, counts in of_device.values())
                self.assertEqual(bool(row["steady"]), any_steady)
                starts = sorted(calls[call][0] for call in of_device)
                ends = sorted(last for _, last, _ in of_device.values())
                latency, queued, outstanding = [], [], []
                for call, (first, _, counts) in of_device.items():
                    if any_steady and not counts:
                        continue
                    called, returned = calls[call]
                    latency.append(max(0, first - called))
                    queued.append(max(0, latency[-1] - (returned - called)))
                    before = bisect.bisect_left(starts, called) - bisect.bisect_right(ends, called)
                    outstanding.append(max(0, before))
                self.assertEqual(row["calls"], len(latency))
                self.assertEqual(row["calls_on_idle"], outstanding.count(0))
                for column, values in (
                    ("latency_p50_ns", latency),
                    ("queued_p50_ns", queued),
                    ("outstanding_p50", outstanding),
                ):
                    self.assertEqual(row[column], sorted(values)[(len(values) - 1) // 2], column)
                for column, values in (("latency_p90_ns", latency), ("outstanding_p90", outstanding)):
                    self.assertEqual(row[column], sorted(values)[(len(values) - 1) * 90 // 100], column)
                self.assertEqual(row["outstanding_max"], max(outstanding))

    # --- executions and steps ---

    def test_executions_contain_their_activities(self):
        self.assert_no_rows(
            "SELECT e.execution_id, e.start_ns, e.end_ns, min(a.start_ns) AS first, max(a.end_ns) AS last "
            "FROM execution e JOIN activity a USING (execution_id) GROUP BY 1 "
            "HAVING first < e.start_ns OR last > e.end_ns"
        )
        self.assert_no_rows(
            "SELECT e.execution_id, e.activities, count(a.activity_id) AS n FROM execution e "
            "LEFT JOIN activity a USING (execution_id) GROUP BY 1 HAVING n != e.activities"
        )

    def test_step_parts_sum_to_the_step(self):
        self.assert_no_rows(
            "SELECT s.device_id, s.step, s.end_ns - s.start_ns AS duration, sum(p.wall_ns) AS parts "
            "FROM step s LEFT JOIN step_part p USING (device_id, step) GROUP BY 1, 2 "
            "HAVING parts IS NOT duration"
        )
        self.assert_no_rows("SELECT * FROM step_part WHERE wall_ns < 0")
        self.assert_no_rows(
            "SELECT * FROM step_part p LEFT JOIN step s USING (device_id, step) WHERE s.step IS NULL"
        )

    def test_steps_follow_each_other(self):
        for device in {row[0] for row in self.rows("SELECT device_id FROM step")}:
            steps = self.rows("SELECT * FROM step WHERE device_id = ? ORDER BY step", device)
            for before, after in zip(steps, steps[1:]):
                self.assertLess(before["start_ns"], after["start_ns"])
                self.assertLessEqual(before["end_ns"], after["start_ns"])

    def test_figures_of_steps_equal_their_definition(self):
        for row in self.rows("SELECT * FROM step"):
            duration = row["end_ns"] - row["start_ns"]
            self.assertGreater(duration, 0)
            self.assertLessEqual(row["busy_ns"], duration)
            inside = [
                (max(start, row["start_ns"]), min(end, row["end_ns"]))
                for start, end in self.intervals(row["device_id"])
                if end > row["start_ns"] and start < row["end_ns"]
            ]
            self.assertEqual(row["busy_ns"], support.union(inside), f"step {row['step']}")
            self.assertEqual(
                row["device_ns"],
                self.value(
                    "SELECT sum(self_ns) FROM activity WHERE device_id = ? AND step = ?",
                    row["device_id"],
                    row["step"],
                ),
            )
            idle = self.value(
                "SELECT ifnull(sum(wall_ns), 0) FROM step_part WHERE device_id = ? AND step = ? "
                "AND part = 'idle'",
                row["device_id"],
                row["step"],
            )
            self.assertEqual(idle, duration - row["busy_ns"], "idle")

    def test_activity_is_in_the_step_of_its_execution(self):
        self.assert_no_rows(
            "SELECT execution_id, count(DISTINCT ifnull(step, -1)) AS n FROM activity "
            "WHERE execution_id IS NOT NULL GROUP BY 1 HAVING n > 1"
        )
        self.assert_no_rows(
            "SELECT a.* FROM activity a LEFT JOIN step s ON s.device_id = a.device_id AND s.step = a.step "
            "WHERE a.step IS NOT NULL AND s.step IS NULL"
        )

    def test_module_flops_and_handles(self):
        self.assert_no_rows("SELECT * FROM module WHERE flops < 0 OR bytes < 0 OR instruction_count < 0")
        # Where there is HLO the cost model has looked at it: nothing in it takes no bytes at all.
        self.assert_no_rows(
            "SELECT * FROM module WHERE source != 'annotation' AND (flops IS NULL OR bytes IS NULL)")
        self.assert_no_rows(
            "SELECT m.module_id, m.instruction_count, count(*) AS n FROM module m JOIN instruction i "
            "USING (module_id) GROUP BY 1 HAVING n != m.instruction_count"
        )

    def test_findings_have_ordered_savings(self):
        for row in self.rows("SELECT * FROM finding"):
            evidence = json.loads(row["evidence"])
            self.assertIsInstance(evidence, list)
            self.assertLessEqual(row["saves_low_ns_per_step"] or 0, row["saves_high_ns_per_step"] or 0)

    def test_attributed_share_equals_run_info(self):
        self.assert_no_rows(
            "SELECT unattributed_reason, count(*) AS n FROM activity WHERE unattributed_reason = 'unknown' "
            "GROUP BY 1 HAVING n > 0.005 * (SELECT count(*) FROM activity)",
            "unknown is rare",
        )


def holes(intervals):
    found, edge = [], None
    for start, end in sorted(intervals):
        if edge is not None and start > edge:
            found.append((edge, start))
        edge = end if edge is None else max(edge, end)
    return found


class Elementwise(ContractViews, unittest.TestCase):
    recording = support.XPLANES[0]


class Gemm(ContractViews, unittest.TestCase):
    recording = support.XPLANES[1]


class Convolution(ContractViews, unittest.TestCase):
    recording = support.XPLANES[2]


class Tpu(ContractViews, unittest.TestCase):
    recording = support.XPLANES[3]


class Cpu(ContractViews, unittest.TestCase):
    recording = support.XPLANES[4]


class NsysH100(ContractViews, unittest.TestCase):
    recording = support.NSYS[0]


class NsysAfter(ContractViews, unittest.TestCase):
    recording = support.NSYS[1]


class NsysBefore(ContractViews, unittest.TestCase):
    recording = support.NSYS[2]


if __name__ == "__main__":
    unittest.main()
