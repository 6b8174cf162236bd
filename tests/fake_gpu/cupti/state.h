// SPDX-License-Identifier: Apache-2.0

// State of the fake CUPTI: subscribers, enabled kinds, pending records.
#ifndef FAKE_GPU_CUPTI_STATE_H_
#define FAKE_GPU_CUPTI_STATE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <vector>

#include "cupti/layout.h"
#include "fake_cupti_api.h"
#include "fake_gpu.h"

namespace fakegpu::cupti {

using Nanos = uint64_t;

// A set of ids below 1,024 that is read without a lock.
class IdSet {
 public:
  bool Has(uint32_t id) const {
    return id < 1024 && (words_[id / 64].load(std::memory_order_relaxed) >> (id % 64) & 1) != 0;
  }
  void Set(uint32_t id, bool on) {
    if (id >= 1024) return;
    const uint64_t bit = uint64_t{1} << (id % 64);
    if (on) {
      words_[id / 64] |= bit;
    } else {
      words_[id / 64] &= ~bit;
    }
  }
  void SetAll(bool on) {
    for (auto& word : words_) word = on ? ~uint64_t{0} : 0;
  }
  bool Any() const {
    for (const auto& word : words_) {
      if (word.load(std::memory_order_relaxed) != 0) return true;
    }
    return false;
  }

 private:
  std::atomic<uint64_t> words_[16] = {};
};

// One record, in the simulated release's layout.
struct Record {
  Nanos ready = 0;  // when the device is done with it
  uint32_t kind = 0;
  uint16_t size = 0;
  uint16_t start_at = 0, end_at = 0, correlation_at = 0;  // offsets, 0: has none
  bool started_counts = false;  // a device activity: numbered for the scenario's faults
  alignas(8) unsigned char bytes[kLargestRecord];
};

// A buffer of the tool's, while it is ours.
struct Buffer {
  uint8_t* data = nullptr;
  size_t size = 0, used = 0;
  size_t room = 0, records = 0;  // 0 for `room`: as many as fit
  size_t open = 0;               // slots whose record is not complete
};

// A record that is not complete, and its slot in a buffer of the tool's.
struct Slot {
  Record record;
  Buffer* buffer = nullptr;  // null: not reserved yet ("cupti slots at completion")
  size_t at = 0;
};

// Records of one thread, or of all when per-thread buffers are off.
struct Line {
  std::mutex lock;
  std::deque<Slot> waiting;        // in order of issue
  Buffer* buffer = nullptr;        // the one with free space
  std::vector<Buffer*> filled;     // without free space, but with open slots
  std::atomic<bool> ended{false};  // its thread is gone
};

// CUPTI's second interface (13.2 and later), which the headers at hand may not have.
struct BufferInfoV2 {
  size_t size = 0;
  uint64_t thread = 0;
  void** layouts = nullptr;
  size_t layout_count = 0;
};
using RequestV2 = void (*)(uint8_t**, size_t*, size_t*, BufferInfoV2*);
using CompleteV2 = void (*)(uint8_t*, size_t, size_t, BufferInfoV2*);

struct State {
  const FakeGpuTable* gpu = nullptr;  // null: no driver, or not the fake one
  pid_t owner = 0;
  int descriptor = -1;  // the driver's; used by "cupti iterator needs descriptors"

  // Subscriber.
  std::mutex subscribe_lock;
  std::atomic<bool> subscribed{false};
  std::atomic<bool> second_interface{false};     // the subscriber uses it
  std::atomic<bool> graph_trace_allowed{false};  // attribute 20 of the second interface
  std::atomic<bool> any_kind{false};             // a kind was enabled
  std::atomic<bool> barred{false};               // no subscriber any more
  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  void* user_data = nullptr;
  char subscriber_name[64] = "";
  IdSet callbacks[16];  // by domain

  // Activities.
  std::atomic<CUpti_BuffersCallbackRequestFunc> request{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete{nullptr};
  std::atomic<RequestV2> request_v2{nullptr};  // second_interface.cc
  std::atomic<CompleteV2> complete_v2{nullptr};
  std::atomic<CUpti_TimestampCallbackFunc> timestamp{nullptr};
  IdSet kinds;
  IdSet driver_records, runtime_records;
  std::atomic<bool> zeroed{false}, per_thread{true}, latency{false};
  std::atomic<int> thread_id_type{0};
  std::atomic<size_t> dropped{0};
  std::atomic<bool> finished{false};  // after a fatal error
  std::atomic<bool> context_seen{false};

  std::mutex lines_lock;
  std::vector<Line*> lines, free_lines;

  // Full buffers on their way to the tool.
  std::mutex delivery_lock;
  std::condition_variable delivery;
  std::deque<Buffer*> full;
  std::set<uint8_t*> out;  // Buffers of the tool's that are here.
  int delivering = 0;
  bool worker = false, stopped = false;
};

State& TheState();

// Finds the driver; false: there is none.
bool Couple();
Nanos Now();
// The same time by the clock that records and cuptiGetTimestamp have; 0 stays 0.
Nanos Shown(Nanos realtime);
// Reports the requested calls to the driver, after a change.
void PublishWanted(uint32_t domain, uint32_t cbid);
void PublishAllWanted();
bool CorrelationOn();

// ---- records.cc ----
Record FromActivity(const FakeGpuActivity& activity);
Record FromCall(const FakeGpuCall& call);
Record FromGraphLaunch(const FakeGpuGraphLaunch& launch);
Record FromSync(const FakeGpuSync& sync);
Record FromEvent(const FakeGpuEvent& event);
Record Overhead(int kind, Nanos start, Nanos end, uint32_t correlation);
Record ExternalCorrelation(int kind, uint64_t id, uint32_t correlation);
Record DeviceRecord(int device);
Record ContextRecord(const FakeGpuContextInfo& context);
Record StreamRecord(const FakeGpuStreamInfo& stream);
Record ModuleRecord(uint32_t context_id, uint32_t id, const void* cubin, size_t size);

// ---- delivery.cc ----
// Takes a record in; it reaches the tool when it is ready.
void Submit(Record record);
// All that is ready goes to the tool before this returns; `forced`: the rest too, without end.
void Flush(bool forced);
void StartWorker();
// Requests a buffer from the tool and returns it empty, on this thread.
void Reenter();
// Drops everything on its way, without a word to the tool.
void Forget();

// ---- hooks.cc ----
const FakeGpuTool* Hooks();
// The callback of the tool's that this thread is in; 0: none. Buffers' count as one.
enum class Inside { kNothing, kApi, kOther };
Inside InsideCallback();
void TellState(uint32_t id, CUptiResult result, const char* message);

}  // namespace fakegpu::cupti

#endif  // FAKE_GPU_CUPTI_STATE_H_
