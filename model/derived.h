// SPDX-License-Identifier: Apache-2.0

// Results of xlatrace for a run: attribution (correlator) and analysis. The store deletes and
// rewrites these rows as a whole when a run is attributed again.
//
// Ids are 1-based indices as in model/run_tables.h. Names of fields are the columns of the views
// (docs/schema.md). std::optional and empty strings become NULL.

#ifndef XLATRACE_MODEL_DERIVED_H_
#define XLATRACE_MODEL_DERIVED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/events.h"
#include "model/gap_stack.h"
#include "model/replay_rows.h"
#include "model/time_tree.h"
#include "model/words.h"

namespace xlatrace::model {

// ---- Attribution -----------------------------------------------------------------------------

// One row per HLO instruction of every module, in module order; instruction_id = index + 1. After
// them one row per op that the framework ran outside of modules (evidence kOpRange). Its module_id
// is 0 and its name is "op_name:op_type"; views show neither as an instruction's.
struct InstructionRow {
  Id module_id = 0;
  std::string name;
  std::string computation;
  std::string opcode;
  std::string category;  // XProf's HLO category text.
  OpKind op_kind = OpKind::kOther;
  std::string shape;
  std::string operands;  // "a, b, c".
  std::string op_name;   // That of the largest share.
  OpNameMethod op_name_method = OpNameMethod::kNone;
  std::string op_type;
  std::string source_file;  // The user's line (SourceStack).
  std::optional<int64_t> source_line;
  std::string fusion_kind;
  std::optional<int64_t> flops;
  std::optional<int64_t> bytes;
  // Filled by analysis:
  Phase phase = Phase::kUnknown;  // That of the largest share.
  std::string layer;
  std::string layer_group;
  bool mixed = false;  // Several op_names, phases or layers share it.
  // The innermost line where it is not the user's.
  std::string library_file = {};
  std::optional<int64_t> library_line = {};
  bool source_is_library = false;  // The whole stack lies in packages.
  uint32_t stack_id = 0;           // Into AttributionTables::source_stacks, 1-based. 0: none.
};

// The shares of one whole sum to this number: shares are in millionths.
inline constexpr int64_t kWholeSharePpm = 1'000'000;

// A part of an instruction. Shares of one instruction, in millionths, sum to exactly 1,000,000. An
// instruction without rows here is one share with the values of its own row.
struct ShareRow {
  Id instruction_id = 0;
  int64_t share_ppm = 0;
  std::string op_name;
  std::string op_type;
  std::string opcode;  // Opcode of the inner instruction.
  std::string source_file;
  std::optional<int64_t> source_line;
  uint32_t stack_frame = 0;  // Index into the module's frames, for phase rules. 0: none.
  Phase phase = Phase::kUnknown;
  std::string layer;
  std::string layer_group;
  std::string library_file = {};  // These four as in InstructionRow.
  std::optional<int64_t> library_line = {};
  bool source_is_library = false;
  uint32_t stack_id = 0;
};

// A line of a program, with the function that it is in.
struct SourcePlace {
  std::string file;
  std::string function;  // Empty: not known.
  int64_t line = 0;      // 0: not known.
  bool is_user = false;
};

// A call stack of the traced program, innermost frame first.
struct SourceStack {
  std::vector<uint32_t> places;  // Into AttributionTables::source_places; at least one.
  uint32_t user = 0;             // Position of the user's line (model/user_code.h).
  bool is_library = false;       // No frame is the user's.
};

// The evidence for the instruction of an activity. There are few distinct labels; activities refer
// to them.
struct Label {
  Id module_id = 0;       // May be known without an instruction.
  Id instruction_id = 0;  // 0: none, `reason` is set. For a framework op, module_id is 0.
  Evidence evidence = Evidence::kNone;
  Confidence confidence = Confidence::kNone;
  Reason reason = Reason::kUnknown;  // Only meaningful when instruction_id == 0.
  Origin origin = Origin::kOther;
  std::string losers;  // Results of weaker evidence that disagree; empty if none do.
};

// A part of the activities with one label, if they belong to several instructions (a graph-level
// row). Parts of one label, in millionths, sum to exactly 1,000,000; the label's own instruction
// has the largest part. A label without rows here has one instruction.
struct LabelShareRow {
  Id label_id = 0;
  Id instruction_id = 0;
  int64_t share_ppm = 0;
};

struct Execution {
  Id module_id = 0;
  Id device_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t activities = 0;
  bool complete = false;  // Holds every instruction that full executions hold.
};

struct ModuleFacts {        // One per module of the run, same order, then per added one.
  std::string fingerprint;  // Empty: HLO could not be read.
  ModuleRole role = ModuleRole::kHelper;
  std::string role_reason;
  // Role helper only because other programs are equally heavy, as several concurrent programs.
  bool beside_others = false;
  std::string framework_function;  // "train_step" of jit_train_step.
  int64_t instruction_count = 0;
  std::optional<int64_t> flops;
  std::optional<int64_t> bytes;
  std::optional<int64_t> peak_memory_bytes;
  // Program id in the source, and the reason for using this HLO. Set if the HLO comes from another
  // run of the program with another number. nullopt: the id in the HLO.
  std::optional<int64_t> program_id;
};

// A module without a file: only the source names it and its instructions.
struct AddedModule {
  Id process_id = 0;
  std::string name;
  std::optional<int64_t> program_id;
  Id hlo_module_id = 0;  // The module whose HLO it also uses; 0: none, its source is annotation.
};

struct AttributionTables {
  std::vector<ModuleFacts> modules;  // Those of the run, then the added ones.
  std::vector<InstructionRow> instructions;
  std::vector<ShareRow> shares;        // Grouped by instruction, ascending.
  std::vector<Label> labels;           // label_id = index + 1.
  std::vector<Execution> executions;   // execution_id = index + 1.
  std::vector<uint32_t> label_of;      // Per activity; never 0.
  std::vector<uint32_t> execution_of;  // Per activity; 0: none.
  std::vector<RunStat> stats;
  std::vector<LabelShareRow> label_shares = {};  // Grouped by label, ascending.
  std::vector<AddedModule> added_modules = {};   // Numbered after the modules of the run.
  std::vector<SourcePlace> source_places = {};   // Each once.
  std::vector<SourceStack> source_stacks = {};   // stack_id = index + 1; each once.
};

// Fills the source columns of an InstructionRow or a ShareRow from a stack; 0: none.
template <typename Row>
void SetSource(const AttributionTables& tables, uint32_t stack_id, Row* row) {
  row->stack_id = stack_id;
  if (stack_id == 0) return;
  const SourceStack& stack = tables.source_stacks[stack_id - 1];
  const SourcePlace& user = tables.source_places[stack.places[stack.user]];
  const SourcePlace& innermost = tables.source_places[stack.places.front()];
  row->source_file = user.file;
  row->source_line = user.line > 0 ? std::optional(user.line) : std::nullopt;
  row->source_is_library = stack.is_library;
  if (stack.user == 0) return;
  row->library_file = innermost.file;
  if (innermost.line > 0) row->library_line = innermost.line;
}

// ---- Analysis --------------------------------------------------------------------------------

struct StepRow {
  int64_t step = 0;
  Id process_id = 0;
  Id device_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t device_ns = 0;
  int64_t busy_ns = 0;
  bool steady = false;
  StepHow how = StepHow::kExecution;
  bool has_duration = false;  // The next step starts where it ends.
  bool first_execution = false;
  bool typical = false;  // One of the steady steps whose mean is the typical step.
};

struct OpTimeRow {   // handle "o17" = position in this vector + 1, by time.
  Id module_id = 0;  // Both are 0 in one row: the activities without an instruction.
  Id instruction_id = 0;
  int64_t occurrences = 0;
  int64_t total_ns = 0;  // Sum of durations.
  int64_t self_ns = 0;
  int64_t steady_ns = 0;  // Self time inside steady steps, all devices.
  int64_t min_ns = 0;     // Shortest duration.
  int64_t max_ns = 0;
  std::optional<int64_t> flops;  // Sum over occurrences.
  std::optional<int64_t> bytes;
  std::optional<int64_t> wasted_ns;
  std::string bound_by;
  std::optional<int64_t> theoretical_occupancy_milli_pct;  // Time-weighted.
  Confidence confidence = Confidence::kExact;              // The lowest one.
  bool estimated = false;
  // Roofline (analysis/roofline.h); nullopt if cost or peaks are not known.
  std::optional<int64_t> expected_ns;  // Time of a well-made kernel; at most self_ns.
  std::optional<int64_t> compute_utilisation_milli_pct;  // Relative to the peak; capped.
  std::optional<int64_t> memory_utilisation_milli_pct;   // Relative to the peak; capped.
  std::string compute_type;       // The units whose peak is used: "bf16", "tf32", "f32".
  std::string occupancy_limiter;  // That of the launches with the most time.
  // Replay (analysis/replay/): the share of its time in the replayed steps that is on the critical
  // path. Slack: the median growth that its other launches allow.
  std::optional<int64_t> critical_milli_pct = {};
  std::optional<int64_t> slack_ns = {};
};

struct ScopeTimeRow {
  std::string op_name;
  std::string layer;
  std::string layer_group;
  Phase phase = Phase::kUnknown;
  std::string source_file;
  std::optional<int64_t> source_line;
  int64_t self_ns = 0;
  int64_t estimated_ns = 0;  // The part that came from splitting an instruction.
  uint32_t stack_id = 0;     // As in InstructionRow.
};

struct PhaseTimeRow {
  Id device_id = 0;
  std::optional<int64_t> step;  // nullopt: outside steps.
  Phase phase = Phase::kUnknown;
  int64_t self_ns = 0;
  int64_t estimated_ns = 0;
};

struct StepPartRow {
  Id device_id = 0;
  int64_t step = 0;
  StepPart part = StepPart::kUnknown;
  int64_t wall_ns = 0;
};

struct BusyTimeRow {
  Id device_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
  int64_t overlap_ns = 0;  // Device time minus busy time.
  int64_t compute_ns = 0;
  int64_t collective_ns = 0;
  int64_t exposed_collective_ns = 0;
  int64_t copy_ns = 0;
  int64_t exposed_copy_ns = 0;
  int64_t steady_busy_ns = 0;
};

struct GapRow {
  Id device_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  GapCause cause = GapCause::kUnknown;
  Id previous_activity_id = 0;
  Id next_activity_id = 0;
  Id host_range_id = 0;
};

// Evidence of a long gap besides its cause. It has the call or range that covers the gap, the
// resource that ran empty, and the activity that the device waited for.
struct GapEvidenceRow {
  uint32_t gap = 0;  // Position in AnalysisTables::gaps.
  std::string text;
};

struct CollectiveRow {
  Id activity_id = 0;
  std::string op;
  std::optional<int64_t> bytes;
  std::optional<int64_t> group_size;
  std::optional<Id> group_id;  // The first activity of the same exchange.
  std::optional<int64_t> algorithm_bandwidth_bytes_per_s;
  std::optional<int64_t> bus_bandwidth_bytes_per_s;
  std::optional<int64_t> exposed_ns;
  std::optional<int64_t> wait_ns;
  std::optional<int64_t> arrival_skew_ns;
};

// Limits of a device, from its own record and from the table of known GPUs
// (analysis/device_facts.h). One row per device of the run, same order.
struct DeviceFactsRow {
  std::string gpu;           // Name in the table; empty: not in the table.
  std::string peaks_source;  // "table", "formula" (SMs x clock); empty: peaks are not known.
  std::string compute_capability;
  std::optional<int64_t> sm_count;
  std::optional<int64_t> clock_hz;
  std::optional<int64_t> memory_bandwidth_bytes_per_s;  // From the data sheet if the GPU is known.
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t> max_threads_per_sm;
  std::optional<int64_t> max_blocks_per_sm;
  std::optional<int64_t> registers_per_sm;
  std::optional<int64_t> shared_memory_per_sm_bytes;
  std::optional<int64_t> shared_memory_per_block_optin_bytes;
  std::optional<int64_t> warp_size;
  std::optional<int64_t> shared_memory_per_block_bytes;
  std::optional<int64_t> shared_memory_reserved_per_block_bytes;
  std::optional<int64_t> max_threads_per_block;
  std::optional<int64_t> registers_per_block;
  std::optional<int64_t> l2_bytes;
  std::string peak_flops;  // JSON object: type -> floating point operations per second.
  std::optional<int64_t> host_link_bytes_per_s;  // One direction, achievable from pinned memory.
  std::optional<int64_t> peer_link_bytes_per_s;  // One direction, all links of the device together.
};

// Occupancy of a launch configuration on a device that ran it (analysis/occupancy.h).
struct OccupancyRow {
  Id config_id = 0;
  Id device_id = 0;
  std::optional<int64_t> theoretical_milli_pct;
  std::string limiter;  // "registers"; several: "warps, registers".
  std::optional<int64_t> blocks_per_sm;
  std::optional<int64_t> waves_milli;
};

// Lead of the host over a device, over its steady steps if there are any, else over the whole run.
// One row per device with launches whose host calls are known (analysis/launch_queue.h).
struct LaunchQueueRow {
  Id device_id = 0;
  bool steady = false;         // False: over the whole run.
  int64_t calls = 0;           // Host calls that launched; a graph is one.
  int64_t calls_on_idle = 0;   // Those calls that were made when all earlier work had ended.
  int64_t call_p50_ns = 0;     // Duration of the call.
  int64_t latency_p50_ns = 0;  // From the start of the call to the start of its first activity.
  int64_t latency_p90_ns = 0;
  int64_t queued_p50_ns = 0;  // From the end of the call to the same; 0: started before that.
  int64_t queued_p90_ns = 0;
  int64_t outstanding_p50 = 0;  // Earlier calls whose work had not ended when the call was made.
  int64_t outstanding_p90 = 0;
  int64_t outstanding_max = 0;
};

// The rank (device) for which the others of a job wait because its own work takes longer
// (analysis/late_rank.h). Times are per step.
struct LateRankRow {
  Id process_id = 0;
  Id device_id = 0;
  int64_t ranks = 1;      // Ranks that are late together; this one is the worst.
  bool by_host = false;   // Its host takes longer; else its kernels.
  int64_t cost_ns = 0;    // A step would be shorter by this without the late ranks.
  int64_t excess_ns = 0;  // By how much its work exceeds that of the others.
  int64_t step_ns = 0;    // A step of the rank that is last, without its waits.
};

struct FindingRow {  // rank and handle "f1" = position + 1.
  std::string id;    // Rule: "scatter_add".
  std::string title;
  std::string sentence;          // The finding as a sentence; empty: the rule has none.
  std::string headline, reason;  // The same as two sentences; the second may be empty.
  std::optional<int64_t> saves_low_ns_per_step;
  std::optional<int64_t> saves_high_ns_per_step;
  // For a run without steps: savings in the whole run, mean over its devices. The two fields above
  // are nullopt then.
  std::optional<int64_t> saves_low_ns_per_run;
  std::optional<int64_t> saves_high_ns_per_run;
  std::string basis;       // replay, measured, roofline, cost_model
  std::string confidence;  // high, medium, low
  std::string where_op, where_layer, where_source;
  std::string evidence_json;  // JSON array of {text, value, unit, handle}.
  std::string action;
  std::string how_to_check;
  std::optional<int64_t> replay_error_milli_pct = {};  // For basis replay.
};

// A cause that was checked and excluded, or that the data does not allow to check.
struct RuledOutRow {
  std::string id;            // Rule, as in FindingRow, or an entry without a rule ("steady_steps").
  bool withheld = false;     // False: checked and fine. True: `text` names the missing data.
  std::string text;          // With its number: "host copies: 0.1 % of the step".
  std::string what, figure;  // Parts of `text` if it is fine: "host copies", "0.1 % of the step".
  std::string evidence_json;  // As in FindingRow.
};

struct AnalysisTables {
  std::vector<std::optional<int32_t>> step_of;  // Per activity.
  std::vector<StepRow> steps;
  std::vector<OpTimeRow> op_times;
  std::vector<ScopeTimeRow> scope_times;
  std::vector<PhaseTimeRow> phase_times;
  std::vector<StepPartRow> step_parts;
  std::vector<BusyTimeRow> busy_times;
  std::vector<GapRow> gaps;
  std::vector<GapEvidenceRow> gap_evidence;  // By position; for gaps of at least 100 us.
  std::vector<CollectiveRow> collectives;
  std::vector<FindingRow> findings;
  std::vector<TimeTreeRow> time_tree;
  std::vector<RunStat> stats;
  std::vector<RuledOutRow> ruled_out;
  std::vector<DeviceFactsRow> devices;
  std::vector<OccupancyRow> occupancies;  // Kernels whose registers and blocks are known.
  std::vector<LaunchQueueRow> launch_queues = {};
  std::vector<GapStackRow> gap_stacks = {};
  std::optional<LateRankRow> late_rank = {};
  std::vector<CriticalPathRow> critical_path = {};  // By step, device, time.
  std::vector<ReplayRow> replays = {};              // At most one.
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_DERIVED_H_
