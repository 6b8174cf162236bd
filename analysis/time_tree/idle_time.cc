// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/idle_time.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/gap_host.h"
#include "analysis/range_paths.h"
#include "analysis/time_tree/sampled_idle.h"
#include "analysis/time_tree/step_spans.h"
#include "base/text.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::HostEvent;
using model::Id;
using model::TreeKind;

constexpr size_t kMaxSampledStarts = 65'536;
constexpr size_t kMinSampledStarts = 8;  // Quartiles of fewer values are chance.

using Thread = std::pair<Id, int64_t>;  // Process, thread.

// From the end of a launch call to the start of its work. If a start takes longer than the limit,
// other work holds it. The limit is p75 + 3 (p75 - p25), as for the pause of a step.
struct UsualStart {
  int64_t usual_ns = 0;
  int64_t limit_ns = kMaxStartNs;
};

UsualStart UsualOf(std::vector<int64_t> values) {
  UsualStart start;
  std::sort(values.begin(), values.end());
  if (!values.empty()) start.usual_ns = std::min(values[0], start.limit_ns);
  if (values.size() >= kMinSampledStarts) {
    const int64_t p75_ns = Quartile(values, 3);
    start.usual_ns = Quartile(values, 2);
    start.limit_ns = p75_ns + 3 * (p75_ns - Quartile(values, 1));
  }
  return start;
}

// Starts on an idle device, and starts of work that was queued.
struct UsualStarts {
  UsualStart on_idle, queued;
};

// Work of one device of a process may always wait for another device.
void KeepShorter(UsualStart& start, const UsualStart& other) {
  if (other.limit_ns < start.limit_ns) start = other;
}

constexpr int64_t kNotExplainedEndNs = INT64_MIN;

// Before the first step, a driver call that launches nothing creates the context or reads what the
// device can do. The first call of a process does both, also if it is cudaFree.
bool StartsBackend(const HostState& state) {
  if (state.inner.empty()) return false;
  if (state.kind == TreeKind::kAlloc) return state.inner == "cudaFree" || state.inner == "hipFree";
  return state.kind == TreeKind::kLaunch &&
         !HasAny(state.inner, {"Launch", "GraphExec", "EventRecord", "StreamWaitEvent", "Memset",
                               "memset", "Memcpy", "memcpy"});
}

// Idle time before the launch call of the next work returned.
struct HostPiece {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t call_start_ns = INT64_MAX;  // From here on the thread is inside the launch call.
  int64_t gap_end_ns = 0;             // kNotExplainedEndNs: the gap is too short.
  TreeKind of_call = TreeKind::kLaunch;
  bool waits_for_work = false;  // `base` is the node of the dependency; only calls divide it.
  std::optional<int64_t> thread_id;
  std::optional<int64_t> executes;  // The thread that executes programs.
  Id process_id = 0;
  NodeId base = 0;
  int32_t step = kNoStepIndex;
  size_t device = 0;  // Position among the devices.
  int64_t weight = 1;
};

class Divider {
 public:
  Divider(const model::RunTables& run, const std::vector<ActivityClass>& classes,
          const std::vector<model::NamedCompile>& compiles, const HostCallOf& call_of,
          const std::vector<DeviceIdle>& devices, NodeTable& nodes)
      : run_(run),
        classes_(classes),
        call_of_(call_of),
        devices_(devices),
        nodes_(nodes),
        compiles_(CompilePartsOf(run, compiles)),
        sampled_(run, WorkerDelay(run.host_samples, IdleOfCpus(run, devices)),
                 [this](const SampledIdle::Place& place, const HostState& state, Id stack_id,
                        int64_t ns) { PutSampled(place, state, stack_id, ns); }) {}

  // Applies the rules that need no host events. Within returns the remaining instants.
  void DivideByLaunches() {
    FindEnds();
    for (size_t d = 0; d < devices_.size(); ++d) {
      if (!devices_[d].again) MeasureStarts(d);
    }
    for (size_t d = 0; d < devices_.size(); ++d) {
      for (const IdlePiece& piece : devices_[d].time->idle()) DividePiece(d, piece);
    }
  }

