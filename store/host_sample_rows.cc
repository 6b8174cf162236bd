// SPDX-License-Identifier: Apache-2.0
#include "store/host_sample_rows.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

namespace xlatrace::store {
namespace {

using model::Id;

std::optional<int64_t> NonZeroId(int64_t value) {
  return value == 0 ? std::nullopt : std::optional<int64_t>(value);
}

Status InsertNumbers(Statement& row, std::initializer_list<int64_t> values) {
  int column = 0;
  for (const int64_t value : values) row.BindInt64(column++, value);
  return row.Run();
}

template <typename Enum>
std::string WordOf(std::string_view expression) {
  std::string sql = fmt::format("CASE {}", expression);
  size_t value = 0;
  for (const std::string_view text : model::Texts<Enum>()) {
    sql += fmt::format(" WHEN {} THEN '{}'", value++, text);
  }
  return sql + " END";
}

Status WriteStacks(Database& database, const model::HostSampleTables& tables) {
  XLATRACE_ASSIGN(Statement row, database.Prepare("INSERT INTO x_host_frame VALUES(?,?,?,?,?)"));
  Id id = 0;
  for (const model::HostFrame& frame : tables.frames) {
    row.BindInt64(0, ++id);
    row.BindTextOrNull(1, frame.file);
    row.BindOptional(2, NonZeroId(frame.line));
    row.BindTextOrNull(3, frame.function);
    row.BindInt64(4, frame.is_user ? 1 : 0);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_host_stack VALUES(?,?,?,?)"));
  id = 0;
  for (const model::HostStack& stack : tables.stacks) {
    row.BindInt64(0, ++id);
    row.BindOptional(1, NonZeroId(stack.parent_id));
    row.BindInt64(2, stack.frame_id);
    row.BindOptional(3, NonZeroId(stack.user_frame_id));
    XLATRACE_TRY(row.Run());
  }
  return {};
}

}  // namespace

std::string HostTablesSql() {
  return R"sql(
CREATE TABLE x_host_frame(frame_id INTEGER PRIMARY KEY, file TEXT, line INT, function TEXT,
  is_user INT NOT NULL);
CREATE TABLE x_host_stack(stack_id INTEGER PRIMARY KEY, parent_id INT, frame_id INT NOT NULL,
  user_frame_id INT);
CREATE TABLE x_host_sample(process_id INT NOT NULL, thread_id INT NOT NULL, time_ns INT NOT NULL,
  last_ns INT NOT NULL, until_ns INT NOT NULL, stack_id INT, state INT NOT NULL,
  cpu_ns INT NOT NULL, gil_wait_ns INT NOT NULL);
CREATE TABLE x_thread_use(process_id INT NOT NULL, thread_id INT NOT NULL, start_ns INT NOT NULL,
  end_ns INT NOT NULL, cpu_ns INT NOT NULL, run_delay_ns INT NOT NULL,
  voluntary_switches INT NOT NULL, involuntary_switches INT NOT NULL, page_faults INT NOT NULL,
  read_bytes INT NOT NULL);
CREATE TABLE x_machine_use(process_id INT NOT NULL, start_ns INT NOT NULL, end_ns INT NOT NULL,
  busy_ns INT NOT NULL, process_ns INT NOT NULL, cpus INT NOT NULL);
CREATE TABLE x_python_collection(process_id INT NOT NULL, start_ns INT NOT NULL,
  end_ns INT NOT NULL, generation INT NOT NULL);
CREATE TABLE x_gap_stack(device_id INT NOT NULL, part INT NOT NULL, kind INT NOT NULL,
  stack_id INT, ns INT NOT NULL);
)sql";
}

std::string HostViewsSql() {
  return fmt::format(
      R"sql(
CREATE VIEW host_sample AS SELECT s.process_id, s.thread_id, s.time_ns, s.last_ns, s.until_ns,
  s.stack_id, f.function, f.file, f.line, {state} AS state, s.cpu_ns, s.gil_wait_ns
  FROM x_host_sample s LEFT JOIN x_host_stack k USING (stack_id)
  LEFT JOIN x_host_frame f ON f.frame_id = k.user_frame_id;
CREATE VIEW host_frame AS WITH RECURSIVE up(stack_id, depth, parent_id, frame_id) AS
  (SELECT stack_id, 0, parent_id, frame_id FROM x_host_stack UNION ALL
  SELECT up.stack_id, up.depth + 1, k.parent_id, k.frame_id FROM up
  JOIN x_host_stack k ON k.stack_id = up.parent_id)
  SELECT up.stack_id, up.depth, f.file, f.line, f.function, f.is_user,
  up.frame_id = s.user_frame_id AS is_source
  FROM up JOIN x_host_frame f USING (frame_id) JOIN x_host_stack s ON s.stack_id = up.stack_id;
CREATE VIEW thread_use AS SELECT process_id, thread_id, start_ns, end_ns, cpu_ns, run_delay_ns,
  voluntary_switches, involuntary_switches, page_faults, read_bytes FROM x_thread_use;
CREATE VIEW machine_use AS SELECT process_id, start_ns, end_ns, busy_ns, process_ns, cpus
  FROM x_machine_use;
CREATE VIEW python_collection AS SELECT process_id, start_ns, end_ns, generation
  FROM x_python_collection;
CREATE VIEW gap_stack AS SELECT g.device_id, {part} AS part, {kind} AS kind, g.stack_id, f.function,
  f.file, f.line, g.ns FROM x_gap_stack g LEFT JOIN x_host_stack k USING (stack_id)
  LEFT JOIN x_host_frame f ON f.frame_id = k.user_frame_id;
)sql",
      fmt::arg("state", WordOf<model::ThreadState>("s.state")),
      fmt::arg("part", WordOf<model::TreeKind>("g.part")),
      fmt::arg("kind", WordOf<model::TreeKind>("g.kind")));
}

