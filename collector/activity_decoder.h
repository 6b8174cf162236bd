// SPDX-License-Identifier: Apache-2.0

// Decodes CUPTI's records into rows of the recording, for CUDA 11 to 13. The size of a record is
// the distance to the next one from CUPTI's own iterator. A field behind the end of a record reads
// as zero (collector/record_layout.h).
//
// Thread-safety: the writer thread only, if a function does not state otherwise.

#ifndef XLATRACE_COLLECTOR_ACTIVITY_DECODER_H_
#define XLATRACE_COLLECTOR_ACTIVITY_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collector/activity_buffers.h"
#include "collector/cupti_api.h"
#include "collector/record_layout.h"
#include "collector/skipped_calls.h"
#include "collector/steering.h"
#include "recording/writer.h"

namespace xlatrace::collector {

struct DecodeCounts {
  uint64_t kernels = 0;
  uint64_t copies = 0;
  uint64_t memsets = 0;
  uint64_t graph_rows = 0;
  // Number of stored records whose start or end is 0, or whose end is before the start.
  uint64_t invalid_time = 0;
  uint64_t unknown = 0;         // Kinds that were not requested.
  uint64_t cut_buffers = 0;     // CUPTI's iterator failed: later records are lost.
  uint64_t outside_window = 0;  // Records of calls that were not recorded.
  uint64_t too_short = 0;       // Smaller than any known version: skipped.
};

// Where the records of a buffer begin.
struct RecordIndex {
  std::vector<uint32_t> starts;
  CUptiResult end = CUPTI_ERROR_MAX_LIMIT_REACHED;  // Result of the iterator; for any other value,
                                                    // the remaining records are lost.
  bool left_the_buffer = false;                     // The last record has no usable size.
};

class ActivityDecoder {
 public:
  explicit ActivityDecoder(const CuptiApi* api) : api_(api) {}

  // Any thread. From CUDA 13.2 on, the iterator is a call into a running CUPTI, which may use the
  // program's descriptors. The writer thread does not have these descriptors.
  static RecordIndex Index(const CuptiApi& api, const ActivityBuffers::Buffer& buffer);
  void Decode(const ActivityBuffers::Buffer& buffer, const RecordIndex& index,
              recording::Writer& writer);
  void Decode(const ActivityBuffers::Buffer& buffer, recording::Writer& writer) {
    Decode(buffer, Index(*api_, buffer), writer);
  }
  // CLOCK_REALTIME minus CUPTI's clock; this value is added to times of records.
  void SetClockOffset(int64_t offset_ns) { clock_offset_ns_ = offset_ns; }
  // Activities of these calls are left out from now on.
  void SetSkipped(const SkippedCalls* calls) { skipped_ = calls; }
  // A window of steps (steering.h) that waits for the device.
  void SetSteering(Steering* steering) { steering_ = steering; }

  const DecodeCounts& counts() const { return counts_; }
  // Times of omitted device work since the last call: one interval per stretch of such records
  // without a recorded one in between. At the edges of a window (steering.h), omitted and recorded
  // work run in parallel, on streams that lag behind the program by different times.
  struct Interval {
    uint64_t start_ns, end_ns;
  };
  std::vector<Interval> TakeOutside();
  // Bytes of a record by kind, as seen; 0 = not seen.
  static constexpr size_t kKindCount = 64;
  uint32_t record_bytes(size_t kind) const { return sizes_[kind]; }

 private:
  void One(const RecordView& record, recording::Writer& writer);
  void Kernel(const RecordView& record, recording::Writer& writer);
  void Memcpy(const RecordView& record, recording::Writer& writer);
  void PeerCopy(const RecordView& record, recording::Writer& writer);
  void Memset(const RecordView& record, recording::Writer& writer);
  void GraphTrace(const RecordView& record, recording::Writer& writer);
  void Device(const RecordView& record, recording::Writer& writer);
  bool CanBeRead(const char* text);
  // A time of a record in the clock of the recording; 0 stays 0.
  uint64_t Time(uint64_t cupti_ns) const {
    return cupti_ns == 0 ? 0 : cupti_ns + static_cast<uint64_t>(clock_offset_ns_);
  }
  void CheckTimes(const recording::ActivityRow& row);
  // The node of another graph from which the node of `row` was cloned. 0: the record does not have
  // it.
  void NoteSource(const recording::ActivityRow& row, uint64_t source, recording::Writer& writer);
  bool OutsideWindow(const recording::ActivityRow& row);

  const CuptiApi* api_;
  int64_t clock_offset_ns_ = 0;
  const SkippedCalls* skipped_ = nullptr;
  Steering* steering_ = nullptr;
  DecodeCounts counts_;
  std::vector<Interval> outside_;
  bool joins_outside_ = false;  // The last record was also left out.
  struct Source {
    uint64_t node = 0;
    uint64_t start_ns = 0;  // Start of the node's last activity.
  };
  std::unordered_map<uint64_t, Source> sources_;  // By node.
  uint32_t sizes_[kKindCount] = {};
  static constexpr int kReadableBits = 13;
  uintptr_t readable_[size_t{1} << kReadableBits] = {};  // Pages that were looked at.
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_ACTIVITY_DECODER_H_
