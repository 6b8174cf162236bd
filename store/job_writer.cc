// SPDX-License-Identifier: Apache-2.0
#include "store/job_writer.h"

#include <cstdint>
#include <optional>

namespace xlatrace::store {
namespace {

std::optional<int64_t> KnownId(model::Id id) {
  return id == 0 ? std::nullopt : std::optional<int64_t>(id);
}

}  // namespace

Status WriteJob(Database& database, const model::JobTables& job) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_rank VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  int64_t id = 0;
  for (const model::RankRow& rank : job.ranks) {
    row.BindInt64(0, ++id);
    row.BindInt64(1, rank.rank);
    row.BindInt64(2, rank.ordinal);
    row.BindTextOrNull(3, rank.host);
    row.BindText(4, rank.source);
    row.BindInt64(5, rank.source_process_id);
    row.BindInt64(6, rank.source_device_id);
    row.BindOptional(7, KnownId(rank.process_id));
    row.BindOptional(8, KnownId(rank.device_id));
    row.BindTextOrNull(9, rank.program);
    row.BindOptional(10, rank.clock_offset_ns);
    row.BindOptional(11, rank.clock_drift_ppb);
    row.BindOptional(12, rank.clock_error_ns);
    row.BindInt64(13, rank.clock_set);
    row.BindInt64(14, rank.activities);
    row.BindInt64(15, rank.device_ns);
    row.BindOptional(16, rank.excess_ns_per_step);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_rank_step VALUES(?,?,?,?,?,?,?,?,?,?)"));
  for (const model::RankStepRow& step : job.steps) {
    row.BindInt64(0, step.rank_id);
    row.BindInt64(1, step.step);
    row.BindOptional(2, step.start_ns);
    row.BindInt64(3, step.step_ns);
    row.BindOptional(4, step.wait_ns);
    row.BindOptional(5, step.transfer_ns);
    row.BindInt64(6, step.gemm_ns);
    row.BindInt64(7, step.other_ns);
    row.BindInt64(8, step.idle_ns);
    row.BindInt64(9, step.steady ? 1 : 0);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_job_collective VALUES"
                                        "(NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  for (const model::JobCollectiveRow& collective : job.collectives) {
    row.BindTextOrNull(0, collective.program);
    row.BindText(1, collective.instruction);
    row.BindText(2, collective.op);
    row.BindOptional(3, collective.group_size);
    row.BindOptional(4, collective.bytes);
    row.BindInt64(5, collective.ranks);
    row.BindInt64(6, collective.groups);
    row.BindInt64(7, collective.paired);
    row.BindOptional(8, collective.transfer_ns);
    row.BindOptional(9, collective.arrival_skew_ns);
    row.BindOptional(10, collective.most_skew_ns);
    row.BindOptional(11, collective.bus_bandwidth);
    row.BindInt64(12, collective.exposed_ns_per_step);
    row.BindOptional(13, collective.wait_ns_per_step);
    row.BindOptional(14, KnownId(collective.last_rank_id));
    row.BindInt64(15, collective.last_times);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_job_path VALUES(NULL,?,?,?,?,?,?,?,?,?,?)"));
  for (const model::JobPathRow& stay : job.path) {
    row.BindInt64(0, stay.step);
    row.BindInt64(1, stay.rank_id);
    row.BindTextOrNull(2, stay.from_program);
    row.BindTextOrNull(3, stay.from_instruction);
    row.BindTextOrNull(4, stay.to_program);
    row.BindTextOrNull(5, stay.to_instruction);
    row.BindInt64(6, stay.own_ns);
    row.BindInt64(7, stay.exchange_ns);
    row.BindInt64(8, stay.lead_ns);
    row.BindInt64(9, stay.collectives);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

}  // namespace xlatrace::store
