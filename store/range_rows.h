// SPDX-License-Identifier: Apache-2.0

// The packed rows of ranges, made on a thread of its own: exports hold them by the million, and
// hashing their texts and filling pages costs as much as reading them.
//
// Add copies a range into a batch; a full batch goes to the thread, which finds the range's kind
// (process, thread, domain and text), puts the row into pages and remembers the long ones for the
// analysis. Few ranges need no thread. Everything comes out in the order in which it was added, so
// a run does not depend on how the threads took turns.
//
// Memory: some megabytes of batches and PageSpool's, and each text once.
// Thread-safety: one thread (the other one is this class's own).

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

// Texts come by the million: they are looked up as they are, without a copy.
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
    uint32_t domain = 0;  // Of texts, from 1; 0: the default domain.
    uint32_t text = 0;
    int64_t domain_number = -1;
  };

  // `beside`: as of PageSpool.
  explicit RangeRows(std::string beside);
  ~RangeRows();
  RangeRows(const RangeRows&) = delete;
  RangeRows& operator=(const RangeRows&) = delete;

  // The rowid, from 1.
  model::Id Add(const model::Range& range);

  // Waits until all rows so far are in pages. What follows may be asked after it and before the
  // next Add.
  void Settle();

  // Kind n of the rows is kinds()[n - 1].
  const std::vector<Kind>& kinds() const;
  // Text to its number, from 1 in order of appearance: those since the last time.
  TextMap<model::Id> TakeTexts();
  // Its name ids are kinds.
  const HostEventList& host_events() const;
  // The rows (kind, start_ns, duration_ns, depth). After that no Add.
  Status Drain(const TableBuilder::LeafSink& sink);

 private:
  class Maker;
  struct Batch;
  struct Worker;

  void HandOver();

  std::unique_ptr<Maker> maker_;
  std::unique_ptr<Batch> batch_;  // That is being filled.
  int64_t rows_ = 0;
  std::unique_ptr<Worker> worker_;  // None until a batch is full.
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RANGE_ROWS_H_
