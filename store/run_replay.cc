// SPDX-License-Identifier: Apache-2.0
#include "store/run_replay.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/compress.h"
#include "store/host_sample_rows.h"
#include "store/packed_row.h"

namespace xlatrace::store {
namespace {

using model::Id;

std::string TextOf(const Statement& row, int column) {
  return row.IsNull(column) ? std::string() : std::string(row.Text(column));
}
int64_t IntOr(const Statement& row, int column, int64_t otherwise) {
  return row.IsNull(column) ? otherwise : row.Int64(column);
}

class Replayer {
 public:
  Replayer(RunDb& db, model::EventSink& sink, const ReplayPart& part)
      : db_(db), sink_(sink), part_(part) {}

  Status Run() {
    XLATRACE_TRY(RunInfo());
    XLATRACE_TRY(Strings());
    XLATRACE_TRY(Places());
    XLATRACE_TRY(Configs());
    XLATRACE_TRY(Modules());
    XLATRACE_TRY(Hints());
    XLATRACE_TRY(Calls());
    XLATRACE_TRY(Activities());
    XLATRACE_TRY(UnreferredCalls());
    XLATRACE_TRY(Ranges());
    XLATRACE_TRY(Marks());
    XLATRACE_TRY(HostSamples());
    return Stats();
  }

 private:
  Status RunInfo() {
    return Each("SELECT key, value FROM x_run_info", [&](const Statement& row) {
      const std::string key(row.Text(0));
      if (key == "start_unix_ns") {
        sink_.SetStart(std::strtoll(TextOf(row, 1).c_str(), nullptr, 10));
      } else {
        sink_.SetRunInfo(key, TextOf(row, 1));
      }
    });
  }

  Status Strings() {
    return Each("SELECT string_id, text FROM x_string ORDER BY 1", [&](const Statement& row) {
      strings_.resize(static_cast<size_t>(row.Int64(0)) + 1);
      strings_.back() = std::string(row.Text(1));
    });
  }
  const std::string& StringAt(const Statement& row, int column) const {
    const auto id = static_cast<size_t>(IntOr(row, column, 0));
    return id < strings_.size() ? strings_[id] : strings_.front();
  }

  // Adds processes, threads, devices and lanes.
  Status Places() {
    XLATRACE_TRY(
        Each("SELECT host, pid, rank, local_rank, command, source_id, clock_offset_ns, "
             "clock_error_ns, name, recorded_from_ns FROM x_process ORDER BY process_id",
             [&](const Statement& row) {
               sink_.AddProcess(
                   {.host = TextOf(row, 0),
                    .pid = row.OptionalInt64(1),
                    .rank = row.OptionalInt64(2),
                    .local_rank = row.OptionalInt64(3),
                    .command = TextOf(row, 4),
                    .source_id = row.OptionalInt64(5),
                    .clock_offset_ns = row.OptionalInt64(6),
                    .clock_error_ns = row.OptionalInt64(7),
                    .name = TextOf(row, 8),
                    .recorded_from_ns = part_.window_ns ? std::nullopt : row.OptionalInt64(9)});
             }));
    XLATRACE_TRY(
        Each("SELECT process_id, thread_id, name FROM x_thread", [&](const Statement& row) {
          sink_.AddThread({row.Int64(0), row.Int64(1), row.Text(2)});
        }));
    XLATRACE_TRY(Each(
        "SELECT process_id, kind, ordinal, name, uuid, compute_capability, sm_count, clock_hz, "
        "memory_bandwidth_bytes_per_s, memory_bytes, max_threads_per_sm, max_blocks_per_sm, "
        "registers_per_sm, shared_memory_per_sm_bytes, shared_memory_per_block_optin_bytes, "
        "warp_size, shared_memory_per_block_bytes, shared_memory_reserved_per_block_bytes, "
        "max_threads_per_block, registers_per_block, l2_bytes FROM x_device ORDER BY device_id",
        [&](const Statement& row) {
          model::Device device;
          device.process_id = row.Int64(0);
          device.kind = static_cast<model::DeviceKind>(row.Int64(1));
          device.ordinal = IntOr(row, 2, 0);
          device.name = TextOf(row, 3);
          device.uuid = TextOf(row, 4);
          device.compute_capability = TextOf(row, 5);
          int column = 6;
          for (std::optional<int64_t>* value :
               {&device.sm_count, &device.clock_hz, &device.memory_bandwidth_bytes_per_s,
                &device.memory_bytes, &device.max_threads_per_sm, &device.max_blocks_per_sm,
                &device.registers_per_sm, &device.shared_memory_per_sm_bytes,
                &device.shared_memory_per_block_optin_bytes, &device.warp_size,
                &device.shared_memory_per_block_bytes,
                &device.shared_memory_reserved_per_block_bytes, &device.max_threads_per_block,
                &device.registers_per_block, &device.l2_bytes}) {
            *value = row.OptionalInt64(column++);
          }
          sink_.AddDevice(device);
        }));
    return Each(
        "SELECT device_id, stream_id, context_id, name, priority FROM x_lane ORDER BY lane_id",
        [&](const Statement& row) {
          sink_.AddLane({.device_id = row.Int64(0),
                         .stream_id = IntOr(row, 1, 0),
                         .context_id = row.OptionalInt64(2),
                         .name = TextOf(row, 3),
                         .priority = row.OptionalInt64(4)});
        });
  }

