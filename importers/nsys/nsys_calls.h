// SPDX-License-Identifier: Apache-2.0

// The CUDA calls of an export. Stored are the first call of each correlation id with a device
// activity, and waits of at least 1 us. Other calls are counted by name. They are stored only if
// the caller requests all rows for the views with Nsight's names.
//
// Read may run on another thread while ranges are read, because it needs no ranges. Memory: 28
// bytes per activity with a correlation id, and 32 bytes per call until the call is taken.
// Thread-safety: one thread at a time.

#ifndef XLATRACE_IMPORTERS_NSYS_NSYS_CALLS_H_
#define XLATRACE_IMPORTERS_NSYS_NSYS_CALLS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "importers/common/counters.h"
#include "importers/common/launch_table.h"
#include "importers/nsys/nsys_devices.h"
#include "importers/nsys/nsys_tables.h"

namespace xlatrace::importers {

// The host's facts about a launch.
struct NsysLaunch {
  uint32_t call = 0;
  uint32_t thunk_hint = 0;
  uint32_t module_hint = 0;
  int32_t module_range = -1;
};

class NsysCalls {
 public:
  // Reads the export at `path`; `strings` must outlive the object.
  NsysCalls(std::string path, const InternedStrings& strings)
      : path_(std::move(path)), strings_(strings), counters_(path_) {}

  // Opens a separate connection. `shift_ns` is added to all times.
  Status Read(int64_t shift_ns);

  enum class Use : uint8_t {
    kLaunch,         // Find returns an entry, and the call is the first with this id.
    kMayExplainGap,  // importers/common/kept_calls.h
    kNone,
  };
  // Further facts of the export about a call.
  struct Outcome {
    std::optional<int32_t> event_class, return_value;
    bool operator==(const Outcome&) const = default;
  };
  struct Call {
    int64_t start_ns;
    int64_t end_ns;
    int64_t correlation_id;
    uint32_t thread;  // Index in the threads seen.
    uint16_t name;    // Index in the list of names.
    Use use;
    uint8_t outcome;  // Index in the outcomes seen; 0: unknown.
  };
  // Calls take(call, global tid, name, outcome) for each call in the order of the export, and
  // removes it.
  template <typename Take>
  void TakeCalls(Take take) {
    for (std::vector<Call>& calls : calls_) {
      for (Call& call : calls) {
        const int64_t tid = threads_[call.thread];
        // A process that launches nothing, a launcher's, has no gaps.
        if (call.use == Use::kMayExplainGap && !launching_.contains(tid & ~kTidMask)) {
          call.use = Use::kNone;
          ++names_[call.name]->not_kept;
        }
        take(call, tid, names_[call.name]->text, outcomes_[call.outcome]);
      }
      std::vector<Call>().swap(calls);
    }
    calls_.clear();
  }

  // Null when no activity refers to that id. `pid_part`: of a global id.
  NsysLaunch* Find(int64_t pid_part, int64_t correlation) {
    return launches_.Find(has_pids_ ? pid_part : 0, correlation);
  }

  // Calls that launch kernels or graphs and succeeded.
  int64_t launch_calls() const { return launch_calls_; }
  int64_t calls() const { return calls_seen_; }
  // The names with the most time: "cudaFree 8.10 s, cudaMalloc 12.0 ms".
  std::string Longest(size_t names) const;

  // Reports rows that were not kept or could not be read.
  void FlushCounters(model::EventSink& sink);

 private:
  struct Name {
    std::string text;
    bool may_block = false;
    bool is_launch = false;   // Launches kernels or graphs: leaves records.
    bool has_record = false;  // Calls of this name have records; exports differ in this.
    int8_t capture = 0;       // Stream capture: 1 begins, -1 ends.
    int64_t not_kept = 0;
    int64_t total_ns = 0;
    uint16_t number = 0;
  };

  // Launches without a record. `lost`: later launches of the process have records. `unfinished`:
  // the capture ended before they ran. Launches in stream capture and failed launches are not
  // counted.
  struct Unmatched {
    int64_t pid_part;
    int64_t start_ns;
    uint16_t name;
  };
  void CountUnmatched();

  Status FindReferred();
  Status ReadCalls(int64_t shift_ns);
  Name& NameOf(std::string_view text);
  Name& AddName(std::string_view text);
  uint32_t ThreadOf(int64_t tid);
  uint8_t OutcomeOf(const TableScan& scan);

  std::string path_;
  const InternedStrings& strings_;
  Counters counters_;
  int64_t launch_calls_ = 0;
  int64_t calls_seen_ = 0;
  bool has_pids_ = false;
  LaunchTable<NsysLaunch> launches_;
  std::deque<std::vector<Call>> calls_;
  std::vector<Unmatched> unmatched_;
  std::unordered_map<int64_t, int64_t> last_launch_ns_;  // With a record, by process.
  std::unordered_set<int64_t> capturing_;                // Threads.
  std::set<int64_t> launching_;                          // Processes, by the upper part of a tid.
  int64_t last_launching_ = -1;
  std::vector<int64_t> threads_;
  std::unordered_map<int64_t, uint32_t> thread_index_;
  int64_t last_tid_ = 0;
  uint32_t last_thread_ = 0;
  std::map<std::string, Name, std::less<>> name_index_;
  std::vector<Name*> names_;
  std::string_view last_text_;
  Name* last_name_ = nullptr;
  std::vector<Outcome> outcomes_ = {Outcome()};
  uint8_t last_outcome_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_NSYS_CALLS_H_
