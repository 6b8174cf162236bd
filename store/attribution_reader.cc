// SPDX-License-Identifier: Apache-2.0
#include "store/attribution_reader.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model/words.h"

namespace xlatrace::store {
namespace {

using model::Id;

// A stored word of a vocabulary; an unknown word reads as the first one.
template <typename Enum>
Enum WordOf(const Statement& row, int column) {
  const int64_t value = row.Int64(column);
  const bool known = value >= 0 && value < static_cast<int64_t>(model::Texts<Enum>().size());
  return known ? static_cast<Enum>(value) : Enum{};
}

std::string TextOf(const Statement& row, int column) { return std::string(row.Text(column)); }

// Rows of `sql` whose first column counts from 1 without holes.
template <typename Add>
Status ReadCounted(RunDb& db, std::string_view sql, std::string_view what, Add add) {
  Id expected = 0;
  bool sound = true;
  XLATRACE_TRY(db.ForEach(sql, [&](const Statement& row) {
    sound = row.Int64(0) == ++expected;
    if (sound) add(row);
    return sound;
  }));
  if (sound) return {};
  return MakeError(fmt::format("reading '{}': {} {} is missing", db.path(), what, expected),
                   "make the run.db again from its recording or trace");
}

Status ReadStacks(RunDb& db, model::AttributionTables& tables) {
  XLATRACE_TRY(ReadCounted(
      db, "SELECT place_id, file, line, function, is_user FROM x_source_place ORDER BY 1",
      "source place", [&](const Statement& row) {
        tables.source_places.push_back(
            {TextOf(row, 1), TextOf(row, 3), row.Int64(2), row.Int64(4) != 0});
      }));
  XLATRACE_TRY(ReadCounted(db, "SELECT stack_id, is_library FROM x_source_stack ORDER BY 1",
                           "source stack", [&](const Statement& row) {
                             tables.source_stacks.emplace_back().is_library = row.Int64(1) != 0;
                           }));
  const auto places = static_cast<Id>(tables.source_places.size());
  const auto stacks = static_cast<Id>(tables.source_stacks.size());
  XLATRACE_TRY(
      db.ForEach("SELECT f.stack_id, f.place_id, f.place_id = s.user_place FROM x_source_frame f"
                 " JOIN x_source_stack s USING (stack_id) ORDER BY f.stack_id, f.depth",
                 [&](const Statement& row) {
                   const Id stack = row.Int64(0);
                   const Id place = row.Int64(1);
                   if (stack < 1 || stack > stacks || place < 1 || place > places) return true;
                   model::SourceStack& of = tables.source_stacks[static_cast<size_t>(stack) - 1];
                   if (row.Int64(2) != 0) of.user = static_cast<uint32_t>(of.places.size());
                   of.places.push_back(static_cast<uint32_t>(place - 1));
                   return true;
                 }));
  return {};
}

// The stack of a row; 0 where the file does not hold its frames.
uint32_t StackOf(const Statement& row, int column, const model::AttributionTables& tables) {
  const Id stack = row.Int64(column);
  if (stack < 1 || stack > static_cast<Id>(tables.source_stacks.size())) return 0;
  return tables.source_stacks[static_cast<size_t>(stack) - 1].places.empty()
             ? 0
             : static_cast<uint32_t>(stack);
}

Status ReadInstructions(RunDb& db, model::AttributionTables& tables) {
  XLATRACE_TRY(ReadCounted(
      db,
      "SELECT instruction_id, module_id, name, computation, opcode, category, op_kind, shape,"
      " operands, op_name, op_name_method, op_type, stack_id, phase, layer,"
      " layer_group, mixed, flops, bytes, fusion_kind FROM x_instruction ORDER BY 1",
      "instruction", [&](const Statement& row) {
        model::InstructionRow& i = tables.instructions.emplace_back();
        i.module_id = row.Int64(1);
        i.name = TextOf(row, 2);
        i.computation = TextOf(row, 3);
        i.opcode = TextOf(row, 4);
        i.category = TextOf(row, 5);
        i.op_kind = WordOf<model::OpKind>(row, 6);
        i.shape = TextOf(row, 7);
        i.operands = TextOf(row, 8);
        i.op_name = TextOf(row, 9);
        i.op_name_method = WordOf<model::OpNameMethod>(row, 10);
        i.op_type = TextOf(row, 11);
        model::SetSource(tables, StackOf(row, 12, tables), &i);
        i.phase = WordOf<model::Phase>(row, 13);
        i.layer = TextOf(row, 14);
        i.layer_group = TextOf(row, 15);
        i.mixed = row.Int64(16) != 0;
        i.flops = row.OptionalInt64(17);
        i.bytes = row.OptionalInt64(18);
        i.fusion_kind = TextOf(row, 19);
      }));
  return db.ForEach(
      "SELECT instruction_id, share_ppm, op_name, phase, layer, layer_group, stack_id"
      " FROM x_instruction_share ORDER BY instruction_id, rowid",
      [&](const Statement& row) {
        model::ShareRow& s = tables.shares.emplace_back();
        s.instruction_id = row.Int64(0);
        s.share_ppm = row.Int64(1);
        s.op_name = TextOf(row, 2);
        s.phase = WordOf<model::Phase>(row, 3);
        s.layer = TextOf(row, 4);
        s.layer_group = TextOf(row, 5);
        model::SetSource(tables, StackOf(row, 6, tables), &s);
        return true;
      });
}

Status ReadLabels(RunDb& db, model::AttributionTables& tables) {
  const auto instructions = static_cast<Id>(tables.instructions.size());
  XLATRACE_TRY(ReadCounted(
      db,
      "SELECT label_id, module_id, instruction_id, evidence, confidence, reason, origin, losers"
      " FROM x_label ORDER BY 1",
      "label", [&](const Statement& row) {
        model::Label& l = tables.labels.emplace_back();
        l.module_id = row.Int64(1);
        l.instruction_id = row.Int64(2);
        if (l.instruction_id < 0 || l.instruction_id > instructions) l.instruction_id = 0;
        l.evidence = WordOf<model::Evidence>(row, 3);
        l.confidence = WordOf<model::Confidence>(row, 4);
        l.reason = WordOf<model::Reason>(row, 5);
        l.origin = WordOf<model::Origin>(row, 6);
        l.losers = TextOf(row, 7);
      }));
  const auto labels = static_cast<Id>(tables.labels.size());
  return db.ForEach(
      "SELECT label_id, instruction_id, share_ppm FROM x_label_share ORDER BY label_id, rowid",
      [&](const Statement& row) {
        const model::LabelShareRow share = {row.Int64(0), row.Int64(1), row.Int64(2)};
        if (share.label_id >= 1 && share.label_id <= labels && share.instruction_id >= 1 &&
            share.instruction_id <= instructions) {
          tables.label_shares.push_back(share);
        }
        return true;
      });
}

}  // namespace

Result<model::AttributionTables> ReadAttribution(RunDb& db) {
  model::AttributionTables tables;
  XLATRACE_TRY(ReadStacks(db, tables));
  XLATRACE_TRY(ReadInstructions(db, tables));
  XLATRACE_TRY(ReadLabels(db, tables));
  XLATRACE_TRY(ReadCounted(
      db,
      "SELECT execution_id, module_id, device_id, start_ns, end_ns, activities, complete"
      " FROM x_execution ORDER BY 1",
      "execution", [&](const Statement& row) {
        tables.executions.push_back({row.Int64(1), row.Int64(2), row.Int64(3), row.Int64(4),
                                     row.Int64(5), row.Int64(6) != 0});
      }));
  XLATRACE_TRY(ReadCounted(
      db,
      "SELECT module_id, fingerprint, role, role_reason, framework_function, instruction_count,"
      " flops, bytes, peak_memory_bytes FROM x_module_facts ORDER BY 1",
      "module", [&](const Statement& row) {
        model::ModuleFacts& m = tables.modules.emplace_back();
        m.fingerprint = TextOf(row, 1);
        m.role = WordOf<model::ModuleRole>(row, 2);
        m.role_reason = TextOf(row, 3);
        m.framework_function = TextOf(row, 4);
        m.instruction_count = row.Int64(5);
        m.flops = row.OptionalInt64(6);
        m.bytes = row.OptionalInt64(7);
        m.peak_memory_bytes = row.OptionalInt64(8);
      }));
  XLATRACE_TRY(db.ForEach(
      "SELECT module_id, told_program_id FROM x_module WHERE told_program_id IS NOT NULL",
      [&](const Statement& row) {
        const auto module = static_cast<uint64_t>(row.Int64(0)) - 1;
        if (module < tables.modules.size()) tables.modules[module].program_id = row.Int64(1);
        return true;
      }));
  XLATRACE_TRY(
      db.ForEach("SELECT process_id, name, program_id, hlo_module_id FROM x_module WHERE added"
                 " ORDER BY module_id",
                 [&](const Statement& row) {
                   tables.added_modules.push_back(
                       {row.Int64(0), TextOf(row, 1), row.OptionalInt64(2), row.Int64(3)});
                   return true;
                 }));
  return tables;
}

}  // namespace xlatrace::store
