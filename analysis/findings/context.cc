// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/context.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "analysis/findings/limits.h"
#include "analysis/findings/memory_facts.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;
using model::kNoIndex;

// One part in 20 of the time is in parallel: more than two calls that overlap at their ends.
constexpr int64_t kParallelTimeFactor = 20;
constexpr int64_t kMinConfidentSteps = 5;
constexpr double kMinAttributedShare = 0.95;
// Smaller ops, by share of device time, are not examined one by one.
constexpr double kMinOpShare = 0.0002;
// Cost of XLA:CPU's profile per op (bench/cpu_recording_cost.py), and the share that matters.
constexpr double kRecordingNs = 700;
constexpr double kMinRecordingShare = 0.2;
constexpr double kMinCallerShare = 0.7;  // Time of the ops in one function.
// Python's own limit of recursion is 1,000; deeper tables are damaged.
constexpr size_t kMaxStackFrames = 1000;

// A file through which every op of the framework passes, so its line identifies no op.
bool IsFrameworkCore(std::string_view file) {
  return file.find("/tensorflow/python/framework/ops.py") != file.npos || file == "dummy_file_name";
}

// JAX sets no type for its ops; those of PyTorch/XLA have a namespace ("aten__mm").
bool IsTensorFlowType(std::string_view op_type) {
  return !op_type.empty() && op_type.find("__") == op_type.npos;
}

std::string FileAndLine(std::string_view file, int64_t line) {
  if (file.empty()) return {};
  return line > 0 ? fmt::format("{}:{}", file, line) : std::string(file);
}

}  // namespace

std::optional<double> Op::BytesPerSecond() const {
  const std::optional<int64_t> bytes = row->bytes ? row->bytes : facts->bytes;
  if (!bytes || ns <= 0 || calls <= 0) return std::nullopt;
  return static_cast<double>(*bytes) * calls / (static_cast<double>(ns) * 1e-9);
}

Context::Context(const model::RunTables& run_tables,
                 const model::AttributionTables& attribution_tables,
                 const model::AnalysisTables& analysis_tables, const ModuleLoader& load_module,
                 const AnalysisOptions& analysis_options)
    : run(run_tables),
      attribution(attribution_tables),
      analysis(analysis_tables),
      options(analysis_options) {
  SumSteps();
  FindLimits();
  FindSideBySide();
  ReadOps(load_module);
  FindMemoryRate();
  for (const model::LaunchQueueRow& row : analysis.launch_queues) {
    if (row.steady != (steady_steps > 0))
      continue;  // A device without steps does not describe steps.
    if (launch_queue == nullptr || row.calls > launch_queue->calls) launch_queue = &row;
  }
}

double Context::ShareOfStep(int64_t ns) const {
  return step_ns > 0 ? static_cast<double>(ns) / static_cast<double>(step_ns) : 0;
}

std::string Context::Counted(int64_t count, std::string_view one, std::string_view many) const {
  const int64_t each = PerStep(count);
  const bool seldom = each == 0 && count > 0;
  const int64_t said = seldom ? count : each;
  std::string text = fmt::format("{} {}", Thousands(said), said == 1 ? one : many);
  if (seldom) text += fmt::format(" over {} steps", step_count);
  return text;
}

double Context::ShareOfWork(int64_t ns) const {
  if (!side_by_side) return ShareOfStep(ns);
  return device_ns > 0 ? static_cast<double>(ns) / static_cast<double>(device_ns) : 0;
}

std::string Context::WorkShare(int64_t ns) const {
  return fmt::format("{} {}", Percent(ShareOfWork(ns)), words.of_work);
}

double Context::ShareOfSpan(int64_t ns) const {
  return span_ns > 0 ? static_cast<double>(ns) / static_cast<double>(span_ns) : 0;
}

