// SPDX-License-Identifier: Apache-2.0
#include "collector/steering.h"

#include <algorithm>
#include <charconv>

#include "collector/lock.h"

namespace xlatrace::collector {

using recording::ProcessState;

namespace {

// A helper (a conversion, a copy) is smaller than a training step by more than this factor.
constexpr uint32_t kMuchSmaller = 8;

}  // namespace

std::optional<StepWindow> ParseSteps(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits, int64_t* value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value);
    return error == std::errc() && end == digits.data() + digits.size() && *value >= 0;
  };
  StepWindow window;
  if (!number(text.substr(0, colon), &window.first) ||
      !number(text.substr(colon + 1), &window.end) || window.end <= window.first) {
    return std::nullopt;
  }
  return window;
}

void Steering::Set(uint32_t bits, bool on) {
  if (on) {
    ever_closed_.store(true, std::memory_order_seq_cst);
    state_.fetch_or(bits, std::memory_order_seq_cst);
  } else {
    state_.fetch_and(~bits, std::memory_order_seq_cst);
  }
  Note();
}

// Contexts come to a step one after the other: what one of them has left another is still in.
void Steering::SetProgress(Progress progress) {
  const auto before = static_cast<Progress>(step_progress_.load(std::memory_order_relaxed));
  step_progress_ = static_cast<int>(progress);
  if (before != Progress::kAfter) Note();
}

void Steering::Note(bool anew) {
  const uint32_t state = state_.load(std::memory_order_seq_cst);
  bool closed = (state & kClosed) != 0;
  if ((state & kStepsByMark) != 0) {
    closed |= (state & kOutsideMarks) != 0;
  } else if ((state & kStepsByModule) != 0) {
    closed |= step_progress_.load() != static_cast<int>(Progress::kInside);
  }
  const Lock lock(&note_mutex_);
  const uint64_t now = NowNs();
  if (anew) changes_.push_back({now, Change::kAnew});
  if (closed == noted_closed_) return;
  noted_closed_ = closed;
  changes_.push_back({now, closed ? Change::kClosed : Change::kOpened});
}

std::vector<Steering::Changed> Steering::TakeChanges() {
  std::vector<Changed> taken;
  const Lock lock(&note_mutex_);
  taken.swap(changes_);
  return taken;
}

void Steering::Configure(std::optional<StepWindow> steps, uint64_t delay_ms, uint64_t duration_ms) {
  steps_ = steps;
  delay_ns_ = delay_ms * 1000000;
  duration_ns_ = duration_ms * 1000000;
  if (delay_ns_ != 0) {
    time_progress_ = static_cast<int>(Progress::kBefore);
    Set(kOutsideTime, true);
  }
  if (steps) {
    has_steps_.store(true, std::memory_order_release);
    if (steps->first > 0) step_progress_ = static_cast<int>(Progress::kBefore);
    Set(kStepsByModule, true);  // Notes the window as closed, where it begins later.
  }
}

void Steering::SetMain(uint32_t title) {
  const bool other = main_ != 0;
  main_ = title;
  last_told_ = -1;
  epoch_.fetch_add(1, std::memory_order_relaxed);
  step_progress_ = static_cast<int>(steps_->first == 0 ? Progress::kInside : Progress::kBefore);
  Note(other);
}

void Steering::OnRegisterModule(ThreadLog& log, uint32_t title) { log.set_registering(title); }

void Steering::OnRegisterThunk(const ThreadLog& log) {
  if (log.registering() == 0) return;
  const Lock lock(&mutex_);
  const uint32_t size = ++modules_[log.registering()].size;
  if (size <= largest_) return;
  largest_ = size;
  // What was taken for the main module was a helper.
  if (main_ != 0 && main_ != log.registering() && modules_[main_].size * kMuchSmaller < largest_) {
    SetMain(0);
  }
}

