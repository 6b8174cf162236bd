// SPDX-License-Identifier: Apache-2.0

// Memory of the modules that ran: XLA's buffer assignment, if the module has one, and the live
// ranges of values. Private to report/page.

#ifndef XLATRACE_REPORT_PAGE_PAGE_MEMORY_H_
#define XLATRACE_REPORT_PAGE_PAGE_MEMORY_H_

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/live_values.h"
#include "analysis/memory/module_buffers.h"
#include "hlo/artefacts/buffer_assignment.h"
#include "model/hlo_module.h"
#include "report/page/page_context.h"
#include "report/page/page_table.h"

namespace xlatrace::report {

class MemoryTables {
 public:
  explicit MemoryTables(PageContext& page);

  // Times of the instructions of programs with a buffer assignment; before Add.
  Status LoadTimes();

  // `module_row` and `first_instruction`: rows of `modules` and `instructions`.
  void Add(const model::HloModule& module, int64_t module_row, int64_t first_instruction);
  void Write();

 private:
  // `buffers` may be null.
  void AddAssignment(const model::HloModule& module, const hlo::BufferAssignment& assignment,
                     const analysis::ModuleBuffers* buffers, int64_t module_row);
  void AddLiveValues(const model::HloModule& module, const analysis::ModuleBuffers* buffers,
                     int64_t module_row, int64_t first_instruction);
  void AddBuffers(const model::HloModule& module, const analysis::ModuleBuffers& buffers,
                  const analysis::LiveValues& live, int64_t module_row, int64_t first_instruction);

  PageContext& page_;
  // Time in the execution with median duration; nullopt: not recorded.
  struct Span {
    std::optional<int64_t> start_ns, end_ns;
  };

  PageTable memory_, order_, values_;
  std::unordered_map<int64_t, std::vector<Span>> times_;  // By row of `modules`, by position.
  int64_t memory_left_out_ = 0, live_left_out_ = 0;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_PAGE_MEMORY_H_