void Context::SumSteps() {
  int64_t wall = 0;
  int64_t device = 0;
  std::map<Id, int64_t> per_device;
  std::set<std::pair<Id, int64_t>> steady;
  std::set<int64_t> numbers;
  for (const model::StepRow& row : analysis.steps) {
    if (row.steady) numbers.insert(row.step);
    if (!row.typical) continue;
    steady.emplace(row.device_id, row.step);
    ++steady_steps;
    step_count = std::max(step_count, ++per_device[row.device_id]);
    wall += row.end_ns - row.start_ns;
    device += row.device_ns;
  }
  steady_count = std::ssize(numbers);
  whole_run = steady_steps == 0;
  divisor = std::max<int64_t>(steady_steps, 1);
  step_ns = span_ns = PerStep(wall);
  device_ns = PerStep(device);
  if (whole_run) {
    words = kRunWords;
    SumWholeRun();
  }
  for (const model::StepPartRow& row : analysis.step_parts) {
    if (steady.contains({row.device_id, row.step})) {
      parts_[static_cast<size_t>(row.part)] += row.wall_ns;
    }
  }
  if (!whole_run) {
    for (int64_t& part : parts_) part = PerStep(part);
  }
  int64_t all = 0;
  int64_t graphs = 0;
  in_steady_step_.assign(run.activities.size(), false);
  // Neighbours mostly share device and step.
  std::pair<Id, int64_t> last = {0, 0};
  bool last_is_steady = false;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    if (i < analysis.step_of.size() && analysis.step_of[i]) {
      const std::pair<Id, int64_t> key = {run.LaneOf(i).device_id, *analysis.step_of[i]};
      if (key != last) last_is_steady = steady.contains(key);
      last = key;
      in_steady_step_[i] = last_is_steady;
    }
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    all += run.activities.self_ns[i];
    if (label.instruction_id == 0 && label.reason == model::Reason::kGraphWithoutBody) {
      graphs += run.activities.self_ns[i];
    }
  }
  if (all > 0) graph_share = static_cast<double>(graphs) / static_cast<double>(all);
}

void Context::FindSideBySide() {
  int64_t busy_ns = 0;
  int64_t overlap_ns = 0;
  for (const model::BusyTimeRow& row : analysis.busy_times) {
    busy_ns += row.busy_ns;
    overlap_ns += row.overlap_ns;
  }
  side_by_side = on_cpu && kParallelTimeFactor * overlap_ns > busy_ns;
  if (side_by_side) words.of_work = "of device time";
}

void Context::SumWholeRun() {
  divisor = 1;  // Totals of all devices, as in every table of such a run.
  int64_t busy = 0, idle = 0, device = 0, collective = 0, copy = 0;
  for (const model::BusyTimeRow& row : analysis.busy_times) {
    busy += row.busy_ns;
    idle += row.idle_ns;
    device += row.busy_ns + row.overlap_ns;
    collective += row.exposed_collective_ns;
    copy += row.exposed_copy_ns;
  }
  const auto devices = std::ssize(analysis.busy_times);
  if (devices > 1) words.whole = fmt::format("time of {} devices", Thousands(devices));
  step_ns = PerStep(busy);
  span_ns = PerStep(busy + idle);
  device_ns = PerStep(device);
  parts_[static_cast<size_t>(model::StepPart::kIdle)] = PerStep(idle);
  parts_[static_cast<size_t>(model::StepPart::kExposedCollective)] = PerStep(collective);
  parts_[static_cast<size_t>(model::StepPart::kExposedCopy)] = PerStep(copy);
}

void Context::FindLimits() {
  // A profile of a GPU may describe the host as a device as well.
  const model::Device* best = nullptr;
  for (const model::Device& device : run.devices) {
    if (best == nullptr ||
        (best->kind == model::DeviceKind::kCpu && device.kind != model::DeviceKind::kCpu)) {
      best = &device;
    }
  }
  if (best == nullptr) return;
  on_gpu = best->kind == model::DeviceKind::kGpu;
  on_cpu = best->kind == model::DeviceKind::kCpu;
  if (!on_cpu) limits = LimitsOf(analysis::FactsOf(*best));
}

