// The walk over a module's schedule that makes its thunk program.

#include <algorithm>
#include <iterator>
#include <optional>

#include "correlator/fusion_body.h"
#include "correlator/kernel_symbols.h"
#include "correlator/thunk_order/thunk_program.h"
#include "hlo/backend_config.h"
#include "hlo/cost/cost.h"
#include "hlo/cost/weights.h"
#include "hlo/shape.h"

namespace xlatrace::correlator {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;
using model::Thunk;

// A hand-made module may call itself; real ones nest a few deep. Bounds the tokens as well.
constexpr int kDeepest = 64;
constexpr size_t kMostTokens = 2'000'000;

bool Holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Calls that are marks for passes; the GPU backend emits nothing for them.
bool IsMark(std::string_view target) {
  for (const std::string_view mark :
       {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
        "AllocateBuffer", "LayoutConstraint", "MoveToHost", "MoveToDevice", "X64Combine",
        "X64SplitLow", "X64SplitHigh", "AssumeGatherIndicesInBound"}) {
    if (target == mark) return true;
  }
  return false;
}

ThunkKind KindOfCustomCall(std::string_view target) {
  if (Holds(target, "triangular")) return ThunkKind::kLibrary;  // "__cublas$triangularSolve"
  if (Holds(target, "cublas") || Holds(target, "matmul") || Holds(target, "gemm")) {
    return ThunkKind::kGemm;
  }
  if (Holds(target, "conv")) return ThunkKind::kConvolution;
  for (const std::string_view library : {"cudnn", "fmha", "cub", "cusolver", "fft", "norm", "TopK",
                                         "cholesky", "triangular", "getrf", "geqrf", "syevd"}) {
    if (Holds(target, library)) return ThunkKind::kLibrary;
  }
  return ThunkKind::kAnything;
}

}  // namespace

bool IsContainerThunk(std::string_view kind) {
  for (const std::string_view container :
       {"kWhile", "kConditional", "kSequential", "kCommandBuffer", "kAsyncStart", "kAsyncDone",
        "kWaitForStreams", "kHostExecuteStart", "kHostExecuteDone", "kDynamicSlice",
        "kDynamicSliceFusion", "kAddressComputation", "kEvent", "kNop"}) {
    if (kind == container) return true;
  }
  return kind.ends_with("Done");
}

ThunkKind ThunkKindOf(std::string_view kind) {
  if (kind == "kGemm" || Holds(kind, "Matmul")) return ThunkKind::kGemm;
  if (Holds(kind, "Convolution")) return ThunkKind::kConvolution;
  if (Holds(kind, "Copy") || Holds(kind, "Memcpy")) return ThunkKind::kCopy;
  if (Holds(kind, "Mem") || kind == "kPartitionId" || kind == "kReplicaId") {
    return ThunkKind::kMemset;
  }
  for (const std::string_view collective :
       {"AllReduce", "AllGather", "ReduceScatter", "AllToAll", "Permute", "CollectiveBroadcast",
        "kSend", "kRecv", "Nccl", "kCollective", "kGroup"}) {
    if (Holds(kind, collective)) return ThunkKind::kCollective;
  }
  for (const std::string_view library :
       {"kFft", "Cholesky", "Triangular", "Cub", "Norm", "CuDnn", "Cudnn", "Attention", "Sort"}) {
    if (Holds(kind, library)) return ThunkKind::kLibrary;
  }
  return ThunkKind::kAnything;
}

