// SPDX-License-Identifier: Apache-2.0

// A run between RunBuilder, which collects it, and RunSaver, which writes it: all content of run.db
// except the results of correlator and analysis.
//
// Thread-safety: plain data.

#ifndef XLATRACE_STORE_RUN_CONTENT_H_
#define XLATRACE_STORE_RUN_CONTENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "model/events.h"
#include "model/gap_stack.h"
#include "model/memory_rows.h"
#include "model/run_tables.h"
#include "model/time_tree.h"
#include "store/activity_rows.h"
#include "store/range_rows.h"
#include "store/table_builder.h"

namespace xlatrace::store {

struct RunContent {
  // `beside`: see PageSpool.
  explicit RunContent(const std::string& beside)
      : ranges(beside),
        call_pages(beside),
        call_rows([this](std::string_view page, int64_t last) { call_pages.Add(page, last); }) {}
  RunContent(const RunContent&) = delete;
  RunContent& operator=(const RunContent&) = delete;

  model::RunTables tables;

  // Texts by id - 1. They are owned by the builder's dictionary.
  std::vector<const std::string*> texts;
  struct ConfigTexts {  // Ids of texts; 0: none.
    model::Id symbol = 0;
    model::Id name = 0;
    model::Id demangled = 0;
  };
  std::vector<ConfigTexts> config_texts;  // Same order as tables.configs.
  std::vector<model::Id> range_texts;     // Text of a range, by the text's number in `ranges` - 1.

  struct Module {
    model::ModuleBlob::Format format = model::ModuleBlob::Format::kHloProto;
    // Compressed (zstd); empty: none.
    std::string bytes, thunk_sequence, thunk_metadata;
  };
  // Same order as the first of tables.modules; added modules have none.
  std::vector<Module> modules;

  struct Thread {
    model::Id process_id = 0;
    int64_t thread_id = 0;
    std::string name;
  };
  std::vector<Thread> threads;  // A later call for the same thread replaces the name.
  struct Compile {
    model::Id process_id = 0;
    model::Id module_id = 0;
    std::string name;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    model::CompileStage stage = model::CompileStage::kCompile;
    std::shared_ptr<const model::CompileFacts> facts;
  };
  std::vector<Compile> compiles;
  std::vector<model::TimeTreeRow> time_tree;
  std::vector<model::GapStackRow> gap_stacks;
  model::MemoryTables memory;
  struct NvtxRow {
    int64_t global_tid = 0;
    int64_t event_type = 0;
    std::optional<int64_t> start_ns, end_ns;
    model::Id text_id = 0;
    int64_t domain_number = -1;
  };
  std::vector<NvtxRow> nvtx_rows;

  std::map<std::string, std::string, std::less<>> run_info;
  using StatKey = std::tuple<std::string, model::Severity, std::string>;
  std::map<StatKey, std::pair<int64_t, std::string>> run_stats;
  // Run stats counted by attribution and analysis, which a new attribution counts again.
  std::set<StatKey> derived_stats;

  ActivityRows activity_rows;
  RangeRows ranges;
  // Rows of calls without an activity.
  PageSpool call_pages;
  TableBuilder call_rows;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_CONTENT_H_