void Context::ReadOps(const ModuleLoader& load_module) {
  // Rows of a module are in its order, so a row's position identifies its instruction.
  std::map<Id, size_t> first_row;
  for (size_t i = 0; i < attribution.instructions.size(); ++i) {
    first_row.try_emplace(attribution.instructions[i].module_id, i);
  }
  op_of_instruction_.assign(attribution.instructions.size(), 0);
  std::map<Id, std::vector<size_t>> of_module;  // Indices into ops.
  int64_t labelled = 0;
  int64_t all = 0;
  static const OpFacts kNothing;
  for (size_t i = 0; i < analysis.op_times.size(); ++i) {
    const model::OpTimeRow& time = analysis.op_times[i];
    all += steady_steps > 0 ? time.steady_ns : time.self_ns;
    // Without steady steps, ops are those of the whole run: valid for places, not for times per
    // step.
    const int64_t ns = steady_steps > 0 ? time.steady_ns : time.self_ns;
    if (time.instruction_id <= 0 || ns <= 0) continue;
    labelled += ns;
    Op op;
    op.handle = fmt::format("o{}", i + 1);
    op.time = &time;
    op.row = &attribution.instructions[static_cast<size_t>(time.instruction_id) - 1];
    op.facts = &kNothing;
    op.ns = PerStep(ns);
    op.calls = static_cast<double>(time.occurrences) * static_cast<double>(ns) /
               static_cast<double>(std::max<int64_t>(time.self_ns, 1)) /
               static_cast<double>(divisor);
    op.hidden = time.bound_by == "hidden";
    ops.push_back(std::move(op));
  }
  // ATen's kernels, by the name or by the mangled one.
  pytorch = run.modules.empty() &&
            std::any_of(run.configs.begin(), run.configs.end(), [](const model::LaunchConfig& of) {
              return of.symbol.find("at::native") != std::string::npos ||
                     of.symbol.find("2at6native") != std::string::npos;
            });
  attributed = all > 0 ? static_cast<double>(labelled) / static_cast<double>(all) : 1;
  std::stable_sort(ops.begin(), ops.end(), [](const Op& a, const Op& b) { return a.ns > b.ns; });
  for (size_t k = 0; k < ops.size(); ++k) {
    op_of_instruction_[static_cast<size_t>(ops[k].time->instruction_id) - 1] =
        static_cast<uint32_t>(k + 1);
    const bool its_own = ops[k].row->module_id == 0;  // TensorFlow's own op, without HLO.
    tensorflow = tensorflow || its_own || IsTensorFlowType(ops[k].row->op_type) ||
                 IsFrameworkCore(ops[k].row->source_file);
    if (its_own) continue;
    // For a product on a CPU, only the hand-over may be recorded (hidden_products.h).
    const bool hand_over = on_cpu && (ops[k].row->op_kind == model::OpKind::kGemm ||
                                      ops[k].row->op_kind == model::OpKind::kConvolution);
    if (hand_over ||
        static_cast<double>(ops[k].ns) >= kMinOpShare * static_cast<double>(device_ns)) {
      of_module[ops[k].row->module_id].push_back(k);
    }
  }
  for (size_t i = 0; i < run.activities.size(); ++i) {
    if (!InBasis(i)) continue;
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    if (label.instruction_id <= 0) continue;
    const uint32_t at = op_of_instruction_[static_cast<size_t>(label.instruction_id) - 1];
    if (at != 0) ++ops[at - 1].launches;
  }
  if (on_cpu) {
    double calls = 0;
    for (const Op& op : ops) calls += op.calls;
    const double recording_ns = calls * kRecordingNs;
    if (recording_ns >= kMinRecordingShare * static_cast<double>(span_ns)) recorded_ops = calls;
  }
  for (const auto& [module_id, indices] : of_module) {
    const auto module = load_module(module_id);
    if (!module || *module == nullptr) continue;
    const model::HloModule& hlo = **module;
    const auto by_name = model::IndexByName(hlo);
    std::vector<uint32_t> nodes;
    for (const size_t k : indices) {
      const model::InstructionRow& row = *ops[k].row;
      const size_t place =
          static_cast<size_t>(ops[k].time->instruction_id) - 1 - first_row[module_id];
      const auto named = by_name.find(row.name);
      nodes.push_back(place < hlo.instructions.size() && hlo.instructions[place].name == row.name
                          ? static_cast<uint32_t>(place)
                      : named != by_name.end() ? named->second
                                               : kNoIndex);
    }
    HloFacts& facts =
        modules_.emplace(module_id, FactsOf(hlo, nodes, options.user_code)).first->second;
    ReadMemory(hlo, nodes, first_row[module_id], facts);
    for (size_t k = 0; k < indices.size(); ++k) {
      uint32_t& producer = facts.ops[k].producer;
      if (producer != 0) producer = static_cast<uint32_t>(indices[producer - 1] + 1);
      for (uint32_t& product : facts.ops[k].products_read) {
        product = static_cast<uint32_t>(indices[product - 1] + 1);
      }
      ops[indices[k]].facts = &facts.ops[k];
      ops[indices[k]].module = &facts;
    }
  }
}