std::optional<int64_t> Steering::OnFirstCall(ThreadLog& log, uint32_t context) {
  const uint32_t title = log.pending_run();
  log.set_pending_run(0);
  const Lock lock(&mutex_);
  Module& module = modules_[title];
  const int64_t step = module.runs[context]++;
  if (step > 0 && title != main_ && module.size * kMuchSmaller >= largest_ &&
      (main_ == 0 || module.size > modules_[main_].size)) {
    SetMain(title);
  }
  if (title != main_ || (state_.load(std::memory_order_relaxed) & kStepsByMark) != 0) {
    return std::nullopt;
  }
  const bool inside = steps_->first <= step && step < steps_->end;
  log.set_in_steps(epoch_.load(std::memory_order_relaxed), inside);
  SetProgress(inside                 ? Progress::kInside
              : step < steps_->first ? Progress::kBefore
                                     : Progress::kAfter);
  // Numbers from 0 need not be told.
  if (!inside || steps_->first == 0 || step <= last_told_) return std::nullopt;
  last_told_ = step;
  return step;
}

void Steering::OnModulePop(const ThreadLog& log, uint32_t title) {
  const Lock lock(&mutex_);
  Module& module = modules_[title];
  module.size = std::max(module.size, log.thunks_in_run());
  largest_ = std::max(largest_, module.size);
}

bool Steering::OnMark(const ThreadLog& log, int64_t step) {
  if (has_steps()) {
    const bool inside = steps_->first <= step && step < steps_->end;
    // Which rule holds goes first: threads may look in between.
    Set(kOutsideMarks, !inside);
    Set(kStepsByMark, true);
    step_progress_ = static_cast<int>(inside                 ? Progress::kInside
                                      : step < steps_->first ? Progress::kBefore
                                                             : Progress::kAfter);
  }
  return !Skips(log);
}

void Steering::SetPaused(bool paused) { Set(kPaused, paused); }

void Steering::OnOrder(const recording::ControlOrder& order) {
  if (order.number != 0) Set(kStopped, !order.recording);
}

void Steering::Begin(uint64_t now_ns) {
  begin_ns_.store(std::max<uint64_t>(now_ns, 1), std::memory_order_release);
}

uint64_t Steering::Tick(uint64_t now_ns, uint64_t limit_ms) {
  const uint64_t begin = begin_ns_.load(std::memory_order_acquire);
  if (begin == 0 || (delay_ns_ == 0 && duration_ns_ == 0)) return limit_ms;
  const uint64_t open = begin + delay_ns_;
  const uint64_t close = duration_ns_ == 0 ? UINT64_MAX : open + duration_ns_;
  Progress progress = Progress::kInside;
  uint64_t next = close;
  if (now_ns < open) {
    progress = Progress::kBefore;
    next = open;
  } else if (now_ns >= close) {
    progress = Progress::kAfter;
    next = UINT64_MAX;
  }
  if (time_progress_.exchange(static_cast<int>(progress)) != static_cast<int>(progress)) {
    Set(kOutsideTime, progress != Progress::kInside);
  }
  if (next == UINT64_MAX) return limit_ms;
  return std::min(limit_ms, (next - now_ns) / 1000000 + 1);
}

ProcessState Steering::State() const {
  const uint32_t state = state_.load(std::memory_order_relaxed);
  const auto time = static_cast<Progress>(time_progress_.load(std::memory_order_relaxed));
  const auto steps = static_cast<Progress>(step_progress_.load(std::memory_order_relaxed));
  if (time == Progress::kAfter || steps == Progress::kAfter) return ProcessState::kFinished;
  if ((state & kStopped) != 0) return ProcessState::kStopped;
  if ((state & kPaused) != 0) return ProcessState::kPaused;
  if (time == Progress::kBefore || steps == Progress::kBefore) return ProcessState::kWaiting;
  return ProcessState::kRecording;
}

}  // namespace xlatrace::collector