Status WriteHostSamples(Database& database, const model::HostSampleTables& tables) {
  XLATRACE_TRY(WriteStacks(database, tables));
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_host_sample VALUES(?,?,?,?,?,?,?,?,?)"));
  for (const model::HostSample& sample : tables.samples) {
    row.BindInt64(0, sample.process_id);
    row.BindInt64(1, sample.thread_id);
    row.BindInt64(2, sample.time_ns);
    row.BindInt64(3, sample.last_ns);
    row.BindInt64(4, sample.until_ns);
    row.BindOptional(5, NonZeroId(sample.stack_id));
    row.BindInt64(6, static_cast<int64_t>(sample.state));
    row.BindInt64(7, sample.cpu_ns);
    row.BindInt64(8, sample.gil_wait_ns);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_thread_use VALUES(?,?,?,?,?,?,?,?,?,?)"));
  for (const model::ThreadUse& use : tables.thread_use) {
    XLATRACE_TRY(InsertNumbers(
        row, {use.process_id, use.thread_id, use.start_ns, use.end_ns, use.cpu_ns, use.run_delay_ns,
              use.voluntary_switches, use.involuntary_switches, use.page_faults, use.read_bytes}));
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_machine_use VALUES(?,?,?,?,?,?)"));
  for (const model::MachineUse& use : tables.machine_use) {
    XLATRACE_TRY(InsertNumbers(
        row, {use.process_id, use.start_ns, use.end_ns, use.busy_ns, use.process_ns, use.cpus}));
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_python_collection VALUES(?,?,?,?)"));
  for (const model::Collection& collection : tables.collections) {
    XLATRACE_TRY(InsertNumbers(row, {collection.process_id, collection.start_ns, collection.end_ns,
                                     collection.generation}));
  }
  return {};
}

Status WriteGapStacks(Database& database, const std::vector<model::GapStackRow>& rows) {
  XLATRACE_ASSIGN(Statement row, database.Prepare("INSERT INTO x_gap_stack VALUES(?,?,?,?,?)"));
  for (const model::GapStackRow& gap : rows) {
    row.BindInt64(0, gap.device_id);
    row.BindInt64(1, static_cast<int64_t>(gap.part));
    row.BindInt64(2, static_cast<int64_t>(gap.kind));
    row.BindOptional(3, NonZeroId(gap.stack_id));
    row.BindInt64(4, gap.ns);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Result<model::HostSampleTables> ReadHostSamples(RunDb& db) {
  model::HostSampleTables tables;
  const auto each = [&](std::string_view sql, auto on) {
    return db.ForEach(sql, [&](const Statement& row) {
      on(row);
      return true;
    });
  };
  const auto text = [](const Statement& row, int column) {
    return row.IsNull(column) ? std::string() : std::string(row.Text(column));
  };
  XLATRACE_TRY(each("SELECT function, file, line, is_user FROM x_host_frame ORDER BY frame_id",
                    [&](const Statement& row) {
                      tables.frames.push_back({text(row, 0), text(row, 1),
                                               row.IsNull(2) ? 0 : row.Int64(2),
                                               row.Int64(3) != 0});
                    }));
  XLATRACE_TRY(
      each("SELECT coalesce(parent_id, 0), frame_id, coalesce(user_frame_id, 0) "
           "FROM x_host_stack ORDER BY stack_id",
           [&](const Statement& row) {
             tables.stacks.push_back({row.Int64(0), row.Int64(1), row.Int64(2)});
           }));
  const auto states = static_cast<int64_t>(model::Texts<model::ThreadState>().size());
  XLATRACE_TRY(each(
      "SELECT process_id, thread_id, time_ns, last_ns, until_ns, "
      "coalesce(stack_id, 0), state, cpu_ns, gil_wait_ns FROM x_host_sample "
      "ORDER BY rowid",
      [&](const Statement& row) {
        const int64_t state = std::clamp<int64_t>(row.Int64(6), 0, states - 1);
        tables.samples.push_back(
            {row.Int64(0), row.Int64(1), row.Int64(2), row.Int64(3), row.Int64(4), row.Int64(5),
             static_cast<model::ThreadState>(state), row.Int64(7), row.Int64(8)});
      }));
  XLATRACE_TRY(each("SELECT * FROM x_thread_use ORDER BY rowid", [&](const Statement& row) {
    tables.thread_use.push_back({row.Int64(0), row.Int64(1), row.Int64(2), row.Int64(3),
                                 row.Int64(4), row.Int64(5), row.Int64(6), row.Int64(7),
                                 row.Int64(8), row.Int64(9)});
  }));
  XLATRACE_TRY(each("SELECT * FROM x_machine_use ORDER BY rowid", [&](const Statement& row) {
    tables.machine_use.push_back(
        {row.Int64(0), row.Int64(1), row.Int64(2), row.Int64(3), row.Int64(4), row.Int64(5)});
  }));
  XLATRACE_TRY(each("SELECT * FROM x_python_collection ORDER BY rowid", [&](const Statement& row) {
    tables.collections.push_back({row.Int64(0), row.Int64(1), row.Int64(2), row.Int64(3)});
  }));
  return tables;
}

}  // namespace xlatrace::store