  Intervals Within() const {
    Intervals within;
    for (const HostPiece& piece : host_) within.push_back({piece.start_ns, piece.end_ns});
    return Normalise(std::move(within));
  }

  void DivideByHost(const std::vector<HostEvent>& events) {
    FindExecuteThreads(events);
    for (HostPiece& piece : host_) {
      piece.executes = ExecuteThread(piece);
      if (!piece.thread_id) piece.thread_id = piece.executes;
    }
    std::map<Thread, std::vector<HostSpan>> spans = SpansOf(events);
    DividePieces(spans);
    // A worker thread launches for another thread. If nothing is recorded on the worker, the thread
    // that executes the programs counts.
    host_ = std::move(nothing_);
    nothing_.clear();
    for (HostPiece& piece : host_) piece.thread_id = piece.executes;
    DividePieces(spans);
    sampled_.Finish();
  }

  std::vector<GapPart> TakeGapParts() { return std::move(gap_parts_); }

  std::vector<model::GapStackRow> GapStacks() const {
    std::vector<model::GapStackRow> rows;
    for (const auto& [key, ns] : gap_stacks_) {
      const auto& [device, part, kind, stack_id] = key;
      rows.push_back({device, part, kind, stack_id, ns});
    }
    return rows;
  }

 private:
  // Idle time by process, where all devices are CPUs.
  static std::map<Id, Intervals> IdleOfCpus(const model::RunTables& run,
                                            const std::vector<DeviceIdle>& devices) {
    std::map<Id, Intervals> idle;
    for (const DeviceIdle& device : devices) {
      const Id process_id = run.devices[static_cast<size_t>(device.device_id) - 1].process_id;
      if (device.again) continue;
      for (const IdlePiece& piece : device.time->idle()) {
        idle[process_id].push_back({piece.start_ns, piece.end_ns});
      }
    }
    for (const model::Device& device : run.devices) {
      if (device.kind != model::DeviceKind::kCpu) idle.erase(device.process_id);
    }
    for (auto& [process_id, of] : idle) of = Normalise(std::move(of));
    return idle;
  }

  void AddPart(size_t d, int64_t gap_end_ns, TreeKind kind, int64_t ns) {
    if (gap_end_ns == kNotExplainedEndNs || devices_[d].again || ns <= 0) return;
    const auto device_id = static_cast<int32_t>(devices_[d].device_id);
    if (!gap_parts_.empty()) {
      GapPart& last = gap_parts_.back();
      if (last.gap_end_ns == gap_end_ns && last.device_id == device_id && last.kind == kind) {
        last.ns += ns;
        return;
      }
    }
    gap_parts_.push_back({gap_end_ns, ns, device_id, kind});
  }

  static int64_t ExplainedGap(const IdlePiece& piece) {
    return piece.gap_end_ns - piece.start_ns >= kMinExplainedGapNs ? piece.gap_end_ns
                                                                   : kNotExplainedEndNs;
  }

  NodeId IdleBase(const Region& region) {
    return region.idle_below_node ? nodes_.Child(region.base, TreeKind::kIdle) : region.base;
  }

  void DividePieces(const std::map<Thread, std::vector<HostSpan>>& spans) {
    std::stable_sort(host_.begin(), host_.end(), [](const HostPiece& a, const HostPiece& b) {
      return std::tuple(a.process_id, a.thread_id, a.device, a.start_ns) <
             std::tuple(b.process_id, b.thread_id, b.device, b.start_ns);
    });
    for (size_t begin = 0; begin < host_.size();) {
      const HostPiece& first = host_[begin];
      size_t end = begin;
      while (end < host_.size() && host_[end].process_id == first.process_id &&
             host_[end].thread_id == first.thread_id && host_[end].device == first.device) {
        ++end;
      }
      if (!first.thread_id) {
        for (size_t k = begin; k < end; ++k) {
          const int64_t ns = host_[k].end_ns - host_[k].start_ns;
          const NodeId base = host_[k].base;
          Put(host_[k], host_[k].waits_for_work ? base : nodes_.Child(base, TreeKind::kUnknown),
              ns);
          AddPart(host_[k].device, host_[k].gap_end_ns, TreeKind::kUnknown, ns);
        }
      } else {
        const auto of = spans.find({first.process_id, *first.thread_id});
        HostThread thread(of == spans.end() ? std::vector<HostSpan>() : of->second);
        int64_t before = INT64_MIN;
        for (size_t k = begin; k < end; ++k) {
          if (host_[k].start_ns < before) thread.Restart();
          if (host_[k].waits_for_work) {
            DivideDependency(host_[k], thread);
          } else {
            DivideByThread(host_[k], thread);
          }
          before = host_[k].end_ns;
        }
      }
      begin = end;
    }
  }