  Status Configs() {
    return Each(
        "SELECT kind, symbol_id, name_id, demangled_id, copy_kind, grid_x, grid_y, grid_z, "
        "block_x, block_y, block_z, cluster_x, cluster_y, cluster_z, registers_per_thread, "
        "shared_memory_static_bytes, shared_memory_dynamic_bytes, local_memory_per_thread_bytes, "
        "theoretical_occupancy_milli_pct, launch_type, cache_config, local_memory_total_bytes, "
        "shared_memory_executed_bytes, source_memory_kind, memory_kind, memset_value "
        "FROM x_config ORDER BY config_id",
        [&](const Statement& row) {
          model::LaunchConfig config;
          config.kind = static_cast<model::ActivityKind>(row.Int64(0));
          config.symbol = StringAt(row, 1);
          config.name = StringAt(row, 2);
          config.demangled = StringAt(row, 3);
          config.copy_kind = static_cast<model::CopyKind>(IntOr(row, 4, 0));
          for (int d = 0; d < 3; ++d) {
            config.grid[d] = row.OptionalInt64(5 + d);
            config.block[d] = row.OptionalInt64(8 + d);
            config.cluster[d] = row.OptionalInt64(11 + d);
          }
          int column = 14;
          for (std::optional<int64_t>* value :
               {&config.registers_per_thread, &config.shared_memory_static_bytes,
                &config.shared_memory_dynamic_bytes, &config.local_memory_per_thread_bytes,
                &config.theoretical_occupancy_milli_pct, &config.nsight.launch_type,
                &config.nsight.cache_config, &config.nsight.local_memory_total_bytes,
                &config.nsight.shared_memory_executed_bytes, &config.nsight.source_memory_kind,
                &config.nsight.memory_kind, &config.nsight.memset_value}) {
            *value = row.OptionalInt64(column++);
          }
          sink_.AddLaunchConfig(config);
        });
  }

  Status Modules() {
    Status status;
    XLATRACE_TRY(
        Each("SELECT process_id, name, program_id, source, file, format, hlo, thunk_sequence, "
             "thunk_metadata FROM x_module WHERE NOT added ORDER BY module_id",
             [&](const Statement& row) {
               std::string texts[3];
               for (int i = 0; i < 3; ++i) {
                 if (row.IsNull(6 + i)) continue;
                 auto bytes = ZstdDecompress(row.Text(6 + i));
                 if (bytes) {
                   texts[i] = std::move(*bytes);
                 } else if (status) {
                   status = tl::unexpected<Error>(std::move(bytes).error());
                 }
               }
               const std::string name = TextOf(row, 1);
               const std::string file = TextOf(row, 4);
               sink_.AddModule({.process_id = row.Int64(0),
                                .name = name,
                                .program_id = row.OptionalInt64(2),
                                .source = static_cast<model::ModuleSource>(row.Int64(3)),
                                .file = file,
                                .format = static_cast<model::ModuleBlob::Format>(row.Int64(5)),
                                .bytes = texts[0],
                                .thunk_sequence = texts[1],
                                .thunk_metadata = texts[2]});
             }));
    return status;
  }