// Only for modules in which a change would cost or save memory.
void Context::ReadMemory(const model::HloModule& hlo, const std::vector<uint32_t>& nodes,
                         size_t first_row, HloFacts& facts) const {
  std::vector<bool> again(hlo.instructions.size());
  for (size_t i = 0; i < again.size() && first_row + i < attribution.instructions.size(); ++i) {
    const model::InstructionRow& row = attribution.instructions[first_row + i];
    again[i] = row.name == hlo.instructions[i].name &&
               (row.phase == model::Phase::kRecompute || row.name.find(".remat") != row.name.npos);
  }
  const auto fill = [&](const MemoryFacts& memory, const auto& concerns) {
    facts.peak_bytes = memory.peak_bytes;
    facts.peak_from_assignment = memory.from_assignment;
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (concerns(k)) facts.ops[k].memory_bytes = memory.bytes[k];
    }
  };
  const auto is_copy = [&](size_t k) { return facts.ops[k].copied_parameter.has_value(); };
  const auto is_again = [&](size_t k) {
    return nodes[k] < again.size() && again[nodes[k]] && !is_copy(k);
  };
  bool any_copy = false, any_again = false;
  for (size_t k = 0; k < nodes.size(); ++k) {
    any_copy = any_copy || is_copy(k);
    any_again = any_again || is_again(k);
  }
  if (any_again) fill(KeptWithoutRecomputation(hlo, nodes, again), is_again);
  if (any_copy) fill(HeldAtPeak(hlo, nodes), is_copy);
}

// The rate that a tenth of the memory-bound time reaches or exceeds.
void Context::FindMemoryRate() {
  memory_rate_ = limits.bytes;
  if (memory_rate_) return;
  std::vector<std::pair<double, int64_t>> rates;
  int64_t all = 0;
  for (const Op& op : ops) {
    const model::OpKind kind = op.row->op_kind;
    if (op.hidden || kind == model::OpKind::kGemm || kind == model::OpKind::kConvolution ||
        kind == model::OpKind::kCollective || kind == model::OpKind::kAttention) {
      continue;
    }
    if (const auto rate = op.BytesPerSecond()) {
      rates.emplace_back(*rate, op.ns);
      all += op.ns;
    }
  }
  std::sort(rates.rbegin(), rates.rend());
  int64_t sum = 0;
  for (const auto& [rate, ns] : rates) {
    sum += ns;
    if (10 * sum >= all) {
      memory_rate_ = rate;
      return;
    }
  }
}