class ThunkProgramBuilder {
 public:
  ThunkProgramBuilder(const HloModule& module, std::span<const ComputationUse> uses,
                      std::span<const Thunk> thunks, bool graph_rows, ThunkProgram* program)
      : module_(module), uses_(uses), out_(*program) {
    if (graph_rows) {
      // What is read again and again comes from a cache.
      costs_.emplace(module, hlo::CostOptions{.kind = hlo::CostKind::kGpu,
                                              .count_multiple_input_accesses = false});
    }
    out_.from_thunk_list_ = false;
    bool unnamed = false;
    if (graph_rows) FindGraphs(thunks);
    for (const Thunk& thunk : thunks) {
      if (thunk.instruction.empty()) {
        unnamed |= !IsContainerThunk(thunk.kind);
        continue;
      }
      thunks_of_[thunk.instruction].push_back(&thunk);
      out_.from_thunk_list_ |= !IsContainerThunk(thunk.kind);
    }
    // Of a list without metadata some thunks may have no instruction. What is next to them would
    // look like the only one that can be meant: the schedule tells all of them.
    if (unnamed) out_.from_thunk_list_ = false;
    if (!out_.from_thunk_list_) thunks_of_.clear();
  }

  void Build() {
    if (module_.entry < module_.computations.size()) Walk(module_.entry, 0, false);
    if (!out_.from_thunk_list_) FindClasses();
    out_.CountRequired();
    out_.IndexInstructions();
  }

 private:
  // Which command buffer each thunk lies in, by its place in the list.
  void FindGraphs(std::span<const Thunk> thunks) {
    graph_of_.assign(thunks.size(), 0);
    first_thunk_ = thunks.data();
    uint32_t open = 0;
    int32_t depth = 0;  // Of the command buffer that is open.
    for (size_t t = 0; t < thunks.size(); ++t) {
      if (open != 0 && thunks[t].depth <= depth) open = 0;
      if (open == 0 && thunks[t].kind == "kCommandBuffer") {
        open = ++graphs_;
        depth = thunks[t].depth;
      } else {
        graph_of_[t] = open;
      }
    }
  }

  void Walk(uint32_t computation, int depth, bool optional) {
    if (computation >= module_.computations.size() || depth > kDeepest) return;
    const model::Computation& c = module_.computations[computation];
    for (uint32_t i = 0; i < c.instruction_count; ++i) {
      if (out_.tokens_.size() >= kMostTokens || ++walked_ > most_walked_) return;
      const uint32_t index = c.first_instruction + i;
      const Instruction& instruction = module_.instructions[index];
      const std::string_view op = instruction.opcode;
      if (op == "while") {
        WalkLoop(instruction, depth, optional);
      } else if (op == "conditional") {
        // The predicate goes to the host first.
        Add({.instruction = index, .kind = ThunkKind::kHostCopy, .optional = true});
        const auto branches = module_.CalledComputations(instruction);
        const double share = branch_share_;
        branch_share_ /= static_cast<double>(std::max<size_t>(branches.size(), 1));
        out_.regions_.BeginChoice(true);
        for (const uint32_t branch : branches) {
          out_.regions_.Open(Next());
          Walk(branch, depth + 1, true);
          out_.regions_.Close(Next());
        }
        out_.regions_.EndChoice();
        branch_share_ = share;
      } else if (op == "call" || op == "async-start") {
        for (const uint32_t callee : module_.CalledComputations(instruction)) {
          // What the scheduler put into a graph, until it became a pass over thunks (mid-2025).
          const bool graph = costs_ && open_graph_ == 0 && op == "call" &&
                             callee < module_.computations.size() && graph_of_.empty() &&
                             module_.computations[callee].name.starts_with("command_buffer");
          if (graph) open_graph_ = ++graphs_;
          Walk(callee, depth + 1, optional);
          if (graph) open_graph_ = 0;
        }
        // Lists may name the wrapper for the work inside it.
        if (op == "async-start" && out_.from_thunk_list_) Emit(index, instruction, optional);
      } else {
        Emit(index, instruction, optional);
      }
    }
  }