  Status Hints() {
    return Each(
        "SELECT evidence, module_name, program_id, instruction, op_name, category, source_file, "
        "source_line, flops, bytes_accessed, module_id, enclosing, op_type, hlo FROM x_hint "
        "ORDER BY hint_id",
        [&](const Statement& row) {
          model::Hint hint;
          hint.evidence = static_cast<model::Evidence>(row.Int64(0));
          hint.module_name = TextOf(row, 1);
          hint.program_id = row.OptionalInt64(2);
          hint.instruction = TextOf(row, 3);
          hint.op_name = TextOf(row, 4);
          hint.category = TextOf(row, 5);
          hint.source_file = TextOf(row, 6);
          hint.source_line = row.OptionalInt64(7);
          hint.flops = row.OptionalInt64(8);
          hint.bytes_accessed = row.OptionalInt64(9);
          hint.module_id = IntOr(row, 10, 0);
          hint.enclosing = TextOf(row, 11);
          hint.op_type = TextOf(row, 12);
          hint.hlo = TextOf(row, 13);
          sink_.AddHint(hint);
        });
  }

  // Adds calls and maps their old ids to new ones for the activities.
  Status Calls() {
    return Each(
        "SELECT api_call_id, process_id, thread_id, name_id, correlation_id, start_ns, "
        "duration_ns, event_class, return_value FROM x_api_call ORDER BY start_ns, api_call_id",
        [&](const Statement& row) {
          const model::ApiCall call = CallIn(row, 1);
          if (part_.call && !part_.call(row.Int64(0), call.start_ns, call.end_ns)) return;
          calls_[row.Int64(0)] = sink_.AddApiCall(call);
        });
  }

  bool InWindow(int64_t start_ns, int64_t end_ns) const {
    return !part_.window_ns ||
           (start_ns < part_.window_ns->second && end_ns > part_.window_ns->first);
  }

  model::ApiCall CallIn(const Statement& row, int first) const {
    const auto small = [&](int column) {
      return row.IsNull(column) ? std::optional<int32_t>()
                                : std::optional<int32_t>(static_cast<int32_t>(row.Int64(column)));
    };
    const int64_t start = row.Int64(first + 4);
    return {.process_id = IntOr(row, first, 0),
            .thread_id = IntOr(row, first + 1, 0),
            .name = StringAt(row, first + 2),
            .correlation_id = IntOr(row, first + 3, 0),
            .start_ns = start,
            .end_ns = start + row.Int64(first + 5),
            .event_class = small(first + 6),
            .return_value = small(first + 7)};
  }

  Status UnreferredCalls() {
    return Each(
        "SELECT n.process_id, n.thread_id, n.name_id, r.correlation_id, r.start_ns, r.duration_ns, "
        "n.event_class, n.return_value FROM x_packed_call r JOIN x_call_kind n USING (call_kind) "
        "ORDER BY r.rowid",
        [&](const Statement& row) {
          const model::ApiCall call = CallIn(row, 0);
          if (InWindow(call.start_ns, call.end_ns)) sink_.AddUnreferredCall(call);
        });
  }

  Status Activities() {
    return Each(
        fmt::format(
            "SELECT r.rowid, k.lane_id, k.config_id, k.hint_id, k.bytes, k.graph_id, "
            "k.graph_node_id, s.run_key, r.start_ns, r.duration_ns, {}, {}, r.correlation_id, {} "
            "FROM {} r JOIN x_kind k USING (kind_id) JOIN x_slot s USING (slot_id) "
            "ORDER BY r.rowid",
            kPackedStartSql, kPackedSelfSql, kPackedCallIdSql, kPackedActivity),
        [&](const Statement& row) {
          if (part_.activity && !part_.activity(row.Int64(0))) return;
          model::Activity activity;
          activity.lane_id = row.Int64(1);
          activity.config_id = row.Int64(2);
          activity.hint_id = IntOr(row, 3, 0);
          activity.bytes = IntOr(row, 4, -1);
          activity.graph_id = IntOr(row, 5, 0);
          activity.graph_node_id = IntOr(row, 6, 0);
          activity.run_key = IntOr(row, 7, 0);
          activity.start_ns = activity.end_ns = row.Int64(8);
          if (row.IsNull(9)) {
            activity.timing = row.IsNull(10) ? model::Timing::kUnknown : model::Timing::kStartOnly;
          } else {
            activity.end_ns += row.Int64(9);
            activity.self_ns = row.Int64(11);
          }
          activity.correlation_id = IntOr(row, 12, 0);
          if (!row.IsNull(13)) {
            const auto known = calls_.find(row.Int64(13));
            if (known != calls_.end()) activity.api_call_id = known->second;
          }
          sink_.AddActivity(activity);
        });
  }