const Op* Context::OpOf(size_t activity) const {
  const model::Label& label = attribution.labels[attribution.label_of[activity] - 1];
  if (label.instruction_id <= 0) return nullptr;
  const uint32_t at = op_of_instruction_[static_cast<size_t>(label.instruction_id) - 1];
  return at == 0 ? nullptr : &ops[at - 1];
}

Sure Context::Allowed(Sure sure) const {
  if (whole_run) return Sure::kLow;
  if (steady_count < kMinConfidentSteps) sure = OneLower(sure);
  if (attributed < kMinAttributedShare) sure = OneLower(sure);
  if (recorded_ops > 0) sure = OneLower(sure);
  return sure;
}

std::string Context::SourceAt(const Op& op, uint32_t frame) const {
  if (op.module == nullptr) return {};
  std::vector<const SourceFrame*> frames;
  std::vector<model::FileKind> kinds;
  while (frame != 0 && frame <= op.module->frames.size() && frames.size() < kMaxStackFrames) {
    frames.push_back(&op.module->frames[frame - 1]);
    kinds.push_back(frames.back()->kind);
    frame = frames.back()->parent;
  }
  if (frames.empty()) return {};
  const model::UserFrame user = model::FindUserFrame(kinds);
  if (kinds[user.position] == model::FileKind::kMachinery) return {};
  return FileAndLine(frames[user.position]->file, frames[user.position]->line);
}

std::string Context::SourceOf(const Op& op) const {
  if (std::string source = SourceAt(op, op.facts->frame); !source.empty()) return source;
  if (!op.facts->inner_file.empty() && !IsFrameworkCore(op.facts->inner_file)) {
    return FileAndLine(op.facts->inner_file, op.facts->inner_line);
  }
  if (IsFrameworkCore(op.row->source_file)) return {};
  return FileAndLine(op.row->source_file, op.row->source_line.value_or(0));
}