  void WalkLoop(const Instruction& loop, int depth, bool optional) {
    const uint32_t begin = Next();
    uint32_t body = begin;
    const int64_t trips = hlo::TripCount(module_, loop).value_or(0);
    const bool counted = trips > 0;
    const auto callees = module_.CalledComputations(loop);
    ProgramRegions::Loop regions{.region = out_.regions_.current(), .begin = begin};
    // A proto lists the body first, printed HLO the condition; the condition is the one that gives
    // a predicate. It runs on the device only where XLA does not know the number of trips, and then
    // once more than the body.
    const bool unknown = unknown_trips_;
    unknown_trips_ |= !counted;
    for (const bool condition : {true, false}) {
      for (const uint32_t callee : callees) {
        if (callee >= module_.computations.size() || IsCondition(callee) != condition) continue;
        const bool may_not_run = condition == counted;
        if (!condition) body = Next();
        if (may_not_run) {
          out_.regions_.BeginChoice(false);
          const uint32_t region = out_.regions_.Open(Next());
          if (!condition) regions.body = region;
        }
        const double share = branch_share_;
        if (condition && counted) branch_share_ = 0;  // It does not run.
        Walk(callee, depth + 1, condition || optional || !counted);
        branch_share_ = share;
        if (condition) {
          Add({.instruction = static_cast<uint32_t>(&loop - module_.instructions.data()),
               .kind = ThunkKind::kHostCopy,
               .optional = true});
        }
        if (may_not_run) {
          out_.regions_.Close(Next());
          out_.regions_.EndChoice();
        }
      }
    }
    unknown_trips_ = unknown;
    regions.end = Next();
    if (regions.end == begin) return;
    out_.loops_.push_back(
        {begin, regions.end, std::max<int64_t>(trips, 1), counted, body, regions});
  }

  // Updates of the same place wait for each other.
  bool Scatters(const Instruction& instruction) const {
    if (instruction.opcode == "scatter") return true;
    if (instruction.opcode != "fusion") return false;
    for (const uint32_t callee : module_.CalledComputations(instruction)) {
      if (callee >= module_.computations.size()) continue;
      for (const Instruction& inner : module_.InstructionsOf(module_.computations[callee])) {
        if (inner.opcode == "scatter") return true;
      }
    }
    return false;
  }

  bool IsCondition(uint32_t computation) const {
    const uint32_t root = module_.computations[computation].root;
    return root < module_.instructions.size() &&
           module_.instructions[root].shape.starts_with("pred[]");
  }

  uint32_t Next() const { return static_cast<uint32_t>(out_.tokens_.size()); }

  uint32_t Add(ThunkToken token) {
    if (token.kind == ThunkKind::kLibrary && token.library == LibraryKind::kAny) {
      const Instruction& instruction = module_.instructions[token.instruction];
      token.library = LibraryOf(instruction.opcode == "custom-call" ? instruction.custom_call_target
                                                                    : instruction.opcode);
    }
    if (costs_) {
      const Instruction& instruction = module_.instructions[token.instruction];
      token.cost_ns =
          static_cast<float>(branch_share_ * hlo::LaunchNs(module_, instruction,
                                                           costs_->Of(instruction).bytes_accessed));
      token.unsteady = unknown_trips_ || token.kind == ThunkKind::kAnything ||
                       token.kind == ThunkKind::kCollective || Scatters(instruction);
      if (token.graph == 0) token.graph = open_graph_;
      if (token.graph != 0) AddToGraph(token);
    }
    out_.tokens_.push_back(token);
    return static_cast<uint32_t>(out_.tokens_.size()) - 1;
  }

  // The first one of a graph has the graph's token in front of it.
  void AddToGraph(const ThunkToken& token) {
    if (token_of_graph_.size() <= token.graph) token_of_graph_.resize(token.graph + size_t{1});
    uint32_t& place = token_of_graph_[token.graph];
    if (place == 0) {
      out_.tokens_.push_back({.instruction = token.instruction,
                              .kind = ThunkKind::kGraph,
                              .optional = token.optional,
                              .graph = token.graph});
      place = static_cast<uint32_t>(out_.tokens_.size());
    }
    out_.tokens_[place - 1].last = static_cast<uint32_t>(out_.tokens_.size());
  }

  void Emit(uint32_t index, const Instruction& instruction, bool optional) {
    if (TakesNoTime(instruction.opcode)) return;
    if (out_.from_thunk_list_) {
      const auto it = thunks_of_.find(instruction.name);
      if (it != thunks_of_.end()) {
        for (const Thunk* thunk : it->second) EmitThunk(index, *thunk, optional);
      }
      if (instruction.opcode == "fusion") EmitHeroes(instruction, optional);
    } else {
      EmitGuess(index, instruction, optional);
    }
  }

