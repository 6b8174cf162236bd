// SPDX-License-Identifier: Apache-2.0

// State that the readers of the dialects of JSON traces share. Internal to chrome_*.cc.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_CHROME_CHROME_IMPORT_H_
#define XLATRACE_IMPORTERS_CHROME_CHROME_IMPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "importers/chrome/chrome_event.h"
#include "importers/chrome/chrome_rows.h"
#include "importers/common/counters.h"
#include "model/event_sink.h"

namespace xlatrace::importers::chrome {

// Facts of the outer object that concern a run.
struct TraceFacts {
  std::optional<int64_t> base_unix_ns;
  std::optional<int64_t> rank;
  std::string device_properties;  // JSON list, as written.
  std::vector<std::pair<std::string, std::string>> run_info;
};

struct Import {
  Import(model::EventSink& s, const std::string& path) : sink(s), counters(path) {}

  model::EventSink& sink;
  Counters counters;
  ChromeRows rows;
  TraceFacts facts;
  std::vector<model::StepMark> steps;  // Times from the trace's own zero; process filled later.

  // Interval of an event from the trace's zero; nullopt (and counted) if the event has no interval.
  struct Interval {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  std::optional<Interval> Time(const ChromeEvent& event);
  // The interval in the trace's own time. Events outside of the run do not set the zero.
  std::optional<Interval> TraceTime(const ChromeEvent& event);
  void AddRange(int64_t pid, int64_t tid, const Interval& time, std::string_view text);
  // A call of a Python function. Such calls are kept only for threads with other events. `time` is
  // in the trace's time.
  void AddFrame(int64_t pid, int64_t tid, const Interval& time, std::string_view text);
  void Count(std::string_view stat) { counters.Add(stat, model::Severity::kInfo); }

  // Results of a dialect.
  int64_t kernels = 0;
  int64_t ops = 0;
  int64_t mtia_events = 0;  // Events of Meta's accelerator.
  int64_t replayed = 0;  // Kernels that were repeated to read counters, without times of their own.
  std::string gpu_names;
  int64_t epoch_ns = 0;  // Zero of the rows' times, in the trace's own time.
  bool has_epoch = false;
};

// Facts known at the end of a trace: process and lanes of the rows.
struct Placement {
  model::Id process = 0;
  std::vector<model::Id> lanes;  // Ids by lane index.
};

// The reader of one dialect. Rows refer to lanes by index, because device facts and ranks may
// follow the events in the file.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual void OnEvent(const ChromeEvent& event) = 0;
  // After the last event: adds process, devices and lanes to the sink.
  virtual Placement Finish() = 0;
};

std::unique_ptr<Dialect> MakeKineto(Import& import);
std::unique_ptr<Dialect> MakeXprof(Import& import);
std::unique_ptr<Dialect> MakeTensorflow(Import& import);
// True if a process of a TensorFlow timeline has this name.
bool IsTensorflowPlane(std::string_view label);

}  // namespace xlatrace::importers::chrome

#endif  // XLATRACE_IMPORTERS_CHROME_CHROME_IMPORT_H_
