// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/stack_sampler.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/syscall.h>

#include "collector/descriptors.h"
#include "collector/stacks/pending_call.h"
#include "collector/stacks/python_api.h"
#include "collector/stacks/sample_file.h"
#include "collector/stacks/stack_table.h"
#include "collector/stacks/task_states.h"

namespace xlatrace::collector {
namespace {

using model::ThreadState;
using recording::HostRow;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kFlushNs = kSecondNs / 2;
// A thread makes a pending call within microseconds if it executes bytecode on a CPU. A busy
// machine may take longer to give it a CPU.
constexpr int64_t kPendingCallNs = 1'000'000;
// CPU time in which a thread that executes bytecode makes a pending call; else it was in native
// code.
constexpr int64_t kMaxBytecodeNs = 100'000;
constexpr int64_t kMaxPeriodNs = kSecondNs;
// Cost of the main thread per tick: at most this part of the period (a half percent).
constexpr int64_t kMinPeriodsPerCost = 200;
constexpr size_t kMaxThreads = 64;
constexpr uint64_t kMaxFileBytes = 64u << 20;
// Less CPU time than a wake-up takes: the thread has stayed where it was.
constexpr int64_t kStillNs = 50'000;
constexpr int64_t kWaitForThreadNs = 3 * kSecondNs;
// Ticks until a thread is looked up again that Python did not know.
constexpr uint64_t kMinTicksPerLookup = 64;

int64_t NowNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * kSecondNs + time.tv_nsec;
}

// On a busy machine the sampler would get a CPU mostly when the program's threads leave it, and
// would see them wait. A short slice lets it preempt them at its tick (Linux 6.12); a better nice
// value needs a privilege. Without both, samples of a busy machine favour code that waits.
void PreemptSoon() {
  struct {  // struct sched_attr (linux/sched/types.h).
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline_ns, period_ns;
  } attributes{};
  attributes.size = sizeof(attributes);
  attributes.slice_ns = 100'000;  // The kernel's minimum.
  const int nice = getpriority(PRIO_PROCESS, 0);
  for (const int better : {std::max(nice - 10, -20), nice}) {
    attributes.nice = better;
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0) return;
  }
}

bool WaitUntil(sem_t* semaphore, int64_t monotonic_ns) {
  const timespec time{static_cast<time_t>(monotonic_ns / kSecondNs),
                      static_cast<long>(monotonic_ns % kSecondNs)};
  while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &time) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

struct Seen {
  uint64_t ident = 0;
  uint32_t stack = 0;
};

struct AtTick {
  ThreadState state = ThreadState::kUnknown;
  int64_t cpu_ns = 0;
};

struct PythonThread {
  uint32_t number = 0;
  int64_t task = 0;  // 0: not known.
  uint64_t last_tick = 0;
  uint64_t last_lookup = 0;
  uint32_t stack = 0;
  ThreadState state = ThreadState::kUnknown;
  int64_t cpu_ns = 0;
};

struct GcEvent {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t generation = 0;
};

enum class Claim : int { kFree, kRequested, kTaken, kDone };
enum class Order : int { kRun, kPause, kStop };

// One per process, never freed: callbacks of the interpreter may come at any time.
class Sampler {
 public:
  bool Start(const char* path, int64_t period_ns, uint64_t main_thread);
  void Pause() { Give(Order::kPause, true); }
  void GoOn() { Give(Order::kRun, false); }
  int Stop();
  void Forked() { owner_ = 0; }

 private:
  static void* ThreadMain(void* self);
  static int PendingCall(void* self);
  static PyObject* OnCollection(PyObject* self, PyObject* arguments);
  // By a thread that has the GIL, in the place of the sampler.
  void SampleIfRequested();

  bool Mine() const { return owner_ != 0 && owner_ == getpid(); }
  void Give(Order order, bool wait);
  void WatchCollections();
  void Run();
  void Tick();
  void Sample();  // With the GIL.
  void QueryInterpreter(int64_t* gil_wait_ns);
  bool MainLeavesGilToOthers() const;
  ThreadState CallerState() const;
  void Encode(int64_t time_ns, int64_t gil_wait_ns);
  void LookUp(uint64_t ident);
  void EncodeCollections();
  void EncodeUse();
  void EncodeEnd();
  void AdaptPeriod(int64_t cost_ns);

