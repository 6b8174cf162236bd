// SPDX-License-Identifier: Apache-2.0

// Finds rows of device activities that a file holds more than once, for example after two copies of
// a table were joined.
//
// Rule: two rows of one stream are one record if start, end, launch configuration, correlation id
// and graph node are equal. A stream does one thing at a time. Rows without duration are
// kept. Without a correlation id the times must be finer than a microsecond: coarser clocks round
// neighbours to the same times.
//
// Memory: 8 bytes per row where the rows of a stream come in order of time, 16 where not.
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_REPEATED_ROWS_H_
#define XLATRACE_IMPORTERS_COMMON_REPEATED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "importers/common/counters.h"
#include "model/events.h"

namespace xlatrace::importers {

class RepeatedRows {
 public:
  // Whether an equal row was given before.
  bool IsRepeated(const model::Activity& row);
  // Adds the run stat `repeated_row`.
  void Count(Counters& counters);

 private:
  // Hashes of the rows of one stream.
  class Rows {
   public:
    // False: there was one.
    bool Add(int64_t start_ns, uint64_t hash);

   private:
    bool Insert(uint64_t hash);
    void Grow();

    int64_t latest_start_ns_ = INT64_MIN;
    bool in_order_ = true;
    std::vector<uint64_t> hashes_;  // In order of time; else an open-addressing table, 0: free.
    size_t used_ = 0;
  };

  std::unordered_map<model::Id, Rows> lanes_;
  int64_t repeated_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_REPEATED_ROWS_H_