  void EmitThunk(uint32_t index, const Thunk& thunk, bool optional) {
    if (IsContainerThunk(thunk.kind)) return;
    ThunkToken token{.instruction = index, .optional = optional};
    if (!graph_of_.empty()) token.graph = graph_of_[static_cast<size_t>(&thunk - first_thunk_)];
    std::copy(std::begin(thunk.grid), std::end(thunk.grid), std::begin(token.grid));
    std::copy(std::begin(thunk.block), std::end(thunk.block), std::begin(token.block));
    // A function template of XLA's own, which lists call so and devices by its mangled name.
    if (thunk.kernel == "topk") {
      token.kind = ThunkKind::kLibrary;
      token.library = LibraryKind::kTopK;
    }
    if (!thunk.kernel.empty()) {
      out_.by_symbol_[thunk.kernel].push_back(Add(token));
      return;
    }
    token.kind = ThunkKindOf(thunk.kind);
    token.collective = CollectiveOfOpcode(thunk.kind);
    const Instruction& instruction = module_.instructions[index];
    if (token.kind == ThunkKind::kAnything && instruction.opcode == "custom-call") {
      token.kind = KindOfCustomCall(instruction.custom_call_target);
    }
    if (token.kind == ThunkKind::kLibrary) token.library = LibraryOf(thunk.kind);
    token.to_host = Holds(thunk.kind, "Host") || thunk.kind == "kInfeed" ||
                    thunk.kind == "kOutfeed" || TouchesHost(instruction);
    if (token.kind == ThunkKind::kCollective) AddKernelOfCollective(instruction, Add(token));
    if (token.kind == ThunkKind::kCollective) return;
    // Numbers of the device are written from the host, or by nothing at all.
    if (thunk.kind == "kPartitionId" || thunk.kind == "kReplicaId") token.optional = true;
    if (thunk.kind == "kInfeed" || thunk.kind == "kOutfeed") token.optional = true;
    if (token.kind == ThunkKind::kAnything) token.optional = true;
    Add(token);
  }

  // XLA has kernels of its own for small collectives, called after the instruction.
  void AddKernelOfCollective(const Instruction& instruction, uint32_t token) {
    const std::string symbol = SymbolOfInstruction(instruction.name);
    out_.by_symbol_[symbol].push_back(token);
    out_.by_symbol_[symbol + "_fusion"].push_back(token);
  }

  // A layout in memory space 5 is the host's (xla/layout.h).
  bool TouchesHost(const Instruction& instruction) const {
    if (Holds(instruction.shape, "S(5)")) return true;
    for (const uint32_t operand : module_.Operands(instruction)) {
      if (operand < module_.instructions.size() &&
          Holds(module_.instructions[operand].shape, "S(5)")) {
        return true;
      }
    }
    return false;
  }

  // A dynamic-slice fusion is a copy or a library call on a slice: the thunk is that of the
  // instruction inside. False: there is none.
  bool EmitHeroes(const Instruction& fusion, bool optional) {
    bool any = false;
    for (const uint32_t callee : module_.CalledComputations(fusion)) {
      if (callee >= module_.computations.size()) continue;
      const model::Computation& body = module_.computations[callee];
      for (uint32_t i = 0; i < body.instruction_count; ++i) {
        const uint32_t index = body.first_instruction + i;
        const Instruction& inner = module_.instructions[index];
        if (out_.from_thunk_list_) {
          const auto it = thunks_of_.find(inner.name);
          if (it == thunks_of_.end() || inner.name == fusion.name) continue;
          for (const Thunk* thunk : it->second) EmitThunk(index, *thunk, optional);
          any = true;
        } else if (inner.opcode == "copy" || inner.opcode == "custom-call" ||
                   IsCollective(inner.opcode)) {
          EmitGuess(index, inner, optional);
          any = true;
        }
      }
    }
    return any;
  }