  pid_t owner_ = 0;
  uint64_t main_thread_ = 0;
  pthread_t thread_{};
  sem_t wake_{};   // For the sampler's thread: an order.
  sem_t taken_{};  // For the sampler's thread: the pending call was made.
  sem_t done_{};   // For the giver of an order.
  std::atomic<Order> order_{Order::kPause};
  std::atomic<Claim> claim_{Claim::kFree};
  std::atomic<bool> queued_{false};
  PyObject* current_frames_ = nullptr;
  PyObject* active_ = nullptr;  // threading._active: its threads by Python's number.
  PyThreadState* state_ = nullptr;

  // The thread that has the claim uses these.
  StackTable table_;
  std::vector<Seen> seen_;
  struct New {
    uint64_t ident;
    int64_t task;
    uint32_t name;
  };
  std::vector<New> found_;
  int64_t cost_ns_ = 0;
  uint64_t caller_ = 0;  // The thread that made the pending call, and its CPU time then.
  int64_t caller_cpu_ns_ = 0;

  // The sampler's thread uses these.
  SampleFile file_;
  std::unordered_map<uint64_t, PythonThread> threads_;  // By Python's number.
  std::unordered_map<uint64_t, AtTick> at_tick_;        // By Python's number.
  uint32_t next_number_ = 0;
  uint64_t tick_ = 0;
  int64_t last_time_ns_ = 0;
  int64_t base_period_ns_ = 0;
  int64_t period_ns_ = 0;
  int64_t usual_cost_ns_ = 0;
  int64_t total_cost_ns_ = 0;
  uint64_t random_ = 88172645463325252ull;
  TaskUses uses_;
  MachineCounters machine_;
  int64_t last_use_ns_ = 0;
  bool full_ = false;

  // Written with the GIL, read by the sampler's thread.
  static constexpr size_t kMaxCollections = 4096;
  GcEvent collections_[kMaxCollections];
  std::atomic<uint64_t> collections_end_{0};
  std::atomic<uint64_t> collections_read_{0};
  int64_t collection_start_ns_ = 0;
};

Sampler* g_sampler = nullptr;

bool Sampler::Start(const char* path, int64_t period_ns, uint64_t main_thread) {
  current_frames_ = PySys_GetObject("_current_frames");
  if (current_frames_ == nullptr) return false;
  Py_IncRef(current_frames_);
  PyObject* threading = PyImport_ImportModule("threading");
  if (threading != nullptr) active_ = PyObject_GetAttrString(threading, "_active");
  if (active_ == nullptr) PyErr_Clear();
  if (threading != nullptr) Py_DecRef(threading);
  main_thread_ = main_thread;
  base_period_ns_ = period_ns_ = std::clamp<int64_t>(period_ns, kSecondNs / 10'000, kMaxPeriodNs);
  file_ = SampleFile(path, kMaxFileBytes);
  random_ ^= static_cast<uint64_t>(NowNs(CLOCK_MONOTONIC));
  sem_init(&wake_, 0, 0);
  sem_init(&taken_, 0, 0);
  sem_init(&done_, 0, 0);
  last_time_ns_ = NowNs(CLOCK_REALTIME);
  file_.Begin(HostRow::kBegin);
  file_.rows().Number(recording::kHostSamplesVersion);
  file_.rows().Number(static_cast<uint64_t>(getpid()));
  file_.rows().Number(static_cast<uint64_t>(last_time_ns_));
  file_.rows().Number(static_cast<uint64_t>(NowNs(CLOCK_MONOTONIC)));
  file_.rows().Number(static_cast<uint64_t>(base_period_ns_));
  owner_ = getpid();
  order_ = Order::kRun;
  // Signals belong to the threads of the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started = pthread_create(&thread_, nullptr, ThreadMain, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) {
    owner_ = 0;
    return false;
  }
  WatchCollections();
  return true;
}

void Sampler::WatchCollections() {
  static PyMethodDef method = {"xlatrace_on_collection", OnCollection, kTupleArgumentsFlag,
                               nullptr};
  PyObject* module = PyImport_ImportModule("gc");
  PyObject* list = module != nullptr ? PyObject_GetAttrString(module, "callbacks") : nullptr;
  PyObject* function = list != nullptr ? PyCFunction_NewEx(&method, nullptr, nullptr) : nullptr;
  if (function == nullptr || PyList_Append(list, function) != 0) PyErr_Clear();
  for (PyObject* object : {module, list, function}) {
    if (object != nullptr) Py_DecRef(object);
  }
}