  void Put(const HostPiece& piece, NodeId node, int64_t ns) {
    Put(piece.device, node, piece.step, ns * piece.weight);
  }

  void Put(size_t device, NodeId node, int32_t step, int64_t ns) {
    std::vector<Entry>& entries = devices_[device].time->entries();
    if (!entries.empty() && entries.back().node == node && entries.back().step == step) {
      entries.back().ns += ns;
    } else {
      entries.push_back({node, step, ns});
    }
  }

  void PutSampled(const SampledIdle::Place& place, const HostState& state, Id stack_id,
                  int64_t ns) {
    Put(place.device, NodeOf(place.base, state), place.step, ns * place.weight);
    if (devices_[place.device].again) return;
    gap_stacks_[{devices_[place.device].device_id, LevelOf(place.base), state.kind, stack_id}] +=
        ns * place.weight;
  }

  // The level of the tree that a node lies in.
  TreeKind LevelOf(NodeId node) const {
    const std::vector<Node>& nodes = nodes_.nodes();
    while (nodes[node].parent != NodeTable::kRoot) node = nodes[node].parent;
    const TreeKind kind = nodes[node].kind;
    if (kind == TreeKind::kSteps) return TreeKind::kStep;
    return kind == TreeKind::kIdle ? TreeKind::kRoot : kind;
  }

  std::optional<model::HostCall> CallOf(uint32_t activity) const {
    if (!call_of_ || activity == kNoActivityIndex) return std::nullopt;
    return call_of_(activity);
  }

  void MeasureStarts(size_t d) {
    const std::vector<IdlePiece>& pieces = devices_[d].time->idle();
    const size_t every = pieces.size() / kMaxSampledStarts + 1;
    std::vector<int64_t> on_idle, queued;
    for (size_t k = 0; k < pieces.size(); k += every) {
      const IdlePiece& piece = pieces[k];
      if (piece.end_ns != piece.gap_end_ns) continue;
      const auto call = CallOf(piece.next);
      if (!call || call->end_ns > piece.end_ns) continue;
      if (call->end_ns > piece.start_ns) {
        on_idle.push_back(piece.end_ns - call->end_ns);
      } else {
        queued.push_back(piece.end_ns - piece.start_ns);
      }
    }
    const UsualStarts own{UsualOf(std::move(on_idle)), UsualOf(std::move(queued))};
    const auto [known, is_new] = starts_.try_emplace(ProcessOf(d), own);
    if (is_new) return;
    KeepShorter(known->second.on_idle, own.on_idle);
    KeepShorter(known->second.queued, own.queued);
  }

  Id ProcessOf(size_t d) const {
    return run_.devices[static_cast<size_t>(devices_[d].device_id) - 1].process_id;
  }

