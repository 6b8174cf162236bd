// SPDX-License-Identifier: Apache-2.0

// The packed rows of ranges, made on a separate thread. Exports have millions of ranges, and
// hashing their texts and filling pages costs as much as reading them.
//
// Add copies a range into a batch. The thread takes full batches. It finds the kind of each range
// (process, thread, domain and text), writes the row into pages, and keeps long ranges for the
// analysis. Few ranges need no thread. The result has the order of adding, so a run does not depend
// on the timing of the threads.
//
// Memory: some megabytes of batches and of PageSpool, and each text once. Thread-safety: one thread
// (the second one is internal).

#ifndef XLATRACE_STORE_RANGE_ROWS_H_
#define XLATRACE_STORE_RANGE_ROWS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "model/events.h"
#include "store/host_event_list.h"
#include "store/table_builder.h"

namespace xlatrace::store {

// There are millions of texts, so look-ups do not copy them.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return Hash(text); }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

class RangeRows {
 public:
  struct Kind {
    model::Id process_id = 0;
    int64_t thread_id = 0;
    uint32_t domain = 0;  // Number of the text, from 1; 0: the default domain.
    uint32_t text = 0;
    int64_t domain_number = -1;
  };

  // `beside`: see PageSpool.
  explicit RangeRows(std::string beside);
  ~RangeRows();
  RangeRows(const RangeRows&) = delete;
  RangeRows& operator=(const RangeRows&) = delete;

  // Returns the rowid, from 1.
  model::Id Add(const model::Range& range);

  // Waits until all rows so far are in pages. The functions below require a Wait without a later
  // Add.
  void Settle();

  // Kind n of the rows is kinds()[n - 1].
  const std::vector<Kind>& kinds() const;
  // New texts since the last call, with their numbers: from 1 in order of appearance.
  TextMap<model::Id> TakeTexts();
  // The name ids of these ranges are kinds.
  const HostEventList& host_events() const;
  // Writes the rows (kind, start_ns, duration_ns, depth). Do not call Add after it.
  Status Drain(const TableBuilder::LeafSink& sink);

 private:
  class Maker;
  struct Batch;
  struct Worker;

  void HandOver();

  std::unique_ptr<Maker> maker_;
  std::unique_ptr<Batch> batch_;  // The batch that is being filled.
  int64_t rows_ = 0;
  std::unique_ptr<Worker> worker_;  // Null until a batch is full.
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RANGE_ROWS_H_