PyObject* Sampler::OnCollection(PyObject*, PyObject* arguments) {
  Py_IncRef(&_Py_NoneStruct);
  Sampler* self = g_sampler;
  if (self == nullptr || self->owner_ == 0) return &_Py_NoneStruct;
  PyObject* phase = PyTuple_GetItem(arguments, 0);
  PyObject* info = PyTuple_GetItem(arguments, 1);
  if (phase == nullptr || info == nullptr) {
    PyErr_Clear();
    return &_Py_NoneStruct;
  }
  const int64_t now_ns = NowNs(CLOCK_REALTIME);
  if (PyUnicode_CompareWithASCIIString(phase, "start") == 0) {
    self->collection_start_ns_ = now_ns;
    return &_Py_NoneStruct;
  }
  const int64_t start_ns = std::exchange(self->collection_start_ns_, 0);
  const uint64_t end = self->collections_end_.load();
  if (start_ns == 0 || end - self->collections_read_.load() >= kMaxCollections) {
    return &_Py_NoneStruct;
  }
  PyObject* generation = PyDict_GetItemString(info, "generation");
  self->collections_[end % kMaxCollections] = {
      start_ns, now_ns - start_ns, generation != nullptr ? PyLong_AsLong(generation) : 0};
  self->collections_end_.store(end + 1);
  // A request that came during the collection gets the stack of its cause. The next bytecode may
  // already be in another function: objects are collected before `__init__` of the new one.
  if (self->Mine()) self->SampleIfRequested();
  return &_Py_NoneStruct;
}

void Sampler::Give(Order order, bool wait) {
  if (!Mine() || order_ == Order::kStop) return;
  while (sem_trywait(&done_) == 0) {
  }
  order_ = order;
  sem_post(&wake_);
  if (wait) WaitUntil(&done_, NowNs(CLOCK_MONOTONIC) + kWaitForThreadNs);
}

int Sampler::Stop() {
  Give(Order::kStop, true);
  return full_ ? 1 : 0;
}

void* Sampler::ThreadMain(void* self) {
  UnshareDescriptors();
  PreemptSoon();
  static_cast<Sampler*>(self)->Run();
  return nullptr;
}

void Sampler::Run() {
  pthread_setname_np(pthread_self(), "xlatrace-stacks");
  // A thread state of Python, kept, because making one at each tick would cost more than a sample.
  PyGILState_Ensure();
  state_ = PyEval_SaveThread();
  machine_ = ReadMachineCounters();
  uses_.Next();
  last_use_ns_ = NowNs(CLOCK_REALTIME);
  int64_t period_start_ns = NowNs(CLOCK_MONOTONIC);
  int64_t flushed_ns = period_start_ns;
  bool paused = false;
  while (true) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const int64_t place_ns = static_cast<int64_t>(random_ % static_cast<uint64_t>(period_ns_));
    const bool ordered =
        paused ? WaitUntil(&wake_, INT64_MAX / 2) : WaitUntil(&wake_, period_start_ns + place_ns);
    const Order order = order_;
    if (order != Order::kRun) {
      if (!paused) EncodeEnd();
      paused = true;
      full_ = !file_.Flush();
      sem_post(&done_);
      if (order == Order::kStop) return;
      continue;
    }
    if (ordered) {
      if (paused) {
        machine_ = ReadMachineCounters();
        uses_.Next();
        last_use_ns_ = NowNs(CLOCK_REALTIME);
        period_start_ns = NowNs(CLOCK_MONOTONIC);
      }
      paused = false;
      continue;
    }
    Tick();
    const int64_t now_ns = NowNs(CLOCK_MONOTONIC);
    // Missed ticks are skipped, not sampled later.
    period_start_ns = std::max(period_start_ns + period_ns_, now_ns);
    if (now_ns - flushed_ns < kFlushNs) continue;
    flushed_ns = now_ns;
    if (NowNs(CLOCK_REALTIME) - last_use_ns_ >= kSecondNs) EncodeUse();
    if (!file_.Flush()) {
      full_ = true;
      paused = true;
      order_ = Order::kPause;
    }
  }
}

