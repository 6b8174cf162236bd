// SPDX-License-Identifier: Apache-2.0

// CUPTI's part in a recording: the settings of `xlatrace record`, the subscription, the kinds of
// records and their buffers.

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "collector/callbacks.h"
#include "collector/collector.h"
#include "collector/device_limits.h"
#include "collector/process_facts.h"
#include "collector/steering.h"

namespace xlatrace::collector {
namespace {

constexpr uint64_t kDefaultMaxBytes = uint64_t{4} << 30;
// A forced flush gives up the times of work that has not ended, so it is for programs that hang.
// Kernels take seconds at most, but a collective waits while another rank writes a checkpoint.
constexpr uint64_t kDefaultStallMs = 20000;

uint64_t EnvNumber(const char* name, uint64_t otherwise, uint64_t least, uint64_t most) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') return otherwise;
  return std::clamp<uint64_t>(value, least, most);
}

void CUPTIAPI OnBufferRequested(uint8_t** data, size_t* bytes, size_t* max_records) {
  const ActivityBuffers::Buffer buffer = Collector::Get().buffers.Request();
  *data = buffer.data;
  *bytes = buffer.bytes;
  *max_records = 0;
}

void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* data, size_t bytes, size_t valid) {
  Collector& collector = Collector::Get();
  collector.buffers.Completed(data, bytes, valid);
  if (Collector::Alive()) collector.WakeFlusher();
}

// The same for the second interface.
void CUPTIAPI OnBufferRequestedV2(uint8_t** data, size_t* bytes, size_t* max_records, void*) {
  OnBufferRequested(data, bytes, max_records);
}
void CUPTIAPI OnBufferCompletedV2(uint8_t* data, size_t bytes, size_t valid, void*) {
  OnBufferCompleted(nullptr, 0, data, bytes, valid);
}

}  // namespace

// Reads the settings of `xlatrace record` from the environment. An invalid setting is reported and
// ignored; then everything is recorded.
void Collector::ReadSettings() {
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  flush_period_ms_ = EnvNumber("XLATRACE_FLUSH_MS", 1000, 10, 60000);
  stall_ns_ = EnvNumber("XLATRACE_STALL_MS", kDefaultStallMs, 0, uint64_t{1} << 40) * 1000000;
  max_bytes_ = EnvNumber("XLATRACE_MAX_BYTES", kDefaultMaxBytes, 1 << 20, uint64_t{1} << 50);
  light_ = text("XLATRACE_MODE") == "light";
  whole_graphs_ = text("XLATRACE_GRAPHS") == "graph";
  records_waits_ = text("XLATRACE_SYNC") == "1";
  last_ns_ = EnvNumber("XLATRACE_LAST_MS", 0, 0, uint64_t{1} << 40) * 1000000;
  const uint64_t delay_ms = EnvNumber("XLATRACE_DELAY_MS", 0, 0, uint64_t{1} << 40);
  const uint64_t duration_ms = EnvNumber("XLATRACE_DURATION_MS", 0, 0, uint64_t{1} << 40);
  std::optional<StepWindow> steps;
  if (const std::string asked = text("XLATRACE_STEPS"); !asked.empty()) {
    steps = ParseSteps(asked);
    if (steps && light_) {
      steps.reset();
      Fact("error", "XLATRACE_STEPS needs XLA's ranges, which light mode does not record");
    } else if (!steps) {
      Fact("error", "XLATRACE_STEPS is no window of steps (first:end): " + asked);
    } else {
      Fact("steps", asked);
    }
  }
  if (delay_ms != 0) Fact("delay_ms", std::to_string(delay_ms));
  if (duration_ms != 0) Fact("duration_ms", std::to_string(duration_ms));
  if (last_ns_ != 0) Fact("last_ms", std::to_string(last_ns_ / 1000000));
  if (whole_graphs_) Fact("graphs", "graph");
  steering.Configure(steps, delay_ms, duration_ms);
}

bool Collector::Subscribe() {
  std::string error;
  if (!LoadCupti(&api, &error)) {
    Fact("error", error);
    return false;
  }
  Fact("cupti_version", std::to_string(api.version));
  Fact("cupti_path", api.path);
  if (api.CanUseV2(DriverVersion())) {
    if (const std::optional<bool> subscribed = SubscribeBesideOthers()) return *subscribed;
  }
  // Without a subscription of our own two tools would overwrite each other's buffers, silently.
  const CUptiResult result =
      api.cuptiSubscribe(&subscriber_, reinterpret_cast<CUpti_CallbackFunc>(&OnCallback), this);
  if (result == CUPTI_SUCCESS) return true;
  error = "cuptiSubscribe: " + api.Describe(result);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    error += ": another profiler holds CUPTI";
    // The newer function names it (13.0; from 13.2 on the two may not be mixed).
    if (api.cuptiSubscribe_v2 != nullptr && api.version >= 130000 && api.version < 130200) {
      char holder[128] = "";
      CUpti_SubscriberParams parameters = {};
      parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
      parameters.subscriberName = "xlatrace";
      parameters.oldSubscriberName = holder;
      parameters.oldSubscriberSize = sizeof(holder);
      CUpti_SubscriberHandle unused = nullptr;
      api.cuptiSubscribe_v2(&unused, reinterpret_cast<CUpti_CallbackFunc>(&OnCallback), this,
                            &parameters);
      if (holder[0] != '\0') error.append(": ").append(holder);
    }
  } else if (IsUnderDebugger()) {
    error += ": a debugger is attached, beside which CUPTI does not work";
  }
  Fact("error", error);
  return false;
}

