// SPDX-License-Identifier: Apache-2.0

// Writes recordings for tests, in the words of a traced process: strings are texts, ids are made.

#ifndef XLATRACE_TESTS_IMPORTERS_RECORDING_BUILDER_H_
#define XLATRACE_TESTS_IMPORTERS_RECORDING_BUILDER_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "recording/writer.h"

namespace xlatrace::importers {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "xlatrace-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string str() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

class RecordingBuilder {
 public:
  static constexpr uint64_t kStart = 1'700'000'000'000'000'000;  // Start of the process.

  explicit RecordingBuilder(std::string path) : path_(std::move(path)) {
    const int fd = open(path_.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) std::abort();
    writer = std::make_unique<recording::Writer>(fd, "job.host.1.0", UINT64_MAX);
    Fact("start_unix_ns", std::to_string(kStart));
    Fact("host", "host");
    Fact("pid", "41");
    Fact("api.driver.307", "cuLaunchKernel");
    Fact("api.driver.514", "cuGraphLaunch");
    Fact("api.driver.279", "cuMemcpyHtoDAsync_v2");
  }

  void Fact(std::string_view key, std::string_view value) {
    writer->Add(recording::FactRow{.key = key, .value = value});
  }

  // Interned: what is not registered.
  uint32_t Text(const std::string& text) {
    uint32_t& id = texts_[text];
    if (id == 0) {
      id = ++last_string_;
      writer->Add(recording::StringRow{.id = id, .text = text});
    }
    return id;
  }

  // A call of nvtxDomainRegisterString in domain TSL.
  uint32_t Register(const std::string& text, uint32_t thread = 7) {
    const uint32_t domain = Text("TSL");
    const uint32_t id = ++last_string_;
    recording::StringRow row{
        .id = id, .role = recording::StringRole::kRegistered, .domain = domain, .thread = thread};
    const auto [known, fresh] = registered_.try_emplace(text, id);
    if (fresh) {
      row.text = text;
    } else {
      row.same_as = known->second;
    }
    writer->Add(row);
    return id;
  }

  // Registers a module: title id first, then one per instruction.
  struct Instruction {
    std::string name;  // In the title; the HLO line has it too.
    std::string line;  // HLO.
    std::string stack = "\n";
    std::string called = "\n";
    std::string op_name;  // In the title.
  };
  std::vector<uint32_t> RegisterModule(const std::string& name, int64_t program_id,
                                       const std::vector<Instruction>& instructions,
                                       const std::string& common = "\n", uint32_t thread = 7) {
    std::vector<uint32_t> titles = {
        Register(fmt::format("XlaModule:#hlo_module={},program_id={}#", name, program_id), thread)};
    Register(name, thread);
    Register(common, thread);
    for (const Instruction& instruction : instructions) {
      titles.push_back(Register(
          instruction.op_name.empty()
              ? fmt::format("Thunk:#hlo_op={}#", instruction.name)
              : fmt::format("Thunk:#name={},hlo_op={}#", instruction.op_name, instruction.name),
          thread));
      Register(instruction.line, thread);
      Register(instruction.stack, thread);
      Register(instruction.called, thread);
    }
    return titles;
  }

  // Adds the range of one run of a module. Returns the number of the run.
  uint64_t Run(uint32_t title, uint64_t start, uint64_t end, uint32_t thread = 7) {
    writer->Add(recording::RangeRow{.thread = thread,
                                    .domain = Text("TSL"),
                                    .text = title,
                                    .start_ns = kStart + start,
                                    .end_ns = end == 0 ? 0 : kStart + end,
                                    .module_run = ++last_run_});
    return last_run_;
  }

  uint32_t Call(uint32_t function, uint64_t start, uint64_t end, uint32_t thunk, uint64_t run) {
    writer->Add(recording::ApiCallRow{.thread = 7,
                                      .function = function,
                                      .correlation = ++last_correlation_,
                                      .start_ns = kStart + start,
                                      .end_ns = kStart + end,
                                      .thunk = thunk,
                                      .module_run = run});
    return last_correlation_;
  }

  void Kernel(const std::string& symbol, uint32_t correlation, uint64_t start, uint64_t end,
              uint64_t node = 0, uint32_t graph = 0, recording::LaneRow lane = {0, 1, 13}) {
    recording::ConfigRow config{.name = symbol,
                                .grid = {4, 2, 1},
                                .block = {128, 1, 1},
                                .registers_per_thread = 32,
                                .shared_memory_static_bytes = 64,
                                .shared_memory_dynamic_bytes = 1024};
    writer->AddActivity({.start_ns = kStart + start,
                         .end_ns = kStart + end,
                         .correlation = correlation,
                         .graph = graph,
                         .graph_node = node},
                        config, lane);
  }

  void Copy(uint32_t kind, uint64_t bytes, uint32_t correlation, uint64_t start, uint64_t end,
            uint64_t node = 0) {
    recording::ConfigRow config{.kind = recording::RowKind::kMemcpy, .copy_kind = kind};
    writer->AddActivity({.kind = recording::RowKind::kMemcpy,
                         .start_ns = kStart + start,
                         .end_ns = kStart + end,
                         .correlation = correlation,
                         .graph_node = node,
                         .bytes = bytes},
                        config, {0, 1, 13});
  }

  void Node(recording::NodeEvent event, uint64_t time, uint64_t node, uint64_t original,
            uint32_t thunk, uint32_t module) {
    writer->Add(recording::GraphNodeRow{.event = event,
                                        .time_ns = kStart + time,
                                        .node = node,
                                        .original_node = original,
                                        .thunk = thunk,
                                        .module = module});
  }

  // Closes the file as a process that ends well does.
  void Finish() {
    writer->Finish();
    writer.reset();
  }
  // As one that is killed after a flush.
  void Kill() {
    writer->Flush();
    writer.reset();
  }

  const std::string& path() const { return path_; }

  std::unique_ptr<recording::Writer> writer;

 private:
  std::string path_;
  std::map<std::string, uint32_t> texts_;
  std::map<std::string, uint32_t> registered_;
  uint32_t last_string_ = 0;
  uint64_t last_run_ = 0;
  uint32_t last_correlation_ = 100;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_RECORDING_BUILDER_H_
