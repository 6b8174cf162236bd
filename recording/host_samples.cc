// SPDX-License-Identifier: Apache-2.0
#include "recording/host_samples.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/file.h"
#include "recording/host_rows.h"
#include "recording/varint.h"

namespace xlatrace::recording {
namespace {

using model::HostSample;
using model::Id;

// The writer stops at 64 MiB.
constexpr uint64_t kMaxFileBytes = 256u << 20;
constexpr int64_t kMaxTimeNs = std::numeric_limits<int64_t>::max() / 4;

// Sums of hostile numbers do not overflow.
int64_t Bounded(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, uint64_t{kMaxTimeNs}));
}
int64_t Later(int64_t time_ns, int64_t by_ns) {
  return std::clamp(time_ns + std::clamp(by_ns, -kMaxTimeNs, kMaxTimeNs), int64_t{0}, kMaxTimeNs);
}

class Parser {
 public:
  // False: the row is not valid.
  bool Row(Decoder& rows);
  HostSamples Finish();
  bool begun() const { return begun_; }

 private:
  struct Thread {
    int64_t thread_id = 0;
    int64_t stack = 0;
    std::optional<size_t> open;  // Position of its last sample.
  };

  bool Begin(Decoder& rows);
  bool Frame(Decoder& rows);
  bool Stack(Decoder& rows);
  bool NewThread(Decoder& rows);
  bool Sample(Decoder& rows);
  bool Use(Decoder& rows);
  void Close(Thread& thread, int64_t until_ns);

  HostSamples samples_;
  std::vector<std::string> texts_;
  std::vector<Thread> threads_;
  bool begun_ = false;
  int64_t last_ns_ = 0;
  int64_t tick_ns_ = 0;       // The tick of the rows that follow.
  int64_t last_tick_ns_ = 0;  // The tick before.
  int64_t gil_wait_ns_ = 0;
};

bool Parser::Begin(Decoder& rows) {
  if (rows.Number() != kHostSamplesVersion) return false;
  samples_.pid = Bounded(rows.Number());
  last_ns_ = Bounded(rows.Number());
  rows.Number();  // CLOCK_MONOTONIC.
  rows.Number();  // Period.
  begun_ = rows.ok();
  return begun_;
}

bool Parser::Frame(Decoder& rows) {
  const uint64_t function = rows.Number();
  const uint64_t file = rows.Number();
  const int64_t line = Bounded(rows.Number());
  if (!rows.ok() || function > texts_.size() || file > texts_.size()) return false;
  const auto text = [&](uint64_t id) { return id == 0 ? std::string() : texts_[id - 1]; };
  samples_.tables.frames.push_back({text(function), text(file), line});
  return true;
}

bool Parser::Stack(Decoder& rows) {
  const uint64_t parent = rows.Number();
  const uint64_t frame = rows.Number();
  if (!rows.ok() || parent > samples_.tables.stacks.size() || frame == 0 ||
      frame > samples_.tables.frames.size()) {
    return false;
  }
  samples_.tables.stacks.push_back({static_cast<Id>(parent), static_cast<Id>(frame)});
  return true;
}

bool Parser::NewThread(Decoder& rows) {
  const int64_t ident = Bounded(rows.Number());
  const int64_t task = Bounded(rows.Number());
  rows.Number();  // Name.
  // Profiles number threads as the kernel does.
  threads_.push_back({.thread_id = task != 0 ? task : ident});
  return rows.ok();
}

void Parser::Close(Thread& thread, int64_t until_ns) {
  if (!thread.open) return;
  HostSample& sample = samples_.tables.samples[*thread.open];
  // A change since the tick before: until then the thread was where it had been.
  sample.last_ns = std::clamp(last_tick_ns_, sample.time_ns, std::max(sample.time_ns, until_ns));
  sample.until_ns = std::max(until_ns, sample.time_ns);
  thread.open.reset();
}

bool Parser::Sample(Decoder& rows) {
  const uint64_t number = rows.Number();
  const int64_t change = rows.Signed();
  const uint64_t state = rows.Number();
  const int64_t cpu_us = Bounded(rows.Number());
  if (!rows.ok() || number == 0 || number > threads_.size()) return false;
  Thread& thread = threads_[number - 1];
  const int64_t stack = Later(thread.stack, change);
  if (stack > static_cast<int64_t>(samples_.tables.stacks.size())) return false;
  Close(thread, tick_ns_);
  thread.stack = stack;
  thread.open = samples_.tables.samples.size();
  const uint64_t states = model::Texts<model::ThreadState>().size();
  samples_.tables.samples.push_back({.thread_id = thread.thread_id,
                                     .time_ns = tick_ns_,
                                     .last_ns = tick_ns_,
                                     .until_ns = tick_ns_,
                                     .stack_id = stack,
                                     .state = state < states
                                                  ? static_cast<model::ThreadState>(state)
                                                  : model::ThreadState::kUnknown,
                                     .cpu_ns = std::min(cpu_us, kMaxTimeNs / 1000) * 1000,
                                     .gil_wait_ns = gil_wait_ns_});
  return true;
}

