// SPDX-License-Identifier: Apache-2.0

// Rows of every kind: zero, extremes, and random ones in which neighbours share what they share in
// life (threads, correlation ids, graphs).

#ifndef XLATRACE_TESTS_RECORDING_SAMPLE_ROWS_H_
#define XLATRACE_TESTS_RECORDING_SAMPLE_ROWS_H_

#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/recording/row_log.h"

namespace xlatrace::recording {

class SampleRows {
 public:
  explicit SampleRows(uint64_t seed) : random_(seed) {}

  // One row of every kind (activities of every kind) with each number at `n`.
  std::vector<AnyRow> AllAt(uint64_t n, std::string_view text) {
    const auto n32 = static_cast<uint32_t>(n);
    const auto i32 = static_cast<int32_t>(n32);
    std::vector<AnyRow> rows;
    for (const RowKind kind : {RowKind::kKernel, RowKind::kMemcpy, RowKind::kMemcpyPeer,
                               RowKind::kMemset, RowKind::kGraph}) {
      FullActivity full;
      full.row = {.kind = kind,
                  .start_ns = n,
                  .end_ns = ~n,
                  .correlation = n32,
                  .graph = n32,
                  .graph_node = n};
      full.config.kind = kind;
      full.config.name = text;
      full.lane = {n32, n32, n32};
      if (kind == RowKind::kKernel) {
        ConfigRow& config = full.config;
        for (int i = 0; i < 3; ++i) config.grid[i] = config.block[i] = config.cluster[i] = n32;
        config.registers_per_thread = config.shared_memory_static_bytes = n32;
        config.shared_memory_dynamic_bytes = config.shared_memory_executed_bytes = n32;
        config.shared_memory_limit_config = config.local_memory_per_thread_bytes = n32;
        config.local_memory_total_bytes = n;
        config.launch_type = config.max_active_clusters = n32;
      } else if (kind != RowKind::kGraph) {
        full.row.bytes = n;
        ConfigRow& config = full.config;
        config.copy_kind = config.source_kind = config.destination_kind = config.flags = n32;
        config.source_device = config.destination_device = n32;
      }
      rows.emplace_back(full);
    }
    for (const ApiDomain domain : {ApiDomain::kDriver, ApiDomain::kRuntime}) {
      rows.emplace_back(ApiCallRow{n32, domain, n32, n32, n, ~n, i32, n32, n, n32 % 2 != 0});
    }
    rows.emplace_back(RangeRow{n32, n32, n32, n, n, n32, n});
    rows.emplace_back(RangeRow{n32, n32, n32, ~n, 0, n32, 0});
    for (const NodeEvent event : {NodeEvent::kCreated, NodeEvent::kCloned, NodeEvent::kUpdated}) {
      rows.emplace_back(GraphNodeRow{event, n, n, ~n, n32, ~n32, n32, n32, n32});
    }
    rows.emplace_back(StringRow{n32, StringRole::kText, n32, n32, text, 0, text.size()});
    rows.emplace_back(StringRow{n32, StringRole::kRegistered, n32, n32, text, n32, UINT64_MAX});
    rows.emplace_back(SchemaRow{n, n32, text, n, n, n, n});
    rows.emplace_back(PayloadRow{n32, n, text});
    rows.emplace_back(DeviceRow{n32, text, text, n32, n32, n32, n, n, n, n,
                                n32, n32,  n32,  n32, n,   n,   n, n, n, n});
    rows.emplace_back(ContextRow{n32, n32, n32});
    rows.emplace_back(StreamRow{n32, n32, i32, n32});
    rows.emplace_back(ThreadRow{n32, text});
    rows.emplace_back(StreamNameRow{n32, n32, text});
    rows.emplace_back(CubinRow{n32, n32, n, n, n});
    rows.emplace_back(ClockRow{n, n, n, n});
    rows.emplace_back(OverheadRow{n32, n32, n, n});
    rows.emplace_back(StatRow{text, n});
    rows.emplace_back(FactRow{text, text});
    return rows;
  }