void Sampler::Tick() {
  ++tick_;
  const int64_t time_ns = NowNs(CLOCK_REALTIME);
  int64_t gil_wait_ns = 0;
  QueryInterpreter(&gil_wait_ns);
  Encode(time_ns, gil_wait_ns);
  EncodeCollections();
}

void Sampler::QueryInterpreter(int64_t* gil_wait_ns) {
  at_tick_.clear();
  while (sem_trywait(&taken_) == 0) {
  }
  // The thread runs on until the request, so slower reads come after it.
  for (const auto& [ident, thread] : threads_) {
    if (thread.task != 0) at_tick_[ident].cpu_ns = CpuOfTask(thread.task);
  }
  ThreadState main_state = ThreadState::kUnknown;
  const auto main = threads_.find(main_thread_);
  if (main != threads_.end()) main_state = StateOfTask(main->second.task);
  claim_ = Claim::kRequested;
  const bool main_runs = main_state <= ThreadState::kNative;
  if (!queued_.exchange(true) && !RequestPendingCall(PendingCall, this, main_runs)) queued_ = false;
  for (auto& [ident, at_tick] : at_tick_) {
    at_tick.state = ident == main_thread_ ? main_state : StateOfTask(threads_[ident].task);
  }
  const int64_t requested_ns = NowNs(CLOCK_MONOTONIC);
  bool called = WaitUntil(&taken_, requested_ns + 2 * kMaxBytecodeNs);
  if (!called && main_runs && MainLeavesGilToOthers()) {
    EndInterruption();
  } else if (!called) {
    called = WaitUntil(&taken_, requested_ns + kPendingCallNs);
  }
  if (called) {
    at_tick_[caller_].state = CallerState();
    return;
  }
  const int64_t asked_ns = NowNs(CLOCK_MONOTONIC);
  PyEval_RestoreThread(state_);
  *gil_wait_ns = NowNs(CLOCK_MONOTONIC) - asked_ns;
  Claim asked = Claim::kRequested;
  if (claim_.compare_exchange_strong(asked, Claim::kTaken)) {
    const int64_t start_ns = NowNs(CLOCK_MONOTONIC);
    Sample();
    cost_ns_ = NowNs(CLOCK_MONOTONIC) - start_ns;
    PyEval_SaveThread();
    claim_ = Claim::kDone;
    return;
  }
  PyEval_SaveThread();
  // Another thread has begun to sample and has lost the GIL meanwhile.
  WaitUntil(&taken_, INT64_MAX / 2);
  at_tick_[caller_].state = CallerState();
}

// The main thread has used a CPU since the tick and made no call, so it is in native code. If
// another thread uses a CPU too, that thread may execute Python code.
bool Sampler::MainLeavesGilToOthers() const {
  bool main_ran = false;
  bool other_ran = false;
  for (const auto& [ident, at_tick] : at_tick_) {
    const auto thread = threads_.find(ident);
    if (thread == threads_.end()) continue;
    const bool ran = CpuOfTask(thread->second.task) - at_tick.cpu_ns >= kMaxBytecodeNs;
    (ident == main_thread_ ? main_ran : other_ran) |= ran;
  }
  return main_ran && other_ran;
}

// A thread that was blocked at the tick went on just now. One that ran was in native code if it
// needed CPU time to reach a bytecode boundary.
ThreadState Sampler::CallerState() const {
  const auto found = at_tick_.find(caller_);
  if (found == at_tick_.end()) return ThreadState::kPython;
  const AtTick& at_tick = found->second;
  if (at_tick.state > ThreadState::kNative) return at_tick.state;
  return caller_cpu_ns_ - at_tick.cpu_ns <= kMaxBytecodeNs ? ThreadState::kPython
                                                           : ThreadState::kNative;
}

int Sampler::PendingCall(void* sampler) {
  auto* self = static_cast<Sampler*>(sampler);
  self->queued_ = false;
  if (self->Mine()) self->SampleIfRequested();
  return 0;
}

void Sampler::SampleIfRequested() {
  Claim asked = Claim::kRequested;
  if (!claim_.compare_exchange_strong(asked, Claim::kTaken)) return;
  const int64_t start_ns = NowNs(CLOCK_MONOTONIC);
  caller_ = pthread_self();  // Python's number of the thread.
  caller_cpu_ns_ = NowNs(CLOCK_THREAD_CPUTIME_ID);
  Sample();
  cost_ns_ = NowNs(CLOCK_MONOTONIC) - start_ns;
  claim_ = Claim::kDone;
  sem_post(&taken_);
}

