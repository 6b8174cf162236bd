// SPDX-License-Identifier: Apache-2.0
#include "driver/timeline.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <thread>

#include "common/scenario.h"
#include "driver/call.h"
#include "driver/truth_log.h"

namespace fakegpu {
namespace {

// Launches that the host may be ahead of the device on one stream; the real driver has about 1,024.
constexpr size_t kQueueDepth = 1024;
constexpr double kLaunchLatency = 2500;  // issue to start on an idle stream
constexpr double kGap = 640;             // between two activities of a stream

double TimeScale() {
  static const double scale = [] {
    const char* text = std::getenv("FAKE_GPU_TIME_SCALE");
    return text == nullptr || *text == '\0' ? 1.0 : std::max(0.0, std::strtod(text, nullptr));
  }();
  return scale;
}

// FNV-1a: stable over runs and machines.
uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Spreads of the logarithms of durations: of the whole process, of a kernel's name, of a launch.
struct Noise {
  double run = 0, kernel = 0, launch = 0;
  uint64_t seed = 0;
};

const Noise& TheNoise() {
  static const Noise noise = [] {
    Noise made;
    const Scenario& scenario = Scenario::Get();
    const auto part = [&](std::string_view what) {
      for (const auto& rest : scenario.Lines({"noise", what})) {
        if (!rest.empty()) return std::strtod(rest[0].c_str(), nullptr) / 100;
      }
      return 0.0;
    };
    made.run = part("run");
    made.kernel = part("kernel");
    made.launch = part("launch");
    made.seed = scenario.Number({"noise", "seed"}, 1);
    return made;
  }();
  return noise;
}

// splitmix64's finish: a draw for every (seed, number).
uint64_t Mix(uint64_t seed, uint64_t number) {
  uint64_t x = seed * 0x9e3779b97f4a7c15u + number * 0xd1342543de82ef95u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Normal by Box and Muller, from one draw.
double Normal(uint64_t draw) {
  const double u = (static_cast<double>(draw >> 32) + 0.5) / 4294967296.0;
  const double v = (static_cast<double>(draw & 0xffffffffu) + 0.5) / 4294967296.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

bool IsNamed(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

// The scenario's factor for a kernel's duration.
double FactorOf(std::string_view name) {
  double factor = 1;
  for (const auto& words : Scenario::Get().Lines({"kernel"})) {
    if (words.size() == 3 && words[1] == "times" && IsNamed(words[0], name)) {
      factor *= std::strtod(words[2].c_str(), nullptr);
    }
  }
  const Noise& noise = TheNoise();
  if (noise.run != 0) factor *= std::exp(noise.run * Normal(Mix(noise.seed, 0x52554e)));
  if (noise.kernel != 0) factor *= std::exp(noise.kernel * Normal(Mix(noise.seed, Hash(name))));
  return factor;
}

// All state of the effects thread; never destroyed.
struct Effects {
  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::pair<Nanos, std::function<void()>>> waiting;
  std::atomic<uint64_t> posted{0};
  std::atomic<uint64_t> done{0};
  bool started = false;
};

Effects& TheEffects() {
  static auto* const effects = new Effects;
  return *effects;
}

void RunEffects() {
  Effects& effects = TheEffects();
  std::unique_lock guard(effects.lock);
  for (;;) {
    effects.changed.wait(guard, [&] { return !effects.waiting.empty(); });
    auto [time, run] = std::move(effects.waiting.front());
    effects.waiting.pop_front();
    guard.unlock();
    SleepUntil(time);
    run();
    guard.lock();
    ++effects.done;
    effects.changed.notify_all();
  }
}

}  // namespace

Nanos Now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<Nanos>(now.tv_sec) * 1'000'000'000u + static_cast<Nanos>(now.tv_nsec);
}

void SleepUntil(Nanos time) {
  for (Nanos now = Now(); now < time; now = Now()) {
    const Nanos left = time - now;
    // Shorter than a sleep costs: the device is as good as there.
    if (left < 20'000) continue;
    timespec pause{static_cast<time_t>(left / 1'000'000'000u),
                   static_cast<long>(left % 1'000'000'000u)};
    nanosleep(&pause, nullptr);
  }
}

Nanos Scaled(double nanoseconds) {
  const double scaled = nanoseconds * TimeScale();
  return scaled < 1 ? 1 : static_cast<Nanos>(scaled);
}

Nanos KernelDuration(std::string_view name) {
  // 1.5 to 18 us, in the 32 ns steps of a GPU's timer.
  return Scaled(static_cast<double>(1536 + Hash(name) % 512 * 32) * FactorOf(name));
}

Nanos KernelOverlap(std::string_view name) {
  static const auto lines = Scenario::Get().Lines({"kernel"});
  Nanos overlap = 0;
  for (const auto& words : lines) {
    if (words.size() == 3 && words[1] == "overlaps" && IsNamed(words[0], name)) {
      overlap = Scaled(std::strtod(words[2].c_str(), nullptr) * 1000);
    }
  }
  return overlap;
}

Nanos LaunchDuration(Nanos duration) {
  const Noise& noise = TheNoise();
  if (noise.launch == 0) return duration;
  static std::atomic<uint64_t> launches{0};
  const double factor = std::exp(noise.launch * Normal(Mix(noise.seed, ++launches)));
  return std::max<Nanos>(1, static_cast<Nanos>(static_cast<double>(duration) * factor));
}

Nanos CopyDuration(int kind, uint64_t bytes) {
  const double bytes_per_ns = kind == 8 ? 1300 : kind == 10 ? 180 : 45;  // DtoD, peer, over PCIe
  return Scaled(1216 + static_cast<double>(bytes) / bytes_per_ns);
}

Nanos SetDuration(uint64_t bytes) { return Scaled(992 + static_cast<double>(bytes) / 2000); }

std::mutex& TimelineLock() {
  static auto* const lock = new std::mutex;
  return *lock;
}

void Issue(CUstream stream, Nanos duration, FakeGpuActivity* activity) {
  const ThreadState& thread = Thread();
  activity->correlation = thread.correlation;
  activity->device = static_cast<uint32_t>(stream->context->device);
  activity->context_id = stream->context->id;
  activity->stream_id = stream->id;
  Nanos full_until = 0;
  {
    std::lock_guard guard(TimelineLock());
    CUctx_st& context = *stream->context;
    if (stream->in_flight.empty()) stream->in_flight.resize(kQueueDepth);
    const Nanos now = Now();
    Nanos behind = stream->ready + Scaled(kGap);
    if (activity->what == FAKE_GPU_KERNEL) {
      const Nanos overlap = KernelOverlap(activity->name);
      if (overlap != 0) behind = stream->ready - std::min(stream->ready, overlap);
    }
    Nanos start = std::max(now + Scaled(kLaunchLatency), behind);
    // The legacy stream waits for all blocking streams of the context, and they for it.
    const bool blocking = (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
    if (stream->legacy) {
      start = std::max(start, context.blocking_ready);
    } else if (blocking) {
      start = std::max(start, context.null_stream->ready);
    }
    activity->queued = now;
    activity->start = start;
    activity->end = start + duration;
    stream->ready = activity->end;
    if (blocking) context.blocking_ready = std::max(context.blocking_ready, activity->end);
    context.ready = std::max(context.ready, activity->end);
    Nanos& slot = stream->in_flight[stream->issued++ % kQueueDepth];
    if (slot > now) full_until = slot;
    slot = activity->end;
    LogActivity(*activity, thread.id, thread.api, Label());
  }
  ReportActivity(*activity);
  if (full_until != 0) SleepUntil(full_until);
}

void ReportActivity(const FakeGpuActivity& activity) {
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  if (tool != nullptr && tool->activity != nullptr) tool->activity(&activity);
}

void Join(CUstream stream, Nanos not_before, uint64_t effect) {
  std::lock_guard guard(TimelineLock());
  stream->ready = std::max(stream->ready, not_before);
  stream->effect = std::max(stream->effect, effect);
  CUctx_st& context = *stream->context;
  if ((stream->flags & CU_STREAM_NON_BLOCKING) == 0) {
    context.blocking_ready = std::max(context.blocking_ready, stream->ready);
  }
  context.ready = std::max(context.ready, stream->ready);
  context.effect = std::max(context.effect, effect);
}

Nanos StreamReady(CUstream stream, uint64_t* effect) {
  std::lock_guard guard(TimelineLock());
  Nanos ready = stream->ready;
  *effect = stream->effect;
  if (stream->legacy) ready = std::max(ready, stream->context->blocking_ready);
  return ready;
}

Nanos ContextReady(CUcontext context, uint64_t* effect) {
  std::lock_guard guard(TimelineLock());
  *effect = context->effect;
  return context->ready;
}

uint64_t PostEffect(Nanos time, std::function<void()> run) {
  Effects& effects = TheEffects();
  std::lock_guard guard(effects.lock);
  if (!effects.started) {
    effects.started = true;
    std::thread(RunEffects).detach();
  }
  effects.waiting.emplace_back(time, std::move(run));
  const uint64_t number = ++effects.posted;
  effects.changed.notify_all();
  return number;
}

uint64_t RunOrPostEffect(Nanos time, std::function<void()> run) {
  const Effects& effects = TheEffects();
  if (effects.done.load() == effects.posted.load()) {
    run();
    return 0;
  }
  return PostEffect(time, std::move(run));
}

uint64_t PostedEffects() { return TheEffects().posted.load(); }

bool EffectDone(uint64_t effect) { return TheEffects().done.load() >= effect; }

void WaitEffect(uint64_t effect) {
  Effects& effects = TheEffects();
  if (effects.done.load() >= effect) return;
  std::unique_lock guard(effects.lock);
  effects.changed.wait(guard, [&] { return effects.done.load() >= effect; });
}

}  // namespace fakegpu
