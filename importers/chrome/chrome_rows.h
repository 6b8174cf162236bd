// SPDX-License-Identifier: Apache-2.0

// Rows of a JSON trace, collected in any order and added to the sink at the end of the trace. Only
// then are referenced API calls, the zero of the clock and the nesting of ranges known.
//
// Memory: 72 bytes per activity, 40 per API call, 24 per range. Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_CHROME_CHROME_ROWS_H_
#define XLATRACE_IMPORTERS_CHROME_CHROME_ROWS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/common/counters.h"
#include "importers/common/xla_ranges.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// Times of rows count from the trace's own zero until Flush shifts them.
struct ChromeActivity {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t correlation = 0;  // 0: none.
  int64_t bytes = -1;
  int64_t graph_node_id = 0;
  int64_t run_key = 0;
  uint32_t graph_id = 0;
  uint32_t lane = 0;    // Index of a lane; Flush gets the lanes' ids.
  uint32_t config = 0;  // Ids of the sink.
  uint32_t hint = 0;
  uint16_t device = 0;  // Number of the device in the dialect, for migrations.
  bool nests = false;   // Activities of the lane nest (CPU and TPU ops), so self time is computed.
  bool migrates = false;  // A page migration (importers/common/page_migrations.h).
};

struct ChromeCall {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t correlation = 0;
  int64_t tid = 0;
  uint32_t name = 0;  // Index of a text.
};

struct ChromeRange {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread = 0;  // Index of a thread.
  uint32_t text = 0;
  bool is_frame = false;  // A call of a Python function; until Flush in the trace's own time.
};

// Converts times to those of the sink. Rows are shifted by `shift_ns`. Frames are first shifted to
// the rows' zero.
struct ChromeClock {
  int64_t shift_ns = 0;
  int64_t epoch_ns = 0;
};

class ChromeRows {
 public:
  uint32_t Text(std::string_view text);
  uint32_t Thread(int64_t pid, int64_t tid);

  void Add(const ChromeActivity& row) { activities_.push_back(row); }
  void Add(const ChromeCall& row) { calls_.push_back(row); }
  void Add(const ChromeRange& row) { (row.is_frame ? frames_ : ranges_).push_back(row); }

  ChromeActivity& activity(size_t index) { return activities_[index]; }
  size_t activities() const { return activities_.size(); }
  size_t calls() const { return calls_.size(); }
  size_t ranges() const { return ranges_.size(); }
  size_t frames() const { return frames_.size(); }

  // `process`: process of the calls and ranges. `lanes`: ids by lane index. Removes the rows.
  void Flush(model::Id process, const std::vector<model::Id>& lanes, const ChromeClock& clock,
             model::EventSink& sink, Counters& counters);

 private:
  // Facts about the launches in a host range whose name is from XLA.
  struct RangeHint {
    uint32_t hint = 0;
    int64_t run_key = 0;
  };

  void FlushCalls(model::Id process, int64_t shift_ns, model::EventSink& sink, Counters& counters);
  void FlushActivities(const std::vector<model::Id>& lanes, int64_t shift_ns,
                       model::EventSink& sink, Counters& counters);
  // Only for threads that work for a device. Other threads (such as one with a progress bar) only
  // wait.
  void KeepFrames(const std::set<int64_t>& calling, int64_t epoch_ns, Counters& counters);
  void FlushRanges(model::Id process, int64_t shift_ns, model::EventSink& sink);

  std::vector<ChromeActivity> activities_;
  std::vector<ChromeCall> calls_;
  std::vector<ChromeRange> ranges_;
  std::vector<ChromeRange> frames_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> text_index_;
  std::vector<std::pair<int64_t, int64_t>> threads_;
  std::map<std::pair<int64_t, int64_t>, uint32_t> thread_index_;
  std::vector<model::Id> call_of_;  // Per activity.
  std::vector<RangeHint> said_of_;  // Per activity; empty where XLA named no range.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_CHROME_CHROME_ROWS_H_