// The second interface serves several profilers at a time, if all of them request that. Nullopt: it
// is not available, but the first one may be. If the result is 27 or 999, or 39 without the name of
// a profiler, the driver does not support several profilers. Source: cupti_callbacks.h of 13.5 ("if
// the request cannot be fulfilled"). jaxlib's mosaic_gpu_ext.cc then uses the first one, too.
std::optional<bool> Collector::SubscribeBesideOthers() {
  char first[128] = "";
  cupti_v2::SubscriberParams parameters;
  parameters.struct_size = sizeof(parameters);
  parameters.subscriber_name = "xlatrace";
  parameters.old_subscriber_name = first;
  parameters.old_subscriber_size = sizeof(first);
  parameters.allow_multiple_subscribers = 1;
  const CUptiResult result = api.v2.cuptiSubscribe_v2(
      &subscriber_, reinterpret_cast<CUpti_CallbackFunc>(&OnCallback), this, &parameters);
  if (result == CUPTI_SUCCESS) {
    api.v2_subscriber = subscriber_;
    uint64_t now_ns = 0;
    const CUptiResult served = api.Timestamp(&now_ns);
    if (served == CUPTI_SUCCESS || api.v2.cuptiGetTimestamp_v2 == nullptr ||
        api.cuptiUnsubscribe == nullptr) {
      Fact("cupti_interface", "2");
      if (first[0] != '\0') Fact("beside_profiler", first);
      return true;
    }
    api.cuptiUnsubscribe(subscriber_);
    api.v2_subscriber = nullptr;
    subscriber_ = nullptr;
    Fact("note", "cuptiGetTimestamp_v2: " + api.Describe(served));
    return std::nullopt;
  }
  subscriber_ = nullptr;
  const std::string refused = "cuptiSubscribe_v2: " + api.Describe(result);
  if (result != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || first[0] == '\0') {
    Fact("note", refused);
    return std::nullopt;
  }
  Fact("error", refused + ": another profiler holds CUPTI for itself: " + first);
  return false;
}

void Collector::EnableKinds() {
  SyncClock();
  // CUPTI takes NULL for a buffer from 12.9 on (API 27); it crashed before.
  constexpr size_t kMebibyteBytes = size_t{1} << 20;
  const uint64_t buffer_mib = EnvNumber("XLATRACE_BUFFER_MB", 0, 16, 1 << 20);
  buffers.Configure(api.version >= 27, flush_period_ms_, buffer_mib * kMebibyteBytes);
  // Our buffers come zeroed; else CUPTI clears them on the program's own threads.
  uint8_t zeroed = 1;
  size_t size = sizeof(zeroed);
  api.SetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  CUptiResult result =
      api.v2_subscriber != nullptr
          ? api.v2.cuptiActivityRegisterCallbacks_v2(api.v2_subscriber, &OnBufferRequestedV2,
                                                     &OnBufferCompletedV2)
          : api.cuptiActivityRegisterCallbacks(&OnBufferRequested, &OnBufferCompleted);
  if (result != CUPTI_SUCCESS) {
    Fact("error", "cuptiActivityRegisterCallbacks: " + api.Describe(result));
  }
  // Before any kind is enabled: "a value of 0 prevents GRAPH_TRACE from being enabled"
  // (CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE, cupti_activity.h of 13.5).
  if (whole_graphs_ && api.v2_subscriber != nullptr) {
    constexpr auto kMultiSubscriberGraphTrace = static_cast<CUpti_ActivityAttribute>(20);
    uint8_t on = 1;
    size_t on_bytes = sizeof(on);
    const CUptiResult allowed = api.SetAttribute(kMultiSubscriberGraphTrace, &on_bytes, &on);
    if (allowed == CUPTI_SUCCESS) {
      Fact("note", "whole graphs are recorded, so other profilers get no graph nodes either");
    } else {
      Fact("note", "cuptiActivitySetAttribute_v2(20): " + api.Describe(allowed));
    }
  }
  EnableCallbacks(*this, subscriber_);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_DEVICE,
        CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_OVERHEAD}) {
    result = api.Enable(kind);
    if (result == CUPTI_SUCCESS) continue;
    Fact("error", "cuptiActivityEnable(" + std::to_string(kind) + "): " + api.Describe(result));
  }
  if (!whole_graphs_) return;
  // One record per graph launch in place of one per node.
  result = api.Enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (result != CUPTI_SUCCESS) {
    Fact("graphs", "node");
    Fact("note", "whole graphs cannot be recorded here: " + api.Describe(result));
  }
}

}  // namespace xlatrace::collector