  // When the work of each device ends, in processes with several.
  void FindEnds() {
    std::map<Id, size_t> devices;
    for (size_t d = 0; d < devices_.size(); ++d) devices[ProcessOf(d)] += devices_[d].again ? 0 : 1;
    ends_.resize(devices_.size());
    std::vector<std::vector<int64_t>*> of_device(run_.devices.size() + 1, nullptr);
    bool any = false;
    for (size_t d = 0; d < devices_.size(); ++d) {
      if (devices[ProcessOf(d)] < 2 || devices_[d].again) continue;
      of_device[static_cast<size_t>(devices_[d].device_id)] = &ends_[d];
      any = true;
    }
    if (!any) return;
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      std::vector<int64_t>* ends = of_device[static_cast<size_t>(run_.LaneOf(i).device_id)];
      if (ends != nullptr && run_.activities.timed(i)) ends->push_back(run_.activities.end_ns(i));
    }
    for (std::vector<int64_t>& ends : ends_) std::sort(ends.begin(), ends.end());
  }

  // The last end of work on another device of the process between two instants.
  std::optional<int64_t> EndElsewhere(size_t d, int64_t from_ns, int64_t until_ns) const {
    std::optional<int64_t> last;
    for (size_t other = 0; other < devices_.size(); ++other) {
      if (devices_[other].device_id == devices_[d].device_id || ProcessOf(other) != ProcessOf(d)) {
        continue;
      }
      const auto after = std::upper_bound(ends_[other].begin(), ends_[other].end(), until_ns);
      if (after == ends_[other].begin() || *std::prev(after) <= from_ns) continue;
      last = std::max(last.value_or(INT64_MIN), *std::prev(after));
    }
    return last;
  }

  // From `from_ns` on the next work had been launched.
  void PutLaunched(size_t d, const IdlePiece& piece, const Region& region, int64_t from_ns,
                   const UsualStart& start) {
    const NodeId base = IdleBase(region);
    int64_t held_until = from_ns;
    if (piece.gap_end_ns - from_ns > start.limit_ns) {
      // Work that ends shortly before the start is the work that it waited for.
      const auto elsewhere = EndElsewhere(d, from_ns, piece.gap_end_ns);
      const bool other_device = elsewhere && piece.gap_end_ns - *elsewhere <= start.limit_ns;
      held_until = std::clamp(other_device ? *elsewhere : piece.gap_end_ns - start.usual_ns,
                              from_ns, piece.end_ns);
      HostPiece held;
      held.device = d;
      held.process_id = ProcessOf(d);
      held.base = nodes_.Child(base, TreeKind::kDependency,
                               other_device ? "other device" : WhatHeld(piece));
      held.step = region.step;
      held.weight = piece.weight;
      held.gap_end_ns = kNotExplainedEndNs;
      held.waits_for_work = true;
      held.start_ns = from_ns;
      held.end_ns = held_until;
      const auto call = CallOf(piece.next);
      if (call) held.thread_id = call->thread_id;
      host_.push_back(held);
      AddPart(d, ExplainedGap(piece), TreeKind::kDependency, held_until - from_ns);
    }
    if (held_until < piece.end_ns) {
      AddPart(d, ExplainedGap(piece), TreeKind::kLaunch, piece.end_ns - held_until);
      const NodeId launch = nodes_.Child(base, TreeKind::kLaunch);
      Put(d, nodes_.Child(launch, TreeKind::kLaunch, "launched, not started"), region.step,
          (piece.end_ns - held_until) * piece.weight);
    }
  }

  std::string_view WhatHeld(const IdlePiece& piece) const {
    if (piece.previous == kNoActivityIndex) return "";
    if (classes_[piece.previous] == ActivityClass::kCollective) return "collective";
    if (classes_[piece.previous] == ActivityClass::kCopy) return "copy";
    const auto& lanes = run_.activities.lane;
    return lanes[piece.previous] == lanes[piece.next] ? "stream" : "event";
  }

  void DividePiece(size_t d, const IdlePiece& piece) {
    const Region& region = devices_[d].time->regions()[piece.region];
    if (nodes_.nodes()[region.base].kind == TreeKind::kShutdown) {
      Put(d, region.base, region.step, (piece.end_ns - piece.start_ns) * piece.weight);
      return;
    }
    const auto call = CallOf(piece.next);
    if (call) last_thread_ = call->thread_id;
    int64_t launched = call ? std::clamp(call->end_ns, piece.start_ns, piece.end_ns) : piece.end_ns;
    if (launched < piece.end_ns) {
      const UsualStarts& starts = starts_.at(ProcessOf(d));
      PutLaunched(d, piece, region, launched,
                  call->end_ns > piece.start_ns ? starts.on_idle : starts.queued);
    }
    if (launched == piece.start_ns) return;
    HostPiece host;
    host.device = d;
    host.process_id = ProcessOf(d);
    host.base = IdleBase(region);
    host.step = region.step;
    host.weight = piece.weight;
    host.gap_end_ns = ExplainedGap(piece);
    if (call) {
      host.thread_id = call->thread_id;
      host.call_start_ns = call->start_ns;
      host.of_call = ClassOfNext(piece.next, *call);
    } else if (piece.next == kNoActivityIndex) {
      host.thread_id = last_thread_;
    }
    PutCompiles(host, piece.start_ns, launched);
  }

  // A copy whose call returns after it ended is waited for; else the call only enqueues.
  TreeKind ClassOfNext(uint32_t next, const model::HostCall& call) const {
    const bool copy = run_.ConfigOf(next).kind == model::ActivityKind::kMemcpy;
    return copy && call.end_ns >= run_.activities.end_ns(next) ? TreeKind::kCopyWait
                                                               : TreeKind::kLaunch;
  }

  // Compilation goes to its own nodes, the rest to the host.
  void PutCompiles(HostPiece host, int64_t start_ns, int64_t end_ns) {
    static const std::vector<CompilePart> kNone;
    const auto process = static_cast<size_t>(host.process_id);
    const std::vector<CompilePart>& parts =
        process > 0 && process <= compiles_.size() ? compiles_[process - 1] : kNone;
    auto at = std::partition_point(parts.begin(), parts.end(), [&](const CompilePart& part) {
      return part.end_ns <= start_ns;
    });
    for (; at != parts.end() && at->start_ns < end_ns; ++at) {
      host.start_ns = start_ns;
      host.end_ns = at->start_ns;
      if (host.start_ns < host.end_ns) host_.push_back(host);
      const int64_t from = std::max(start_ns, at->start_ns);
      start_ns = std::min(end_ns, at->end_ns);
      // A compilation during the first execution belongs to startup, next to that execution.
      NodeId base = host.base;
      if (nodes_.nodes()[base].kind == TreeKind::kFirstExecution)
        base = nodes_.nodes()[base].parent;
      const bool in_startup = nodes_.nodes()[base].kind == TreeKind::kStartup;
      Put(host, NodeOf(base, *at, at->again && !in_startup), start_ns - from);
      AddPart(host.device, host.gap_end_ns, TreeKind::kCompile, start_ns - from);
    }
    host.start_ns = start_ns;
    host.end_ns = end_ns;
    if (host.start_ns < host.end_ns) host_.push_back(host);
  }

  NodeId NodeOf(NodeId base, const CompilePart& part, bool recompiles) {
    const TreeKind kind = part.below ? TreeKind::kCompile : part.kind;
    NodeId node = nodes_.Child(base, recompiles ? TreeKind::kRecompilation : kind, part.name);
    nodes_.SetPlace(node, part.source_file, part.source_line);
    if (!part.below) return node;
    node = nodes_.Child(node, part.kind);
    return part.part.empty() ? node : nodes_.Child(node, part.kind, part.part);
  }

  void FindExecuteThreads(const std::vector<HostEvent>& events) {
    for (const HostEvent& event : events) {
      const bool executes = (ActsOf(event) & static_cast<uint8_t>(HostAct::kNamesExecution)) != 0;
      if (executes) executes_[event.process_id].push_back(&event);
    }
    for (auto& [process, of] : executes_) {
      std::stable_sort(of.begin(), of.end(), [](const HostEvent* a, const HostEvent* b) {
        return a->start_ns < b->start_ns;
      });
    }
  }

  // The thread of the last execute range to begin before the work does.
  std::optional<int64_t> ExecuteThread(const HostPiece& piece) const {
    const auto of = executes_.find(piece.process_id);
    if (of == executes_.end()) return std::nullopt;
    const auto after = std::upper_bound(
        of->second.begin(), of->second.end(), piece.end_ns,
        [](int64_t time, const HostEvent* event) { return time < event->start_ns; });
    return after == of->second.begin() ? of->second.front()->thread_id
                                       : (*std::prev(after))->thread_id;
  }

  // Calls that copy, by process and start: when the copy ended.
  std::map<std::pair<Id, int64_t>, int64_t> CopyEnds() const {
    std::map<std::pair<Id, int64_t>, int64_t> ends;
    if (!call_of_) return ends;
    for (uint32_t i = 0; i < run_.activities.size(); ++i) {
      if (run_.ConfigOf(i).kind != model::ActivityKind::kMemcpy || !run_.activities.timed(i)) {
        continue;
      }
      const auto call = call_of_(i);
      if (!call) continue;
      int64_t& end = ends[{run_.DeviceOf(i).process_id, call->start_ns}];
      end = std::max(end, run_.activities.end_ns(i));
    }
    return ends;
  }

  // XProf names functions without the folder of their file ("$train.py:12 step"), so packages
  // look like the program. The file of a thread's longest function is the program's.
  static std::map<Thread, std::string_view> ScriptsOf(const std::vector<HostEvent>& events) {
    std::map<Thread, const HostEvent*> longest;
    for (const HostEvent& event : events) {
      if (!event.name.starts_with('$')) continue;
      const HostEvent*& known = longest[{event.process_id, event.thread_id}];
      if (known == nullptr || event.end_ns - event.start_ns > known->end_ns - known->start_ns) {
        known = &event;
      }
    }
    std::map<Thread, std::string_view> scripts;
    for (const auto& [thread, event] : longest) {
      scripts[thread] = event->name.substr(0, event->name.find(':') + 1);
    }
    return scripts;
  }

  std::map<Thread, std::vector<HostSpan>> SpansOf(const std::vector<HostEvent>& events) const {
    std::set<std::tuple<Id, int64_t, int64_t>> marks;
    for (const model::StepMark& mark : run_.step_marks) {
      marks.insert({mark.process_id, mark.start_ns, mark.end_ns});
    }
    const std::map<Thread, std::string_view> scripts = ScriptsOf(events);
    std::optional<std::map<std::pair<Id, int64_t>, int64_t>> copies;
    std::map<Thread, std::vector<HostSpan>> spans;
    std::unordered_map<const char*, HostSpan> of_name;  // Names come again and again.
    for (const HostEvent& event : events) {
      if (marks.contains({event.process_id, event.start_ns, event.end_ns})) continue;
      if (event.name.starts_with('$') &&
          !event.name.starts_with(scripts.at({event.process_id, event.thread_id}))) {
        continue;
      }
      const bool is_call = event.range_id == 0;
      auto known = of_name.find(event.name.data());
      if (known == of_name.end()) {
        HostSpan span;
        if (is_call || IsRuntimeRange(event.name)) {
          span.type = HostSpan::Type::kCall;
          span.name = WithoutVersion(event.name);
          span.of_call = ClassOfCall(span.name);
        } else {
          const bool framework = IsFrameworkRange(event.name);
          span.type = framework ? HostSpan::Type::kFramework : HostSpan::Type::kUser;
          span.name = event.name;
        }
        known = of_name.emplace(event.name.data(), span).first;
      }
      HostSpan span = known->second;
      span.start_ns = event.start_ns;
      span.end_ns = event.end_ns;
      if (span.of_call == TreeKind::kCopyWait) {
        if (!copies) copies = CopyEnds();
        const auto copy = copies->find({event.process_id, event.start_ns});
        const bool waits =
            copy != copies->end() ? span.end_ns >= copy->second : !Has(span.name, "Async");
        if (!waits) span.of_call = TreeKind::kLaunch;
      }
      spans[{event.process_id, event.thread_id}].push_back(span);
    }
    return spans;
  }

  // While earlier work holds the next work, the host may be inside a call that waits for it.
  void DivideDependency(const HostPiece& piece, HostThread& thread) {
    thread.Visit(piece.start_ns, piece.end_ns, [&](const HostState& state) {
      const bool waits = state.kind == TreeKind::kSync || state.kind == TreeKind::kCopyWait;
      Put(piece, waits ? nodes_.Child(piece.base, TreeKind::kDependency, state.inner) : piece.base,
          state.end_ns - state.start_ns);
    });
  }

  void DivideByThread(const HostPiece& piece, HostThread& thread) {
    const bool in_startup = nodes_.nodes()[piece.base].kind == TreeKind::kStartup;
    const auto put = [&](HostState state) {
      if (in_startup && StartsBackend(state)) state.kind = TreeKind::kBackendStart;
      const bool in_call = state.start_ns >= piece.call_start_ns;
      if (in_call && (state.inner.empty() || state.kind == TreeKind::kDispatch)) {
        state.kind = piece.of_call;
        state.inner = {};
      }
      const SampledIdle::Place place{piece.device, piece.base, piece.step, piece.weight};
      const int64_t ns = state.end_ns - state.start_ns;
      if (sampled_.Add(place, piece.process_id, *piece.thread_id, state)) {
        AddPart(piece.device, piece.gap_end_ns, state.kind, ns);
        return;
      }
      const bool nothing = state.kind == TreeKind::kHost && state.user.empty();
      if (nothing && piece.executes && piece.executes != piece.thread_id) {
        HostPiece left = piece;
        left.start_ns = state.start_ns;
        left.end_ns = state.end_ns;
        left.call_start_ns = INT64_MAX;
        nothing_.push_back(left);
        return;
      }
      Put(piece, NodeOf(piece.base, state), ns);
      AddPart(piece.device, piece.gap_end_ns, state.kind, ns);
    };
    const int64_t call = std::clamp(piece.call_start_ns, piece.start_ns, piece.end_ns);
    thread.Visit(piece.start_ns, call, put);
    thread.Visit(call, piece.end_ns, put);
  }

  NodeId NodeOf(NodeId base, const HostState& state) {
    const std::tuple key(base, state.kind, state.user.data(), state.inner.data());
    const auto [known, is_new] = node_of_.try_emplace(key, 0);
    if (!is_new) return known->second;
    const bool nothing = state.kind == TreeKind::kHost && state.user.empty();
    NodeId node = nodes_.Child(base, state.kind, nothing ? "nothing recorded" : state.user);
    if (!state.inner.empty()) {
      node = nodes_.Child(node, state.kind, state.inner);
    } else if (state.kind == TreeKind::kLaunch || state.kind == TreeKind::kCopyWait) {
      node = nodes_.Child(node, state.kind, "launch call");
    }
    return known->second = node;
  }

  const model::RunTables& run_;
  const std::vector<ActivityClass>& classes_;
  const HostCallOf& call_of_;
  const std::vector<DeviceIdle>& devices_;
  NodeTable& nodes_;
  const std::vector<std::vector<CompilePart>> compiles_;
  SampledIdle sampled_;
  // By device, level, kind and stack.
  std::map<std::tuple<Id, TreeKind, TreeKind, Id>, int64_t> gap_stacks_;
  std::map<Id, UsualStarts> starts_;        // By process: of the device that starts soonest.
  std::vector<std::vector<int64_t>> ends_;  // By device, of processes with several.
  std::optional<int64_t> last_thread_;
  std::vector<GapPart> gap_parts_;
  std::vector<HostPiece> host_;
  std::vector<HostPiece> nothing_;                        // Threads without recorded activity.
  std::map<Id, std::vector<const HostEvent*>> executes_;  // By process, by start.
  std::map<std::tuple<NodeId, TreeKind, const char*, const char*>, NodeId> node_of_;
};

}  // namespace

IdleDivision DivideIdleTime(const model::RunTables& run, const std::vector<ActivityClass>& classes,
                            const std::vector<model::NamedCompile>& compiles,
                            const HostEventLoader& load_events, const HostCallOf& call_of,
                            const std::vector<DeviceIdle>& devices, NodeTable& nodes) {
  Divider divider(run, classes, compiles, call_of, devices, nodes);
  divider.DivideByLaunches();
  std::vector<HostEvent> events;
  if (load_events) events = load_events(divider.Within());
  divider.DivideByHost(events);
  return {divider.GapStacks(), divider.TakeGapParts()};
}

}  // namespace xlatrace::analysis::time_tree