  void EmitGuess(uint32_t index, const Instruction& instruction, bool optional) {
    const std::string_view op = instruction.opcode;
    ThunkToken token{.instruction = index, .optional = optional};
    if (op.ends_with("-done") || op == "async-update") return;
    if (op == "fusion") {
      const std::string_view config = instruction.backend_config;
      if (Holds(config, "__cudnn$fusion")) {
        token.kind = ThunkKind::kLibrary;
        Add(token);
        return;
      }
      // A fusion around a slice of a library call's operands, or a plain copy, has no kernel.
      const bool custom = Holds(config, "\"__custom_fusion\"") ||
                          Holds(config, "address_computation") || Holds(config, "dynamic_address");
      if (custom && EmitHeroes(instruction, optional)) return;
      if (custom) {
        token.kind = ThunkKind::kAnything;
        AddNamed(instruction, token);
        return;
      }
      if (const uint32_t sort = SortInside(instruction); sort != kNoIndex) {
        EmitSort(instruction, module_.instructions[sort].name, token);
        return;
      }
      token.may_copy = MayBeCopy(instruction);
      if (token.may_copy) token.copies = Results(instruction);
      AddNamed(instruction, token);
      return;
    }
    if (op == "copy" || op == "copy-start") {
      token.may_copy = true;
      token.to_host = op == "copy-start" || TouchesHost(instruction);
      AddNamed(instruction, token);
      return;
    }
    if (IsCollective(op)) {
      token.kind = ThunkKind::kCollective;
      token.collective = CollectiveOfOpcode(op);
      AddKernelOfCollective(instruction, Add(token));
      return;
    }
    if (op == "custom-call") {
      if (IsMark(instruction.custom_call_target)) return;
      token.kind = KindOfCustomCall(instruction.custom_call_target);
      token.optional |= token.kind == ThunkKind::kAnything;
      AddNamed(instruction, token);
      return;
    }
    if (op == "fft" || op == "cholesky" || op == "triangular-solve" || op == "topk") {
      token.kind = ThunkKind::kLibrary;
      AddNamed(instruction, token);
      return;
    }
    if (op == "convolution") {
      token.kind = ThunkKind::kConvolution;
      AddNamed(instruction, token);
      return;
    }
    if (op == "dot") {
      token.kind = ThunkKind::kGemm;
      AddNamed(instruction, token);
      return;
    }
    if (op == "partition-id" || op == "replica-id") {
      token.kind = ThunkKind::kMemset;
      token.optional = true;
      Add(token);
      return;
    }
    if (op == "infeed" || op == "outfeed") {
      token.kind = ThunkKind::kCopy;
      token.to_host = true;
      token.optional = true;
      Add(token);
      return;
    }
    // Kernels of their own: sort and rng in all eras, nearly everything before 2024.
    if (op == "sort") {
      EmitSort(instruction, instruction.name, token);
      return;
    }
    token.repeats = true;
    for (const std::string_view mover : {"slice", "dynamic-slice", "dynamic-update-slice",
                                         "concatenate", "reshape", "transpose", "pad"}) {
      token.may_copy |= op == mover;
    }
    AddNamed(instruction, token);
  }

  void AddNamed(const Instruction& instruction, ThunkToken token) {
    token.elements = hlo::ElementCount(instruction.shape);
    for (const uint32_t operand : module_.Operands(instruction)) {
      if (operand >= module_.instructions.size()) continue;
      const int64_t more = hlo::ElementCount(module_.instructions[operand].shape);
      token.elements += std::min(more, INT64_MAX - token.elements);
    }
    out_.by_symbol_[SymbolOfInstruction(instruction.name)].push_back(Add(token));
  }

  // A sort copies its operands first, and has one kernel per far stage.
  void EmitSort(const Instruction& instruction, std::string_view name, ThunkToken token) {
    for (uint32_t i = 0; i < std::min<uint32_t>(instruction.operands.size, 16); ++i) {
      Add({.instruction = token.instruction, .kind = ThunkKind::kCopy, .optional = true});
    }
    token.repeats = true;
    const uint32_t sort = Add(token);
    out_.by_symbol_[SymbolOfInstruction(name)].push_back(sort);
  }