std::string Context::CallerOf(const std::vector<const Op*>& of) const {
  // Time under each function of each module, and the line that called it there.
  struct Function {
    int64_t ns = 0;
    int depth = 0;
    std::map<std::string, int64_t> callers;
  };
  std::map<std::string, Function> functions;
  int64_t all = 0;
  for (const Op* op : of) {
    all += op->ns;
    if (op->module == nullptr) continue;
    const std::vector<SourceFrame>& frames = op->module->frames;
    std::vector<uint32_t> chain;
    uint32_t frame = op->facts->frame;
    while (frame != 0 && frame <= frames.size() && chain.size() < kMaxStackFrames) {
      chain.push_back(frame);
      frame = frames[frame - 1].parent;
    }
    std::set<std::string> seen;
    for (size_t k = 0; k + 1 < chain.size(); ++k) {
      const SourceFrame& inner = frames[chain[k] - 1];
      const SourceFrame& outer = frames[chain[k + 1] - 1];
      if (!inner.is_user() || !outer.is_user()) continue;
      const std::string name = inner.file + "\n" + inner.function;
      if (!seen.insert(name).second) continue;
      Function& function = functions[name];
      function.ns += op->ns;
      function.depth = std::max(function.depth, static_cast<int>(chain.size() - k));
      function.callers[FileAndLine(outer.file, outer.line)] += op->ns;
    }
  }
  const Function* best = nullptr;
  for (const auto& [name, function] : functions) {
    if (static_cast<double>(function.ns) < kMinCallerShare * static_cast<double>(all)) continue;
    if (best == nullptr || function.depth > best->depth) best = &function;
  }
  if (best != nullptr) {
    return std::max_element(best->callers.begin(), best->callers.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
  const std::vector<Site> sites = SitesOf(*this, of);
  return sites.empty() ? std::string() : sites[0].source;
}

std::string Context::StepCallSource() const {
  std::map<std::string, int64_t> callers;
  for (const Op& op : ops) {
    if (op.module == nullptr || op.facts->frame == 0) continue;
    const std::string& function =
        attribution.modules[static_cast<size_t>(op.row->module_id) - 1].framework_function;
    if (function.empty()) continue;
    // The outermost frame of the step function; its caller is the call of the step.
    const std::vector<SourceFrame>& frames = op.module->frames;
    uint32_t frame = op.facts->frame;
    std::string caller;
    for (size_t depth = 0; frame != 0 && frame <= frames.size() && depth < kMaxStackFrames;
         ++depth) {
      const SourceFrame& at = frames[frame - 1];
      const size_t dot = at.function.find_last_of('.');
      const std::string_view name =
          std::string_view(at.function).substr(dot == std::string::npos ? 0 : dot + 1);
      if (name == function && at.parent != 0 && at.parent <= frames.size() &&
          frames[at.parent - 1].is_user()) {
        caller = FileAndLine(frames[at.parent - 1].file, frames[at.parent - 1].line);
      }
      frame = at.parent;
    }
    if (!caller.empty()) callers[caller] += op.ns;
  }
  const auto most =
      std::max_element(callers.begin(), callers.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == callers.end() ? std::string() : most->first;
}

std::vector<Site> SitesOf(const Context& context, const std::vector<const Op*>& ops) {
  // Ops without a line of the program are grouped by layer.
  std::map<std::pair<std::string, std::string>, Site> by_place;
  for (const Op* op : ops) {
    const std::string source = context.SourceOf(*op);
    Site& site = by_place[{source, source.empty() ? op->row->layer_group : ""}];
    site.ops.push_back(op);
    site.ns += op->ns;
  }
  std::vector<Site> sites;
  for (auto& [place, site] : by_place) {
    site.source = place.first;
    std::stable_sort(site.ops.begin(), site.ops.end(),
                     [](const Op* a, const Op* b) { return a->ns > b->ns; });
    sites.push_back(std::move(site));
  }
  std::stable_sort(sites.begin(), sites.end(),
                   [](const Site& a, const Site& b) { return a.ns > b.ns; });
  return sites;
}

std::string PlaceOf(const Context& context, const std::vector<const Op*>& ops) {
  struct Line {
    int64_t ns = 0;   // Time of these ops.
    int64_t all = 0;  // Time of all ops.
  };
  std::map<std::string, Line> lines;
  for (const Op* op : ops) lines[context.SourceOf(*op)].ns += op->ns;
  for (const Op& op : context.ops) {
    if (const auto line = lines.find(context.SourceOf(op)); line != lines.end()) {
      line->second.all += op.ns;
    }
  }
  const auto weight = [](const auto& line) {
    const auto ns = static_cast<double>(line.second.ns);
    return line.first.empty()
               ? 0
               : ns * ns / static_cast<double>(std::max<int64_t>(line.second.all, 1));
  };
  const auto best = std::max_element(lines.begin(), lines.end(), [&](const auto& a, const auto& b) {
    return weight(a) < weight(b);
  });
  return best == lines.end() ? std::string() : best->first;
}

std::string Takes(const Context& context, const Site& site) {
  const size_t others = InstructionsOf(context, site.ops).size() - 1;
  return fmt::format("{} {} {}", site.largest().row->name,
                     others == 0   ? "takes"
                     : others == 1 ? "and another one take"
                                   : fmt::format("and {} others take", others),
                     Time(site.ns));
}

Site AllOf(const Context& context, std::vector<const Op*> ops) {
  Site site;
  site.source = PlaceOf(context, ops);
  for (const Op* op : ops) site.ns += op->ns;
  site.ops = std::move(ops);
  return site;
}

std::vector<OneInstruction> InstructionsOf(const Context& context,
                                           const std::vector<const Op*>& ops) {
  std::vector<OneInstruction> instructions;
  std::map<std::pair<std::string_view, std::string_view>, size_t> places;
  for (const Op* op : ops) {
    const model::Id module = op->row->module_id;
    const std::string_view fingerprint =
        module > 0 ? context.attribution.modules[static_cast<size_t>(module) - 1].fingerprint
                   : std::string_view();
    if (fingerprint.empty()) {
      instructions.push_back({op, op->ns});
      continue;
    }
    const auto [place, is_new] =
        places.try_emplace({fingerprint, op->row->name}, instructions.size());
    if (is_new) {
      instructions.push_back({op, op->ns});
    } else {
      instructions[place->second].ns += op->ns;
    }
  }
  std::stable_sort(instructions.begin(), instructions.end(),
                   [](const OneInstruction& a, const OneInstruction& b) { return a.ns > b.ns; });
  return instructions;
}

Finding FindingAbout(const Context& context, std::string_view id, const Site& site) {
  Finding finding;
  finding.id = id;
  const Op& largest = site.largest();
  finding.where_op = largest.row->name;
  finding.where_layer = site.ops.size() > 1 && !largest.row->layer_group.empty()
                            ? largest.row->layer_group
                            : largest.row->layer;
  finding.where_source = site.source;
  std::vector<std::string> handles;
  for (const Op* op : site.ops) {
    finding.claims[op->handle] = op->ns;
    handles.push_back(op->handle);
  }
  const std::vector<OneInstruction> instructions = InstructionsOf(context, site.ops);
  if (instructions.size() == site.ops.size()) {
    finding.evidence.AddSum(
        site.ops.size() > 1 ? fmt::format("{} instructions, {}", Thousands(std::ssize(site.ops)),
                                          context.words.per_step)
                            : context.words.PerStep("time"),
        site.ns, "ns", handles);
  } else {
    finding.evidence.AddSum(
        instructions.size() > 1
            ? fmt::format("{} instructions, in several processes, {}",
                          Thousands(std::ssize(instructions)), context.words.per_step)
            : context.words.PerStep("time") + ", in several processes",
        site.ns, "ns", handles, instructions.size());
  }
  finding.evidence.As(kRoleOpsTime);
  if (instructions.size() > 1) {
    const OneInstruction& most = instructions.front();
    finding.evidence.Add("the largest of them", most.ns, "ns", most.op->handle).As(kRoleLargestOp);
  }
  finding.evidence.AddReal(context.words.of_work, 100 * context.ShareOfWork(site.ns), "%");
  return finding;
}

std::string DeviceWords(const Context& context, Id device_id) {
  const auto& devices = context.run.devices;
  const model::Device& device = devices[static_cast<size_t>(device_id) - 1];
  const std::string_view kind = device.kind == model::DeviceKind::kTpu   ? "TPU"
                                : device.kind == model::DeviceKind::kCpu ? "CPU"
                                                                         : "GPU";
  std::string words = fmt::format("{} {}", kind, device.ordinal);
  const auto whose = [&](const model::Device& of) -> std::string {
    if (of.process_id <= 0) return {};
    const model::Process& process = context.run.processes[static_cast<size_t>(of.process_id) - 1];
    if (process.rank) return fmt::format("rank {}", *process.rank);
    if (process.pid) return fmt::format("{} pid {}", process.host, *process.pid);
    return process.host;
  };
  const bool twin = std::any_of(devices.begin(), devices.end(), [&](const model::Device& of) {
    return &of != &device && of.kind == device.kind && of.ordinal == device.ordinal;
  });
  if (const std::string of = whose(device); twin && !of.empty()) words += ", " + of;
  return words;
}

std::string Time(int64_t ns) { return Duration(static_cast<double>(ns)); }

std::string Percent(double share) { return xlatrace::Percent(share, 1) + "%"; }

std::string ShortSource(std::string_view source) {
  return std::string(source.substr(source.find_last_of('/') + 1));
}

std::string InBrackets(std::string_view source) {
  return source.empty() ? std::string() : " (" + ShortSource(source) + ")";
}

}  // namespace xlatrace::analysis::findings