  std::vector<AnyRow> Extremes() {
    std::vector<AnyRow> rows;
    for (const uint64_t n :
         {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{0x7FFFFFFF},
          uint64_t{0x80000000}, uint64_t{0xFFFFFFFF}, uint64_t{1} << 32, uint64_t{1} << 63,
          (uint64_t{1} << 63) - 1, UINT64_MAX}) {
      for (const std::string_view text :
           {std::string_view(), std::string_view("name"), std::string_view("\0\xFF\n", 3)}) {
        for (AnyRow& row : AllAt(n, text)) rows.push_back(row);
      }
    }
    return rows;
  }

  // A launch and its call, as a training step has them.
  void AddLaunch(std::vector<AnyRow>* rows) {
    const bool graph = Chance(4);
    if (!graph || Chance(8)) {
      ApiCallRow call;
      call.thread = 100 + Below(3);
      call.domain = Chance(8) ? ApiDomain::kRuntime : ApiDomain::kDriver;
      call.function = Below(4);
      call.correlation = correlation_ += 1 + Below(5);
      call.start_ns = time_ += Below(20000);
      call.end_ns = call.start_ns + Below(9000);
      call.result = Chance(20) ? -static_cast<int32_t>(Below(800)) : 0;
      call.thunk = Chance(5) ? 0 : Below(3000);
      call.module_run = Chance(10) ? 0 : 1 + correlation_ / 150;
      rows->emplace_back(call);
    }
    FullActivity full;
    full.row.kind = static_cast<RowKind>(Chance(5) ? Below(5) : 0);
    full.row.correlation = correlation_;
    full.row.start_ns = time_ + Below(100000);
    full.row.end_ns = Chance(50) ? full.row.start_ns - Below(2) : full.row.start_ns + Below(99999);
    if (graph) {
      full.row.graph = Chance(9) ? Below(9) : 3;
      full.row.graph_node = (uint64_t{full.row.graph} << (Chance(9) ? 20 : 32)) + Below(200);
    }
    if (full.row.kind != RowKind::kKernel && full.row.kind != RowKind::kGraph) {
      full.row.bytes = uint64_t{Below(1000)} << Below(40);
    }
    full.config.kind = full.row.kind;
    if (full.row.kind == RowKind::kKernel) {
      full.config.name = Name(Below(300));
      full.config.grid[0] = 1 + Below(4);
      full.config.block[0] = 128;
    }
    full.lane = {Below(2), 1, 13 + Below(3)};
    rows->emplace_back(full);
  }

  // Launches until the writer has passed `bytes`, with texts between them so that it does not take
  // millions; gives the rows.
  std::vector<AnyRow> Fill(Writer& writer, uint64_t bytes) {
    std::vector<AnyRow> rows;
    std::vector<AnyRow> now;
    while (writer.bytes_written() < bytes) {
      now.clear();
      for (int i = 0; i < 40; ++i) AddLaunch(&now);
      now.emplace_back(FactRow{"key", texts_.emplace_back(10'000 + Below(20'000), 'x')});
      for (const AnyRow& row : now) {
        WriteRow(row, writer);
        rows.push_back(row);
      }
    }
    return rows;
  }

  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool Chance(uint32_t one_in) { return Below(one_in) == 0; }
  std::string_view Name(uint32_t n) {
    while (names_.size() <= n) {
      names_.push_back("loop_fusion_kernel_number_" + std::to_string(names_.size()));
    }
    return names_[n];
  }

 private:
  std::mt19937_64 random_;
  std::deque<std::string> names_;
  std::deque<std::string> texts_;
  uint32_t correlation_ = 0;
  uint64_t time_ = 1'700'000'000'000'000'000;
};

}  // namespace xlatrace::recording

#endif  // XLATRACE_TESTS_RECORDING_SAMPLE_ROWS_H_