  Status Ranges() {
    XLATRACE_TRY(Each(
        "SELECT k.process_id, k.thread_id, k.domain_id, k.text_id, r.start_ns, r.duration_ns, "
        "r.depth, k.domain_number FROM x_packed_range r JOIN x_range_kind k USING (range_kind) "
        "ORDER BY r.rowid",
        [&](const Statement& row) {
          const int64_t start = row.Int64(4);
          if (!InWindow(start, start + row.Int64(5))) return;
          sink_.AddRange({.process_id = row.Int64(0),
                          .thread_id = IntOr(row, 1, 0),
                          .domain = StringAt(row, 2),
                          .text = StringAt(row, 3),
                          .start_ns = start,
                          .end_ns = start + row.Int64(5),
                          .depth = static_cast<int32_t>(IntOr(row, 6, 0)),
                          .domain_number = IntOr(row, 7, -1)});
        }));
    return Each(
        "SELECT global_tid, event_type, start_ns, end_ns, text_id, domain_number FROM x_nvtx_row "
        "ORDER BY rowid",
        [&](const Statement& row) {
          // Rows without times (names of domains) belong to every part.
          if (!row.IsNull(2) && !InWindow(row.Int64(2), IntOr(row, 3, row.Int64(2) + 1))) return;
          sink_.AddNvtxRow({.global_tid = IntOr(row, 0, 0),
                            .event_type = row.Int64(1),
                            .start_ns = row.OptionalInt64(2),
                            .end_ns = row.OptionalInt64(3),
                            .text = StringAt(row, 4),
                            .domain_number = IntOr(row, 5, -1)});
        });
  }

  Status Compiles() {
    std::map<std::pair<int64_t, int64_t>, std::vector<model::CompileDetail>> details;
    XLATRACE_TRY(Each(
        "SELECT process_id, compilation, kind, name, before, after, value, source_file, "
        "source_line, is_difference FROM x_compile_detail ORDER BY rowid",
        [&](const Statement& row) {
          details[{row.Int64(0), row.Int64(1)}].push_back({.kind = std::string(row.Text(2)),
                                                           .name = TextOf(row, 3),
                                                           .before = TextOf(row, 4),
                                                           .after = TextOf(row, 5),
                                                           .value = row.OptionalInt64(6),
                                                           .source_file = TextOf(row, 7),
                                                           .source_line = row.OptionalInt64(8),
                                                           .is_difference = row.Int64(9) != 0});
        }));
    constexpr auto kStages = static_cast<int64_t>(model::CompileStage::kLoad) + 1;
    return Each(
        "SELECT process_id, module_id, name, start_ns, end_ns, stage, compilation, source_file, "
        "source_line, function_file, function_line, is_library, is_operation, is_again, "
        "is_unfinished FROM x_compile ORDER BY rowid",
        [&](const Statement& row) {
          if (!InWindow(row.Int64(3), row.Int64(4))) return;
          const int64_t stage = row.Int64(5);
          model::Compile compile{
              row.Int64(0),
              IntOr(row, 1, 0),
              row.Text(2),
              row.Int64(3),
              row.Int64(4),
              static_cast<model::CompileStage>(stage >= 0 && stage < kStages ? stage : 0)};
          if (row.OptionalInt64(14)) {
            auto facts = std::make_shared<model::CompileFacts>();
            facts->compilation = IntOr(row, 6, 0);
            facts->source_file = TextOf(row, 7);
            facts->source_line = row.OptionalInt64(8);
            facts->function_file = TextOf(row, 9);
            facts->function_line = row.OptionalInt64(10);
            facts->is_library = IntOr(row, 11, 0) != 0;
            facts->is_operation = IntOr(row, 12, 0) != 0;
            facts->is_again = IntOr(row, 13, 0) != 0;
            facts->is_unfinished = IntOr(row, 14, 0) != 0;
            if (compile.stage == model::CompileStage::kCompile) {
              const auto found = details.find({compile.process_id, facts->compilation});
              if (found != details.end()) facts->details = std::move(found->second);
            }
            compile.facts = std::move(facts);
          }
          sink_.AddCompile(compile);
        });
  }

