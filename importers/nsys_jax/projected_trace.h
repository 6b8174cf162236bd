// SPDX-License-Identifier: Apache-2.0

// The table of nsys' recipe nvtx_gpu_proj_trace: every NVTX range with the GPU time of the work
// launched inside it. As Parquet (nsys-jax) or CSV (nsys recipe, unpacked captures).
//
// Ownership: views into the table's own bytes. Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_PROJECTED_TRACE_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_PROJECTED_TRACE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace xlatrace::importers {

struct ProjectedRange {
  std::string_view name;  // "TSL:Thunk:#...#"; empty: the work launched outside all ranges.
  std::optional<int64_t> start_ns;  // On the GPU.
  std::optional<int64_t> duration_ns;
  std::optional<int64_t> host_start_ns;
  std::optional<int64_t> host_duration_ns;
  int64_t pid = 0;
  int64_t tid = 0;
  int64_t gpu_ops = 0;
  std::optional<int64_t> range_id;
  std::optional<int64_t> parent_id;
};

struct ProjectedTrace {
  std::vector<ProjectedRange> ranges;  // In the order of the table.
  std::deque<std::string> storage;
};

// Detects the format from the content. Errors: no such table, or one without required columns.
Result<std::unique_ptr<ProjectedTrace>> ReadProjectedTrace(std::string bytes);

// Rows of an RFC 4180 file: `each` gets the cells of the requested `columns`, in their order; empty
// for a column that the file lacks. Returns the number of damaged rows.
int64_t ForEachCsvRow(std::string_view bytes, const std::vector<std::string_view>& columns,
                      const std::function<void(const std::vector<std::string>&)>& each);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_PROJECTED_TRACE_H_