bool Parser::Use(Decoder& rows) {
  if (samples_.tables.machine_use.empty()) return false;
  const model::MachineUse& second = samples_.tables.machine_use.back();
  model::ThreadUse use{.start_ns = second.start_ns, .end_ns = second.end_ns};
  use.thread_id = Bounded(rows.Number());
  use.cpu_ns = Bounded(rows.Number());
  use.run_delay_ns = Bounded(rows.Number());
  use.voluntary_switches = Bounded(rows.Number());
  use.involuntary_switches = Bounded(rows.Number());
  use.page_faults = Bounded(rows.Number());
  use.read_bytes = Bounded(rows.Number());
  if (rows.ok()) samples_.tables.thread_use.push_back(use);
  return rows.ok();
}

bool Parser::Row(Decoder& rows) {
  const auto row = static_cast<HostRow>(rows.Number());
  if (!begun_ && row != HostRow::kBegin) return false;
  switch (row) {
    case HostRow::kBegin:
      return Begin(rows);
    case HostRow::kText:
      texts_.emplace_back(rows.Text());
      return rows.ok();
    case HostRow::kFrame:
      return Frame(rows);
    case HostRow::kStack:
      return Stack(rows);
    case HostRow::kThread:
      return NewThread(rows);
    case HostRow::kTick:
      last_tick_ns_ = tick_ns_;
      tick_ns_ = last_ns_ = Later(last_ns_, rows.Signed());
      gil_wait_ns_ = std::min(Bounded(rows.Number()), kMaxTimeNs / 1000) * 1000;
      return rows.ok();
    case HostRow::kSample:
      return Sample(rows);
    case HostRow::kGone: {
      const uint64_t number = rows.Number();
      if (!rows.ok() || number == 0 || number > threads_.size()) return false;
      Close(threads_[number - 1], tick_ns_);
      return true;
    }
    case HostRow::kSecond: {
      const int64_t start_ns = Later(last_ns_, rows.Signed());
      const int64_t end_ns = Later(start_ns, Bounded(rows.Number()));
      const int64_t busy_ns = Bounded(rows.Number());
      const int64_t process_ns = Bounded(rows.Number());
      const int64_t cpus = Bounded(rows.Number());
      samples_.tables.machine_use.push_back({0, start_ns, end_ns, busy_ns, process_ns, cpus});
      return rows.ok();
    }
    case HostRow::kUsage:
      return Use(rows);
    case HostRow::kCollection: {
      const int64_t start_ns = Later(last_ns_, rows.Signed());
      const int64_t end_ns = Later(start_ns, Bounded(rows.Number()));
      const int64_t generation = Bounded(rows.Number());
      samples_.tables.collections.push_back({0, start_ns, end_ns, generation});
      return rows.ok();
    }
    case HostRow::kPause:
      last_ns_ = Later(last_ns_, rows.Signed());
      last_tick_ns_ = tick_ns_;
      for (Thread& thread : threads_) {
        Close(thread, last_ns_);
        thread.stack = 0;
      }
      return rows.ok();
    case HostRow::kCost:
      samples_.own_cost_ns = Bounded(rows.Number());
      return rows.ok();
  }
  return false;
}

HostSamples Parser::Finish() {
  last_tick_ns_ = tick_ns_;
  for (Thread& thread : threads_) Close(thread, tick_ns_);
  std::stable_sort(samples_.tables.samples.begin(), samples_.tables.samples.end(),
                   [](const HostSample& a, const HostSample& b) {
                     return a.thread_id != b.thread_id ? a.thread_id < b.thread_id
                                                       : a.time_ns < b.time_ns;
                   });
  return std::move(samples_);
}

}  // namespace

Result<HostSamples> ParseHostSamples(std::string_view bytes) {
  Parser parser;
  uint64_t sequence = 0;
  size_t at = 0;
  bool valid = true;
  while (valid && bytes.size() - at >= sizeof(BlockHeader)) {
    BlockHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    const auto* payload = reinterpret_cast<const uint8_t*>(bytes.data() + at + sizeof(header));
    if (header.magic != kBlockMagic || header.type != kHostSamplesBlock ||
        header.sequence != sequence || header.payload_bytes > kMaxPayloadBytes ||
        header.payload_bytes > bytes.size() - at - sizeof(header) ||
        BlockChecksum(header, payload) != header.checksum) {
      break;
    }
    Decoder rows(payload, header.payload_bytes);
    while (valid && !rows.done()) valid = parser.Row(rows);
    if (valid) at += sizeof(header) + header.payload_bytes;
    ++sequence;
  }
  if (!parser.begun()) return MakeError("these are not host samples of xlatrace");
  HostSamples samples = parser.Finish();
  samples.lost_bytes = bytes.size() - at;
  return samples;
}

Result<HostSamples> ReadHostSamples(const std::string& path) {
  XLATRACE_ASSIGN(const std::string bytes, ReadFile(path, kMaxFileBytes));
  return ParseHostSamples(bytes);
}

}  // namespace xlatrace::recording