  // Adds steps, compilations, windows and losses.
  Status Marks() {
    XLATRACE_TRY(Each("SELECT process_id, number, start_ns, end_ns FROM x_step_mark ORDER BY rowid",
                      [&](const Statement& row) {
                        if (part_.steps && (row.Int64(1) < part_.steps->first ||
                                            row.Int64(1) > part_.steps->second)) {
                          return;
                        }
                        sink_.AddStepMark({row.Int64(0), row.Int64(1), row.Int64(2), row.Int64(3)});
                      }));
    XLATRACE_TRY(Compiles());
    XLATRACE_TRY(Each("SELECT process_id, start_ns, end_ns, why_ended FROM x_window ORDER BY rowid",
                      [&](const Statement& row) {
                        int64_t start = row.Int64(1);
                        int64_t end = row.Int64(2);
                        if (!InWindow(start, end)) return;
                        if (part_.window_ns) {
                          start = std::max(start, part_.window_ns->first);
                          end = std::min(end, part_.window_ns->second);
                        }
                        const auto why = static_cast<model::WindowEnd>(row.Int64(3));
                        sink_.AddWindow({row.Int64(0), start, end, why});
                        // The windows were composed before: an empty one means that activities may
                        // lie outside.
                        sink_.AddWindow({row.Int64(0), start, start, why});
                      }));
    XLATRACE_TRY(
        Each("SELECT process_id, start_ns, end_ns, at_least, correlation_id, cause FROM x_loss "
             "ORDER BY rowid",
             [&](const Statement& row) {
               if (!InWindow(row.Int64(1), row.Int64(2))) return;
               sink_.AddLoss({row.Int64(0), row.Int64(1), row.Int64(2), row.Int64(3),
                              static_cast<uint32_t>(IntOr(row, 4, 0)), TextOf(row, 5)});
             }));
    return Each(
        "SELECT process_id, ended, signal, unrecorded_from_ns, unrecorded_tail_ns FROM x_ending",
        [&](const Statement& row) {
          sink_.SetEnding({row.Int64(0), static_cast<model::ProcessEnd>(row.Int64(1)),
                           row.OptionalInt64(2), row.OptionalInt64(3), row.OptionalInt64(4)});
        });
  }

  Status HostSamples() {
    XLATRACE_ASSIGN(model::HostSampleTables tables, ReadHostSamples(db_));
    const auto outside = [&](const auto& row) { return !InWindow(row.start_ns, row.end_ns); };
    std::erase_if(tables.samples, [&](const model::HostSample& sample) {
      return !InWindow(sample.time_ns, sample.until_ns);
    });
    std::erase_if(tables.thread_use, outside);
    std::erase_if(tables.machine_use, outside);
    std::erase_if(tables.collections, outside);
    if (!tables.empty()) sink_.AddHostSamples(tables);
    return {};
  }

  Status Stats() {
    return Each(
        "SELECT name, severity, source, value, advice FROM x_run_stat WHERE NOT derived "
        "ORDER BY rowid",
        [&](const Statement& row) {
          sink_.AddRunStat({.name = std::string(row.Text(0)),
                            .severity = static_cast<model::Severity>(row.Int64(1)),
                            .source = TextOf(row, 2),
                            .value = row.Int64(3),
                            .advice = TextOf(row, 4)});
        });
  }

  template <typename OnRow>
  Status Each(std::string_view sql, OnRow on) {
    return db_.ForEach(sql, [&](const Statement& row) {
      on(row);
      return true;
    });
  }

  RunDb& db_;
  model::EventSink& sink_;
  const ReplayPart& part_;
  std::vector<std::string> strings_ = {""};
  std::unordered_map<int64_t, Id> calls_;
};

}  // namespace

Status Replay(RunDb& db, model::EventSink& sink, const ReplayPart& part) {
  return Replayer(db, sink, part).Run();
}

}  // namespace xlatrace::store