void Sampler::Sample() {
  seen_.clear();
  found_.clear();
  PyObject* frames = PyObject_CallNoArgs(current_frames_);
  if (frames == nullptr) {
    PyErr_Clear();
    return;
  }
  ptrdiff_t position = 0;
  PyObject* ident = nullptr;
  PyObject* frame = nullptr;
  while (seen_.size() < kMaxThreads && PyDict_Next(frames, &position, &ident, &frame) != 0) {
    if (frame == &_Py_NoneStruct) continue;
    seen_.push_back({PyLong_AsUnsignedLong(ident), table_.StackOf(frame)});
  }
  Py_DecRef(frames);
  for (const Seen& seen : seen_) {
    const auto known = threads_.find(seen.ident);
    if (known != threads_.end() &&
        (known->second.task != 0 || tick_ - known->second.last_lookup < kMinTicksPerLookup)) {
      continue;
    }
    LookUp(seen.ident);
  }
}

// The task and the name of a thread, from the module threading.
void Sampler::LookUp(uint64_t ident) {
  New found{ident, ident == main_thread_ ? owner_ : 0, 0};
  ptrdiff_t position = 0;
  PyObject* key = nullptr;
  PyObject* thread = nullptr;
  while (active_ != nullptr && PyDict_Next(active_, &position, &key, &thread) != 0) {
    if (PyLong_AsUnsignedLong(key) != ident) continue;
    PyObject* task = PyObject_GetAttrString(thread, "_native_id");
    if (task != nullptr && task != &_Py_NoneStruct) found.task = PyLong_AsLong(task);
    PyObject* name = PyObject_GetAttrString(thread, "_name");
    if (name != nullptr) found.name = table_.TextOf(name);
    if (task != nullptr) Py_DecRef(task);
    if (name != nullptr) Py_DecRef(name);
    break;
  }
  PyErr_Clear();
  found_.push_back(found);
}

void Sampler::Encode(int64_t time_ns, int64_t gil_wait_ns) {
  recording::Encoder& rows = file_.rows();
  file_.AddEncoded(table_.definitions(), table_.definition_rows());
  table_.ClearDefinitions();
  for (const New& found : found_) {
    PythonThread& thread = threads_[found.ident];
    thread.last_lookup = tick_;
    if (thread.number != 0 && thread.task == found.task) continue;
    thread = {.number = ++next_number_, .task = found.task, .last_lookup = tick_};
    thread.cpu_ns = CpuOfTask(found.task);
    file_.Begin(HostRow::kThread);
    rows.Number(found.ident);
    rows.Number(static_cast<uint64_t>(found.task));
    rows.Number(found.name);
  }
  file_.Begin(HostRow::kTick);
  rows.Signed(time_ns - last_time_ns_);
  rows.Number(static_cast<uint64_t>(gil_wait_ns / 1000));
  last_time_ns_ = time_ns;
  for (const Seen& seen : seen_) {
    const auto known = threads_.find(seen.ident);
    if (known == threads_.end()) continue;
    PythonThread& thread = known->second;
    thread.last_tick = tick_;
    const auto at_tick = at_tick_.find(seen.ident);
    ThreadState state = ThreadState::kUnknown;
    if (at_tick != at_tick_.end()) {
      state = at_tick->second.state;
    } else if (thread.task != 0) {
      state = StateOfTask(thread.task);
    }
    const int64_t cpu_ns = CpuOfTask(thread.task);
    const int64_t used_ns = std::max<int64_t>(cpu_ns - thread.cpu_ns, 0);
    if (state == thread.state && seen.stack == thread.stack && thread.task != 0 &&
        state >= ThreadState::kSleep && used_ns < kStillNs) {
      continue;  // Its CPU time counts in the next sample.
    }
    file_.Begin(HostRow::kSample);
    rows.Number(thread.number);
    rows.Signed(int64_t{seen.stack} - int64_t{thread.stack});
    rows.Number(static_cast<uint64_t>(state));
    rows.Number(static_cast<uint64_t>(used_ns / 1000));
    thread.stack = seen.stack;
    thread.state = state;
    thread.cpu_ns = cpu_ns;
  }
  for (auto it = threads_.begin(); it != threads_.end();) {
    if (it->second.last_tick == tick_) {
      ++it;
      continue;
    }
    file_.Begin(HostRow::kGone);
    rows.Number(it->second.number);
    it = threads_.erase(it);
  }
  total_cost_ns_ += cost_ns_;
  AdaptPeriod(cost_ns_);
}