  // XLA wraps a sort into a fusion since 2025; its kernels are called after the sort.
  uint32_t SortInside(const Instruction& fusion) const {
    for (const uint32_t callee : module_.CalledComputations(fusion)) {
      if (callee >= module_.computations.size()) break;
      const uint32_t root = module_.computations[callee].root;
      if (root < module_.instructions.size() && module_.instructions[root].opcode == "sort") {
        return root;
      }
    }
    return kNoIndex;
  }

  uint16_t Results(const Instruction& fusion) const {
    for (const uint32_t callee : module_.CalledComputations(fusion)) {
      if (callee >= module_.computations.size()) break;
      const uint32_t root = module_.computations[callee].root;
      if (root >= module_.instructions.size()) break;
      if (module_.instructions[root].opcode != "tuple") break;
      return static_cast<uint16_t>(
          std::min<uint32_t>(module_.instructions[root].operands.size, 999));
    }
    return 1;
  }

  // One copied or sliced operand and nothing computed: XLA has a path without a kernel for it.
  bool MayBeCopy(const Instruction& fusion) const {
    for (const uint32_t callee : module_.CalledComputations(fusion)) {
      if (callee >= module_.computations.size()) return false;
      for (const Instruction& inner : module_.InstructionsOf(module_.computations[callee])) {
        const std::string_view op = inner.opcode;
        if (!TakesNoTime(op) && op != "copy" && op != "slice" && op != "dynamic-slice" &&
            op != "dynamic-update-slice" && op != "reshape" && op != "transpose" &&
            !(inner.shape.find("[]") != std::string_view::npos)) {
          return false;
        }
      }
    }
    return true;
  }

  void FindClasses() {
    out_.class_of_.assign(out_.tokens_.size(), kNoIndex);
    out_.own_symbol_.resize(out_.tokens_.size());
    std::unordered_map<uint64_t, uint32_t> class_ids;
    FusionBodies bodies(module_);
    for (uint32_t t = 0; t < out_.tokens_.size(); ++t) {
      const uint32_t index = out_.tokens_[t].instruction;
      const Instruction& instruction = module_.instructions[index];
      if (instruction.opcode != "fusion") continue;
      const auto [it, fresh] = class_ids.try_emplace(bodies.HashOf(instruction),
                                                     static_cast<uint32_t>(out_.classes_.size()));
      if (fresh) out_.classes_.emplace_back();
      out_.classes_[it->second].push_back(t);
      out_.class_of_[t] = it->second;
      out_.own_symbol_[t] = SymbolOfInstruction(instruction.name);
    }
  }

  const HloModule& module_;
  std::span<const ComputationUse> uses_;
  std::optional<hlo::CostModel> costs_;
  ThunkProgram& out_;
  std::unordered_map<std::string_view, std::vector<const Thunk*>> thunks_of_;
  // Where the run has graph-level rows.
  bool unknown_trips_ = false;  // The walk is in a loop that may run any number of times.
  // Computations may call each other so that a walk never ends, without a single launch.
  size_t walked_ = 0;
  const size_t most_walked_ = std::max<size_t>(1'000'000, 4 * module_.instructions.size());
  double branch_share_ = 1;         // How often what is being walked runs; of two branches, half.
  uint32_t graphs_ = 0;             // So many were found.
  uint32_t open_graph_ = 0;         // That the walk is in.
  std::vector<uint32_t> graph_of_;  // By place in the list of thunks.
  const Thunk* first_thunk_ = nullptr;
  std::vector<uint32_t> token_of_graph_;  // Place of each graph's own token, plus 1.
};

ThunkProgram::ThunkProgram(const HloModule& module, std::span<const ComputationUse> uses,
                           std::span<const Thunk> thunks, bool graph_rows) {
  ThunkProgramBuilder(module, uses, thunks, graph_rows, this).Build();
}

}  // namespace xlatrace::correlator
