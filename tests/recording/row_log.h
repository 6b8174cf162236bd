// SPDX-License-Identifier: Apache-2.0

// Rows as values that can be kept and compared: what was written against what is read.

#ifndef XLATRACE_TESTS_RECORDING_ROW_LOG_H_
#define XLATRACE_TESTS_RECORDING_ROW_LOG_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "recording/reader.h"
#include "recording/writer.h"

namespace xlatrace::recording {

struct FullActivity {
  ActivityRow row;  // Without the numbers of its lane and config, which are the writer's.
  ConfigRow config;
  LaneRow lane;
  bool operator==(const FullActivity&) const = default;
};

using AnyRow = std::variant<FullActivity, ApiCallRow, RangeRow, GraphNodeRow, StringRow, SchemaRow,
                            PayloadRow, DeviceRow, ContextRow, StreamRow, ThreadRow, StreamNameRow,
                            CubinRow, ClockRow, StatRow, OverheadRow, FactRow>;

// Keeps rows with their texts.
class RowLog final : public RowSink {
 public:
  void OnActivity(const ActivityRow& row, const ConfigRow& config, const LaneRow& lane) override {
    FullActivity full{row, config, lane};
    full.row.lane = full.row.config = 0;
    full.config.name = Keep(config.name);
    rows.emplace_back(full);
  }
  void OnApiCall(const ApiCallRow& row) override { rows.emplace_back(row); }
  void OnRange(const RangeRow& row) override { rows.emplace_back(row); }
  void OnGraphNode(const GraphNodeRow& row) override { rows.emplace_back(row); }
  void OnString(const StringRow& row) override {
    StringRow kept = row;
    kept.text = Keep(row.text);
    rows.emplace_back(kept);
  }
  void OnSchema(const SchemaRow& row) override {
    SchemaRow kept = row;
    kept.name = Keep(row.name);
    rows.emplace_back(kept);
  }
  void OnPayload(const PayloadRow& row) override {
    PayloadRow kept = row;
    kept.bytes = Keep(row.bytes);
    rows.emplace_back(kept);
  }
  void OnDevice(const DeviceRow& row) override {
    DeviceRow kept = row;
    kept.name = Keep(row.name);
    kept.uuid = Keep(row.uuid);
    rows.emplace_back(kept);
  }
  void OnContext(const ContextRow& row) override { rows.emplace_back(row); }
  void OnStream(const StreamRow& row) override { rows.emplace_back(row); }
  void OnThread(const ThreadRow& row) override {
    ThreadRow kept = row;
    kept.name = Keep(row.name);
    rows.emplace_back(kept);
  }
  void OnStreamName(const StreamNameRow& row) override {
    StreamNameRow kept = row;
    kept.name = Keep(row.name);
    rows.emplace_back(kept);
  }
  void OnCubin(const CubinRow& row) override { rows.emplace_back(row); }
  void OnClock(const ClockRow& row) override { rows.emplace_back(row); }
  void OnOverhead(const OverheadRow& row) override { rows.emplace_back(row); }
  void OnStat(const StatRow& row) override {
    StatRow kept = row;
    kept.name = Keep(row.name);
    rows.emplace_back(kept);
  }
  void OnFact(const FactRow& row) override {
    FactRow kept = row;
    kept.key = Keep(row.key);
    kept.value = Keep(row.value);
    rows.emplace_back(kept);
  }
  void OnSegment(uint64_t number, std::string_view identity) override {
    segments.push_back(number);
    identities.emplace_back(identity);
  }

  // The rows of one kind, in order: kinds are written in blocks of their own.
  template <typename Row>
  std::vector<Row> Of() const {
    std::vector<Row> out;
    for (const AnyRow& row : rows) {
      if (const Row* found = std::get_if<Row>(&row)) out.push_back(*found);
    }
    return out;
  }

  std::vector<AnyRow> rows;
  std::vector<uint64_t> segments;
  std::vector<std::string> identities;

 private:
  std::string_view Keep(std::string_view text) { return texts_.emplace_back(text); }
  std::deque<std::string> texts_;
};

inline void WriteRow(const AnyRow& any, Writer& writer) {
  std::visit(
      [&](const auto& row) {
        if constexpr (std::is_same_v<std::decay_t<decltype(row)>, FullActivity>) {
          writer.AddActivity(row.row, row.config, row.lane);
        } else {
          writer.Add(row);
        }
      },
      any);
}

// A file in a folder of its own, written through `writer`.
class TestFile {
 public:
  TestFile() {
    std::string name = (std::filesystem::temp_directory_path() / "xlatrace-rec-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  ~TestFile() { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "token.host.7.1f.rec").string(); }
  int Open() const { return open(path().c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600); }

  std::string Bytes() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void SetBytes(const std::string& bytes) const {
    std::ofstream out(path(), std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace xlatrace::recording

#endif  // XLATRACE_TESTS_RECORDING_ROW_LOG_H_