// A period that costs the program too much grows, and shrinks again.
void Sampler::AdaptPeriod(int64_t cost_ns) {
  usual_cost_ns_ += (cost_ns - usual_cost_ns_) / 16;
  const int64_t least_ns = usual_cost_ns_ * kMinPeriodsPerCost;
  period_ns_ = std::clamp(least_ns, base_period_ns_, kMaxPeriodNs);
}

void Sampler::EncodeCollections() {
  uint64_t at = collections_read_.load();
  for (const uint64_t end = collections_end_.load(); at != end; ++at) {
    const GcEvent& event = collections_[at % kMaxCollections];
    file_.Begin(HostRow::kCollection);
    file_.rows().Signed(event.start_ns - last_time_ns_);
    file_.rows().Number(static_cast<uint64_t>(std::max<int64_t>(event.duration_ns, 0)));
    file_.rows().Number(static_cast<uint64_t>(event.generation));
  }
  collections_read_ = at;
}

void Sampler::EncodeUse() {
  const int64_t now_ns = NowNs(CLOCK_REALTIME);
  const MachineCounters machine = ReadMachineCounters();
  const std::vector<TaskUse> uses = uses_.Next();
  recording::Encoder& rows = file_.rows();
  file_.Begin(HostRow::kSecond);
  rows.Signed(last_use_ns_ - last_time_ns_);
  rows.Number(static_cast<uint64_t>(std::max<int64_t>(now_ns - last_use_ns_, 0)));
  rows.Number(static_cast<uint64_t>(std::max<int64_t>(machine.busy_ns - machine_.busy_ns, 0)));
  rows.Number(
      static_cast<uint64_t>(std::max<int64_t>(machine.process_ns - machine_.process_ns, 0)));
  rows.Number(static_cast<uint64_t>(machine.cpus));
  for (const TaskUse& use : uses) {
    file_.Begin(HostRow::kUsage);
    rows.Number(static_cast<uint64_t>(use.task));
    for (const int64_t value :
         {use.use.cpu_ns, use.use.run_delay_ns, use.use.voluntary_switches,
          use.use.involuntary_switches, use.use.page_faults, use.use.read_bytes}) {
      rows.Number(static_cast<uint64_t>(std::max<int64_t>(value, 0)));
    }
  }
  machine_ = machine;
  last_use_ns_ = now_ns;
  file_.Begin(HostRow::kCost);
  rows.Number(static_cast<uint64_t>(total_cost_ns_));
}

void Sampler::EncodeEnd() {
  EncodeCollections();
  EncodeUse();
  const int64_t now_ns = NowNs(CLOCK_REALTIME);
  file_.Begin(HostRow::kPause);
  file_.rows().Signed(now_ns - last_time_ns_);
  last_time_ns_ = now_ns;
  for (auto& [ident, thread] : threads_) {
    thread.stack = 0;
    thread.state = ThreadState::kUnknown;
  }
}

}  // namespace
}  // namespace xlatrace::collector

using xlatrace::collector::g_sampler;

int xlatrace_stacks_prepare() { return xlatrace::collector::PreparePendingCalls() ? 1 : 0; }

int xlatrace_stacks_start(const char* path, long long period_ns, unsigned long main_thread) {
  g_sampler = new xlatrace::collector::Sampler;
  return g_sampler->Start(path, period_ns, main_thread) ? 0 : 1;
}

void xlatrace_stacks_pause() {
  if (g_sampler != nullptr) g_sampler->Pause();
}

void xlatrace_stacks_go_on() {
  if (g_sampler != nullptr) g_sampler->GoOn();
}

int xlatrace_stacks_stop() { return g_sampler != nullptr ? g_sampler->Stop() : 0; }

void xlatrace_stacks_forked() {
  if (g_sampler != nullptr) g_sampler->Forked();
}
