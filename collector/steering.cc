// SPDX-License-Identifier: Apache-2.0
#include "collector/steering.h"

#include <algorithm>
#include <charconv>

#include "collector/lock.h"

namespace xlatrace::collector {

using recording::ProcessState;

namespace {

// A helper (a conversion, a copy) is smaller than a training step by more than this factor.
constexpr uint32_t kHelperSizeRatio = 8;

// Some devices may not reach the end of the window, and their records may not come back. The
// process stops waiting for them when another device is so many steps behind the window.
constexpr int64_t kMaxLagSteps = 64;

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

void Steering::Note(bool anew) {
  const uint32_t state = state_.load(std::memory_order_seq_cst);
  bool closed = (state & kClosedMask) != 0;
  if ((state & kStepsByMarkFlag) != 0) {
    closed |= (state & kOutsideMarksFlag) != 0;
  } else if ((state & kStepsByModuleFlag) != 0) {
    closed |= (state & kOutsideStepsFlag) != 0;
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
  counts_steps_.store(steps.has_value() || delay_ns_ != 0, std::memory_order_release);
  if (delay_ns_ != 0) {
    time_progress_ = static_cast<int>(Progress::kBefore);
    Set(kOutsideTimeFlag, true);
  }
  if (steps) {
    has_steps_.store(true, std::memory_order_release);
    Set(kStepsByModuleFlag, true);
    const Lock lock(&mutex_);
    FollowSteps();  // Notes the window as closed, where it begins later.
  }
}

void Steering::SetMain(uint32_t title) {
  const bool other = main_ != 0;
  main_ = title;
  last_told_ = -1;
  contexts_.clear();
  awaited_.clear();
  awaits_work_ = false;
  FollowSteps();
  if (other) Note(true);
}

// The interval is open from the first context that comes close to the window to the last one whose
// device has left it.
void Steering::FollowSteps() {
  int64_t furthest = -1;
  for (const auto& [id, context] : contexts_) furthest = std::max(furthest, context.step);
  bool open = contexts_.empty() && steps_->first == 0;
  bool done = false;
  for (auto& [id, context] : contexts_) {
    context.done |= furthest >= steps_->end + kMaxLagSteps;
    done |= context.done;
    open |= !context.done && context.step + 1 >= steps_->first;
  }
  const Progress progress = open ? Progress::kInside : done ? Progress::kAfter : Progress::kBefore;
  if (step_progress_.exchange(static_cast<int>(progress)) == static_cast<int>(progress) &&
      open == ((state_.load(std::memory_order_seq_cst) & kOutsideStepsFlag) == 0)) {
    return;
  }
  Set(kOutsideStepsFlag, !open);
}

void Steering::OnRegisterModule(ThreadLog& log, uint32_t title) { log.set_registering(title); }

void Steering::OnRegisterThunk(const ThreadLog& log) {
  if (log.registering() == 0) return;
  const Lock lock(&mutex_);
  const uint32_t size = ++modules_[log.registering()].size;
  if (size <= largest_) return;
  largest_ = size;
  if (!has_steps()) return;
  // The assumed main module was a helper.
  if (main_ != 0 && main_ != log.registering() &&
      modules_[main_].size * kHelperSizeRatio < largest_) {
    SetMain(0);
  }
}

Steering::RunBegin Steering::OnFirstCall(ThreadLog& log, uint32_t context) {
  const uint32_t title = log.pending_run();
  log.set_pending_run(0);
  if (!counts_steps()) return {};
  const Lock lock(&mutex_);
  Module& module = modules_[title];
  const int64_t step = module.runs[context]++;
  if (!has_steps()) return {};
  if (step > 0 && title != main_ && module.size * kHelperSizeRatio >= largest_ &&
      (main_ == 0 || module.size > modules_[main_].size)) {
    SetMain(title);
  }
  RunBegin begin;
  const uint32_t state = state_.load(std::memory_order_relaxed);
  if (title != main_) log.set_early_run(title);
  if (title != main_ || (state & kStepsByMarkFlag) != 0) return begin;
  const bool closed = (state & kClosedMask) != 0;
  if (!closed && step == steps_->first && step > 0) begin.edge = StepEdge::kFirst;
  if (!closed && step == steps_->end) begin.edge = StepEdge::kNext;
  Context& at = contexts_[context];
  at.step = step;
  // Without a record of the next step there is nothing to wait for.
  if (step >= steps_->end && closed) at.done = true;
  FollowSteps();
  const bool open = (state_.load(std::memory_order_relaxed) & kOutsideStepsFlag) == 0;
  const bool late = step >= steps_->end;
  const bool recorded = late ? open : step + 1 >= steps_->first;
  if (!closed && recorded && (step > steps_->end || step < steps_->first)) {
    begin.edge = StepEdge::kOutside;
  }
  log.BeginStep(recorded, begin.edge);
  // Numbers from 0 need no marks.
  if (step < steps_->first || step > steps_->end || steps_->first == 0 || step <= last_told_) {
    return begin;
  }
  begin.step = last_told_ = step;
  return begin;
}

void Steering::AwaitWork(uint32_t context, uint32_t correlation) {
  const Lock lock(&mutex_);
  const auto known = contexts_.find(context);
  if (known == contexts_.end() || known->second.done) return;
  awaited_[correlation] = context;
  awaits_work_ = true;
}

void Steering::OnWork(uint32_t correlation) {
  const Lock lock(&mutex_);
  const auto awaited = awaited_.find(correlation);
  if (awaited == awaited_.end()) return;
  contexts_[awaited->second].done = true;
  std::erase_if(awaited_, [this](const auto& one) { return contexts_[one.second].done; });
  awaits_work_ = !awaited_.empty();
  FollowSteps();
}

void Steering::OnModulePop(ThreadLog& log, uint32_t title) {
  const Lock lock(&mutex_);
  log.EndStep();
  Module& module = modules_[title];
  module.size = std::max(module.size, log.thunks_in_run());
  largest_ = std::max(largest_, module.size);
}

Steering::Counted Steering::CountedSteps() const {
  const Lock lock(&mutex_);
  Counted counted;
  const Module* main = nullptr;
  for (const auto& [title, module] : modules_) {
    if (module.runs.empty()) continue;
    ++counted.modules;
    const bool small = module.size * kHelperSizeRatio < largest_;
    const bool larger = main == nullptr || module.size > main->size;
    if (main_ != 0 ? title == main_ : !small && larger) main = &module;
  }
  if (main != nullptr) {
    for (const auto& [context, runs] : main->runs) {
      counted.steps = std::max(counted.steps, static_cast<uint64_t>(runs));
    }
  }
  if (marks_ != 0) counted.steps = marks_;
  counted.before_delay = time_progress_.load() == static_cast<int>(Progress::kBefore);
  return counted;
}

bool Steering::OnMark(const ThreadLog& log, int64_t step) {
  if (counts_steps()) {
    const Lock lock(&mutex_);
    ++marks_;
  }
  if (has_steps()) {
    const bool inside = steps_->first <= step && step < steps_->end;
    // Which rule holds goes first: threads may look in between.
    Set(kOutsideMarksFlag, !inside);
    Set(kStepsByMarkFlag, true);
    step_progress_ = static_cast<int>(inside                 ? Progress::kInside
                                      : step < steps_->first ? Progress::kBefore
                                                             : Progress::kAfter);
  }
  return !Skips(log);
}

void Steering::SetPaused(bool paused) { Set(kPausedFlag, paused); }

void Steering::OnOrder(const recording::ControlOrder& order) {
  if (order.number != 0) Set(kStoppedFlag, !order.recording);
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
    Set(kOutsideTimeFlag, progress != Progress::kInside);
  }
  if (next == UINT64_MAX) return limit_ms;
  return std::min(limit_ms, (next - now_ns) / 1000000 + 1);
}

ProcessState Steering::State() const {
  const uint32_t state = state_.load(std::memory_order_relaxed);
  const auto time = static_cast<Progress>(time_progress_.load(std::memory_order_relaxed));
  const auto steps = static_cast<Progress>(step_progress_.load(std::memory_order_relaxed));
  if (time == Progress::kAfter || steps == Progress::kAfter) return ProcessState::kFinished;
  if ((state & kStoppedFlag) != 0) return ProcessState::kStopped;
  if ((state & kPausedFlag) != 0) return ProcessState::kPaused;
  if (time == Progress::kBefore || steps == Progress::kBefore) return ProcessState::kWaiting;
  return ProcessState::kRecording;
}

}  // namespace xlatrace::collector
