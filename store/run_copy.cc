// SPDX-License-Identifier: Apache-2.0
#include "store/run_copy.h"

#include <unistd.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/byte_source.h"
#include "base/file.h"
#include "store/sqlite.h"

namespace xlatrace::store {
namespace {

constexpr size_t kCopyPieceBytes = size_t{1} << 20;
constexpr int kRowsAtOnce = 4096;

// Treatment of a text column. Other than renaming:
enum class Treatment { kKeep, kRename, kWord };

struct Column {
  std::string_view name;  // "table.column"
  Treatment treatment = Treatment::kKeep;
  TextKind kind = TextKind::kName;
  std::string_view word = {};  // kWord: the replacement of every value in a column without NULL.
};

constexpr Column Rename(std::string_view name, TextKind kind = TextKind::kName) {
  return {name, Treatment::kRename, kind};
}
constexpr Column Path(std::string_view name) { return Rename(name, TextKind::kPath); }

// Columns that are missing here are emptied. Kept columns hold closed vocabularies, shapes and
// properties of the hardware.
constexpr Column kColumns[] = {
    Rename("x_process.host"),
    Rename("x_process.name"),
    Rename("x_thread.name"),
    {"x_device.name"},
    Rename("x_device.uuid"),
    {"x_device.compute_capability"},
    Rename("x_lane.name"),
    Rename("x_hint.module_name"),
    Rename("x_hint.instruction"),
    Path("x_hint.op_name"),
    {"x_hint.category"},
    Path("x_hint.source_file"),
    Rename("x_module.name"),
    Rename("x_compile.name"),
    Path("x_compile.source_file"),
    Path("x_compile.function_file"),
    {"x_compile_detail.kind"},
    Rename("x_compile_detail.name"),
    Path("x_compile_detail.source_file"),
    {"x_run_stat.name"},
    Rename("x_module_facts.fingerprint"),
    Rename("x_module_facts.framework_function"),
    Rename("x_instruction.name"),
    Rename("x_instruction.computation"),
    {"x_instruction.opcode"},
    {"x_instruction.category"},
    {"x_instruction.shape"},
    Rename("x_instruction.operands", TextKind::kNameList),
    Path("x_instruction.op_name"),
    Rename("x_instruction.op_type"),
    Path("x_instruction.layer"),
    Path("x_instruction.layer_group"),
    {"x_instruction.fusion_kind"},
    Path("x_instruction_share.op_name"),
    Path("x_instruction_share.layer"),
    Path("x_instruction_share.layer_group"),
    Path("x_source_place.file"),
    Rename("x_source_place.function"),
    Path("x_label.op_name"),
    Rename("x_label.op_type"),
    {"x_op_time.bound_by"},
    {"x_op_time.compute_type"},
    {"x_op_time.occupancy_limiter"},
    Path("x_scope_time.op_name"),
    Path("x_scope_time.layer"),
    Path("x_scope_time.layer_group"),
    {"x_collective.op"},
    {"x_device_facts.gpu"},
    {"x_device_facts.peaks_source"},
    {"x_device_facts.compute_capability"},
    {"x_device_facts.peak_flops"},
    {"x_occupancy.limiter"},
    Rename("x_time_tree.name"),
    Path("x_time_tree.source_file"),
    Path("x_host_frame.file"),
    Rename("x_host_frame.function"),
    {"x_buffer.memory_space"},
    {"x_buffer.owner"},
    Rename("x_buffer.instruction"),
    {"x_buffer.shape_index"},
    {"x_buffer.shape"},
    {"x_finding.id"},
    {"x_finding.title", Treatment::kWord, TextKind::kName, "(left out of the shared copy)"},
    {"x_replay.withheld"},
    {"x_replay.assumptions"},
    {"x_finding.basis"},
    {"x_finding.confidence"},
    Rename("x_rank.host"),
    Path("x_rank.source"),
    Rename("x_rank.program"),
    Rename("x_job_collective.program"),
    Rename("x_job_collective.instruction"),
    {"x_job_collective.op"},
    Rename("x_job_path.from_program"),
    Rename("x_job_path.from_instruction"),
    Rename("x_job_path.to_program"),
    Rename("x_job_path.to_instruction"),
    {"x_ruled_out.id"},
    {"x_ruled_out.text", Treatment::kWord, TextKind::kName, "(left out of the shared copy)"},
    {"x_ruled_out.what", Treatment::kWord, TextKind::kName, "(left out of the shared copy)"},
};

// Keys of run_info without names.
constexpr std::string_view kKeptFacts[] = {"granularity",
                                           "tool_version",
                                           "start_unix_ns",
                                           "end_unix_ns",
                                           "end",
                                           "own_cost_ns",
                                           "mode",
                                           "driver",
                                           "cuda",
                                           "jax",
                                           "jaxlib",
                                           "tensorflow",
                                           "jaxlib_version",
                                           "jax_version",
                                           "tensorflow_version",
                                           "driver_version",
                                           "cuda_version",
                                           "cuda_driver_version"};

const Column* FindColumn(std::string_view name) {
  for (const Column& column : kColumns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

Result<std::vector<std::vector<std::string>>> TextRows(Database& db, std::string_view sql) {
  XLATRACE_ASSIGN(Statement row, db.Prepare(sql));
  std::vector<std::vector<std::string>> rows;
  while (true) {
    XLATRACE_ASSIGN(const bool more, row.Step());
    if (!more) return rows;
    auto& cells = rows.emplace_back();
    for (int i = 0; i < row.ColumnCount(); ++i) cells.emplace_back(row.Text(i));
  }
}

class TextRewriter {
 public:
  TextRewriter(Database& db, const RenameText& rename) : db_(db), rename_(rename) {}

  Status Run() {
    XLATRACE_ASSIGN(const auto tables,
                    TextRows(db_, "SELECT name, sql FROM sqlite_master WHERE type = 'table'"));
    XLATRACE_TRY(db_.Execute("BEGIN"));
    XLATRACE_TRY(RewriteStrings());
    XLATRACE_TRY(RewriteFacts());
    // These tables contain only sentences with names.
    XLATRACE_TRY(db_.Execute("DELETE FROM x_gap_evidence"));
    for (const auto& table : tables) {
      if (table[0] == "x_string" || table[0] == "x_run_info") continue;
      const bool has_rowid = table[1].find("WITHOUT ROWID") == std::string::npos;
      XLATRACE_TRY(RewriteTable(table[0], has_rowid));
    }
    return db_.Execute("COMMIT");
  }

 private:
  struct Wanted {
    std::string name;
    bool may_be_null;
  };

  Status RewriteTable(const std::string& table, bool has_rowid) {
    XLATRACE_ASSIGN(Statement info,
                    db_.Prepare(fmt::format(
                        "SELECT name, type, \"notnull\" FROM pragma_table_info('{}')", table)));
    std::vector<Wanted> wanted;
    while (true) {
      XLATRACE_ASSIGN(const bool more, info.Step());
      if (!more) break;
      const std::string_view type = info.Text(1);
      if (type == "TEXT" || type == "BLOB" || type.empty()) {
        wanted.push_back({std::string(info.Text(0)), info.Int64(2) == 0});
      }
    }
    if (has_rowid) return RewriteRows(table, wanted);
    for (const Wanted& w : wanted) XLATRACE_TRY(RewriteColumn(table, w));
    return {};
  }

  // Rewrites all columns of a row at once, so that a table of ten texts is read once.
  Status RewriteRows(const std::string& table, const std::vector<Wanted>& wanted) {
    std::string columns, sets;
    std::vector<const Column*> changed;
    std::vector<bool> may_be_null;
    for (const Wanted& w : wanted) {
      const Column* column = FindColumn(fmt::format("{}.{}", table, w.name));
      if (column != nullptr && column->treatment == Treatment::kKeep) continue;
      columns += fmt::format(", {}", w.name);
      sets += fmt::format("{}{} = ?{}", changed.empty() ? "" : ", ", w.name, changed.size() + 1);
      changed.push_back(column);
      may_be_null.push_back(w.may_be_null);
    }
    if (changed.empty()) return {};
    const int count = static_cast<int>(changed.size());
    XLATRACE_ASSIGN(
        Statement old,
        db_.Prepare(fmt::format("SELECT rowid{} FROM {} WHERE rowid > ?1 ORDER BY rowid LIMIT {}",
                                columns, table, kRowsAtOnce)));
    XLATRACE_ASSIGN(Statement update, db_.Prepare(fmt::format("UPDATE {} SET {} WHERE rowid = ?{}",
                                                              table, sets, count + 1)));
    // nullopt: NULL.
    using Texts = std::vector<std::optional<std::string>>;
    std::vector<std::pair<int64_t, Texts>> rows;
    int64_t last = std::numeric_limits<int64_t>::min();
    do {
      rows.clear();
      old.BindInt64(0, last);
      while (true) {
        XLATRACE_ASSIGN(const bool more, old.Step());
        if (!more) break;
        auto& [rowid, texts] = rows.emplace_back(old.Int64(0), Texts(changed.size()));
        for (int i = 0; i < count; ++i) {
          if (!old.IsNull(i + 1)) {
            texts[i] = InsteadOf(changed[i], old.Text(i + 1), may_be_null[i]);
          }
        }
      }
      old.Reset();
      for (const auto& [rowid, texts] : rows) {
        for (int i = 0; i < count; ++i) {
          if (texts[i]) {
            update.BindText(i, *texts[i]);
          } else {
            update.BindNull(i);
          }
        }
        update.BindInt64(count, rowid);
        XLATRACE_TRY(update.Run());
        last = rowid;
      }
    } while (!rows.empty());
    return {};
  }

  std::optional<std::string> InsteadOf(const Column* column, std::string_view text,
                                       bool may_be_null) const {
    if (column != nullptr && column->treatment == Treatment::kRename) {
      return text.empty() ? std::string() : rename_(column->kind, text);
    }
    const std::string_view word = column == nullptr ? std::string_view() : column->word;
    if (word.empty() && may_be_null) return std::nullopt;
    return std::string(word);
  }

  // For a table whose key contains its texts.
  Status RewriteColumn(const std::string& table, const Wanted& wanted) {
    const std::string& name = wanted.name;
    const Column* column = FindColumn(fmt::format("{}.{}", table, name));
    if (column != nullptr && column->treatment == Treatment::kKeep) return {};
    if (column == nullptr || column->treatment == Treatment::kWord) {
      const auto word = InsteadOf(column, {}, wanted.may_be_null);
      return db_.Execute(fmt::format("UPDATE {0} SET {1} = {2} WHERE {1} IS NOT NULL", table, name,
                                     word ? fmt::format("'{}'", *word) : "NULL"));
    }
    XLATRACE_ASSIGN(
        Statement old,
        db_.Prepare(fmt::format("SELECT DISTINCT {0} FROM {1} WHERE {0} <> ''", name, table)));
    std::vector<std::pair<std::string, std::string>> changes;
    while (true) {
      XLATRACE_ASSIGN(const bool more, old.Step());
      if (!more) break;
      const std::string_view text = old.Text(0);
      changes.emplace_back(text, rename_(column->kind, text));
    }
    XLATRACE_ASSIGN(Statement update, db_.Prepare(fmt::format(
                                          "UPDATE {0} SET {1} = ?1 WHERE {1} = ?2", table, name)));
    for (const auto& [before, after] : changes) {
      update.BindText(0, after);
      update.BindText(1, before);
      XLATRACE_TRY(update.Run());
    }
    return {};
  }

  // The treatment of a text in x_string depends on the tables that refer to it.
  Status RewriteStrings() {
    XLATRACE_ASSIGN(
        Statement row,
        db_.Prepare(
            "SELECT s.string_id, s.text,"
            " s.string_id IN (SELECT symbol_id FROM x_config UNION SELECT name_id FROM x_config"
            "  UNION SELECT demangled_id FROM x_config) AS kernel,"
            " s.string_id IN (SELECT name_id FROM x_call_kind) AS call,"
            " s.string_id IN (SELECT domain_id FROM x_range_kind) AS domain FROM x_string s"));
    std::vector<std::pair<int64_t, std::string>> changes;
    while (true) {
      XLATRACE_ASSIGN(const bool more, row.Step());
      if (!more) break;
      const std::string_view text = row.Text(1);
      std::string instead = "range";
      if (row.Int64(2) != 0) {
        instead = rename_(TextKind::kKernel, text);
      } else if (row.Int64(3) != 0) {
        instead = rename_(TextKind::kCall, text);
      } else if (row.Int64(4) != 0) {
        instead =
            text == "TSL" || text == "NCCL" ? std::string(text) : rename_(TextKind::kName, text);
      }
      changes.emplace_back(row.Int64(0), std::move(instead));
    }
    XLATRACE_ASSIGN(Statement update,
                    db_.Prepare("UPDATE x_string SET text = ?1 WHERE string_id = ?2"));
    for (const auto& [id, text] : changes) {
      update.BindText(0, text);
      update.BindInt64(1, id);
      XLATRACE_TRY(update.Run());
    }
    return {};
  }

  Status RewriteFacts() {
    std::string kept;
    for (const std::string_view key : kKeptFacts) {
      kept += fmt::format("{}'{}'", kept.empty() ? "" : ", ", key);
    }
    return db_.Execute(fmt::format("DELETE FROM x_run_info WHERE key NOT IN ({})", kept));
  }

  Database& db_;
  const RenameText& rename_;
};

Status Rewrite(const std::string& path, const RenameText& rename) {
  XLATRACE_ASSIGN(Database db, Database::OpenOurs(path));
  // The file is still private, so it needs no journal, which would contain the original texts.
  XLATRACE_TRY(
      db.Execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;"
                 "PRAGMA secure_delete=ON; PRAGMA locking_mode=EXCLUSIVE"));
  if (rename) XLATRACE_TRY(TextRewriter(db, rename).Run());
  return {};
}

// std::filesystem::copy_file is not used, because on a full disk it stops early without an error.
Status CopyBytes(const std::string& from, const std::string& to) {
  XLATRACE_ASSIGN(const ByteSource source, ByteSource::Open(from));
  XLATRACE_ASSIGN(AtomicFile target, AtomicFile::Create(to));
  std::string piece(kCopyPieceBytes, '\0');
  for (uint64_t at = 0; at < source.size();) {
    const size_t got = source.ReadAt(at, piece.data(), piece.size());
    if (got == 0) return MakeError(fmt::format("reading '{}': it became shorter", from));
    XLATRACE_TRY(target.Append(std::string_view(piece).substr(0, got)));
    at += got;
  }
  return target.Commit();
}

}  // namespace

Status CopyRun(const std::string& from, const std::string& to, const RenameText& rename) {
  RegisterTemporaryFile(to);
  const auto fail = [&](Error reason) {
    unlink(to.c_str());
    UnregisterTemporaryFile(to);
    return tl::unexpected<Error>(std::move(reason));
  };
  if (Status copied = CopyBytes(from, to); !copied) return fail(copied.error());
  if (Status rewritten = Rewrite(to, rename); !rewritten) return fail(rewritten.error());
  {
    auto db = Database::OpenOurs(to);
    if (!db) return fail(db.error());
    // Rewrites every page from live rows only.
    Status packed = db->Execute(
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
        "PRAGMA secure_delete=ON; PRAGMA temp_store=FILE; VACUUM");
    if (!packed) return fail(packed.error());
  }
  UnregisterTemporaryFile(to);
  return {};
}

}  // namespace xlatrace::store
