#include "correlator/thunk_program.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "correlator/fusion_body.h"
#include "correlator/kernel_symbols.h"
#include "hlo/backend_config.h"
#include "hlo/cost.h"
#include "hlo/weights.h"

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
                      std::span<const Thunk> thunks, bool with_costs, ThunkProgram* program)
      : module_(module), uses_(uses), out_(*program) {
    if (with_costs) {
      // What is read again and again comes from a cache.
      costs_.emplace(module, hlo::CostOptions{.kind = hlo::CostKind::kGpu,
                                              .count_multiple_input_accesses = false});
    }
    out_.from_thunk_list_ = false;
    for (const Thunk& thunk : thunks) {
      if (thunk.instruction.empty()) continue;
      thunks_of_[thunk.instruction].push_back(&thunk);
      out_.from_thunk_list_ |= !IsContainerThunk(thunk.kind);
    }
    if (!out_.from_thunk_list_) thunks_of_.clear();
  }

  void Build() {
    if (module_.entry < module_.computations.size()) Walk(module_.entry, 0, false);
    if (!out_.from_thunk_list_) FindClasses();
    out_.CountRequired();
    for (uint32_t t = 0; t < out_.tokens_.size(); ++t) {
      out_.by_instruction_.emplace_back(out_.tokens_[t].instruction, t);
    }
    std::sort(out_.by_instruction_.begin(), out_.by_instruction_.end());
  }

 private:
  void Walk(uint32_t computation, int depth, bool optional) {
    if (computation >= module_.computations.size() || depth > kDeepest) return;
    const model::Computation& c = module_.computations[computation];
    for (uint32_t i = 0; i < c.instruction_count; ++i) {
      if (out_.tokens_.size() >= kMostTokens) return;
      const uint32_t index = c.first_instruction + i;
      const Instruction& instruction = module_.instructions[index];
      const std::string_view op = instruction.opcode;
      if (op == "while") {
        WalkLoop(instruction, depth, optional);
      } else if (op == "conditional") {
        // The predicate goes to the host first.
        Add({.instruction = index, .kind = ThunkKind::kHostCopy, .optional = true});
        for (const uint32_t branch : module_.CalledComputations(instruction)) {
          Walk(branch, depth + 1, true);
        }
      } else if (op == "call" || op == "async-start") {
        for (const uint32_t callee : module_.CalledComputations(instruction)) {
          Walk(callee, depth + 1, optional);
        }
        // Lists may name the wrapper for the work inside it.
        if (op == "async-start" && out_.from_thunk_list_) Emit(index, instruction, optional);
      } else {
        Emit(index, instruction, optional);
      }
    }
  }

  void WalkLoop(const Instruction& loop, int depth, bool optional) {
    const auto begin = static_cast<uint32_t>(out_.tokens_.size());
    const int64_t trips = hlo::TripCount(module_, loop).value_or(0);
    const bool counted = trips > 0;
    const auto callees = module_.CalledComputations(loop);
    // A proto lists the body first, printed HLO the condition; the condition is the one that gives
    // a predicate. It runs on the device only where XLA does not know the number of trips.
    for (const bool condition : {true, false}) {
      for (const uint32_t callee : callees) {
        if (callee >= module_.computations.size() || IsCondition(callee) != condition) continue;
        Walk(callee, depth + 1, condition || optional || !counted);
        if (condition) {
          Add({.instruction = static_cast<uint32_t>(&loop - module_.instructions.data()),
               .kind = ThunkKind::kHostCopy,
               .optional = true});
        }
      }
    }
    const auto end = static_cast<uint32_t>(out_.tokens_.size());
    if (end > begin) out_.loops_.push_back({begin, end, std::max<int64_t>(trips, 1), counted});
  }

  bool IsCondition(uint32_t computation) const {
    const uint32_t root = module_.computations[computation].root;
    return root < module_.instructions.size() &&
           module_.instructions[root].shape.starts_with("pred[]");
  }

  uint32_t Add(ThunkToken token) {
    if (token.kind == ThunkKind::kLibrary && token.library == LibraryKind::kAny) {
      const Instruction& instruction = module_.instructions[token.instruction];
      token.library = LibraryOf(instruction.opcode == "custom-call" ? instruction.custom_call_target
                                                                    : instruction.opcode);
    }
    if (costs_) {
      const Instruction& instruction = module_.instructions[token.instruction];
      token.cost_ns = static_cast<float>(
          hlo::LaunchNs(module_, instruction, costs_->Of(instruction).bytes_accessed));
    }
    out_.tokens_.push_back(token);
    return static_cast<uint32_t>(out_.tokens_.size()) - 1;
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
    std::copy(std::begin(thunk.grid), std::end(thunk.grid), std::begin(token.grid));
    std::copy(std::begin(thunk.block), std::end(thunk.block), std::begin(token.block));
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
    // Kernels of their own: sort and rng in all eras, nearly everything before 2024. A sort copies
    // its operands first and has one kernel per far stage.
    token.repeats = true;
    if (op == "sort") {
      Add({.instruction = index, .kind = ThunkKind::kCopy, .optional = true});
    }
    for (const std::string_view mover : {"slice", "dynamic-slice", "dynamic-update-slice",
                                         "concatenate", "reshape", "transpose", "pad"}) {
      token.may_copy |= op == mover;
    }
    AddNamed(instruction, token);
  }

  void AddNamed(const Instruction& instruction, const ThunkToken& token) {
    out_.by_symbol_[SymbolOfInstruction(instruction.name)].push_back(Add(token));
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
    for (uint32_t t = 0; t < out_.tokens_.size(); ++t) {
      const uint32_t index = out_.tokens_[t].instruction;
      const Instruction& instruction = module_.instructions[index];
      if (instruction.opcode != "fusion") continue;
      const auto [it, fresh] = class_ids.try_emplace(FusionBodyHash(module_, instruction),
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
};

void ThunkProgram::CountRequired() {
  required_.assign(tokens_.size() + 1, 0);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const ThunkToken& token = tokens_[i];
    const bool required = token.kind == ThunkKind::kKernel && !token.optional && !token.may_copy;
    required_[i + 1] = required_[i] + (required ? 1 : 0);
  }
  required_kernels_ = required_.back();
}

void ThunkProgram::SettleKernels(const std::vector<bool>& tokens) {
  for (size_t i = 0; i < tokens_.size() && i < tokens.size(); ++i) {
    if (tokens[i]) tokens_[i].may_copy = false;
  }
  CountRequired();
}

ThunkProgram::ThunkProgram(const HloModule& module, std::span<const ComputationUse> uses,
                           std::span<const Thunk> thunks, bool with_costs) {
  ThunkProgramBuilder(module, uses, thunks, with_costs, this).Build();
}

std::vector<uint32_t> ThunkProgram::Matches(
    const model::LaunchConfig& config,
    const std::function<bool(std::string_view)>& observed) const {
  const std::string_view symbol = PlainSymbol(config.symbol);
  auto it = by_symbol_.find(symbol);
  bool tail = false;
  if (it == by_symbol_.end() && !from_thunk_list_) {
    it = by_symbol_.find(WithoutUniqueTail(symbol));
    tail = true;
  }
  if (it == by_symbol_.end()) return {};
  std::vector<uint32_t> found;
  for (const uint32_t owner : it->second) {
    const ThunkToken& token = tokens_[owner];
    bool fits = true;
    for (int d = 0; d < 3; ++d) {
      fits &= token.grid[d] == 0 || config.grid[d].value_or(token.grid[d]) == token.grid[d];
      fits &= token.block[d] == 0 || config.block[d].value_or(token.block[d]) == token.block[d];
    }
    if (!fits) continue;
    found.push_back(owner);
    if (from_thunk_list_ || tail || class_of_[owner] == kNoIndex) continue;
    const std::vector<uint32_t>& members = classes_[class_of_[owner]];
    for (auto m = std::upper_bound(members.begin(), members.end(), owner); m != members.end();
         ++m) {
      if (own_symbol_[*m] != symbol && !observed(own_symbol_[*m])) found.push_back(*m);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<uint32_t> ThunkProgram::TokensOf(uint32_t instruction) const {
  std::vector<uint32_t> found;
  auto it = std::lower_bound(by_instruction_.begin(), by_instruction_.end(),
                             std::pair<uint32_t, uint32_t>(instruction, 0));
  for (; it != by_instruction_.end() && it->first == instruction; ++it) found.push_back(it->second);
  return found;
}

const ThunkProgram::Loop* ThunkProgram::CommonLoop(uint32_t a, uint32_t b) const {
  for (const Loop& loop : loops_) {  // A loop is finished before the one around it.
    if (a >= loop.begin && a < loop.end && b >= loop.begin && b < loop.end) return &loop;
  }
  return nullptr;
}

std::vector<uint32_t> ThunkProgram::Unrolled(size_t most) const {
  std::vector<bool> opens_loop(tokens_.size());
  for (const Loop& loop : loops_) opens_loop[loop.begin] = true;
  std::vector<uint32_t> unrolled;
  UnrollInto(0, static_cast<uint32_t>(tokens_.size()), loops_.size(), most, opens_loop, &unrolled);
  return unrolled;
}

// `loops`: only loops before this one may begin here, which are inside of it or beside it.
void ThunkProgram::UnrollInto(uint32_t begin, uint32_t end, size_t loops, size_t most,
                              const std::vector<bool>& opens_loop,
                              std::vector<uint32_t>* out) const {
  for (uint32_t t = begin; t < end;) {
    size_t inner = opens_loop[t] ? loops : 0;
    while (inner > 0 && !(loops_[inner - 1].begin == t && loops_[inner - 1].end <= end)) --inner;
    if (inner == 0) {
      out->push_back(t++);
      continue;
    }
    const Loop& loop = loops_[inner - 1];
    for (int64_t trip = 0; trip < loop.trips && (trip == 0 || out->size() < most); ++trip) {
      UnrollInto(loop.begin, loop.end, inner - 1, most, opens_loop, out);
    }
    t = loop.end;
  }
}

bool ThunkProgram::KernelsBetween(uint32_t from, uint32_t to, size_t most,
                                  std::vector<uint32_t>* kernels,
                                  std::vector<uint32_t>* optional) const {
  const uint32_t begin = from == kStart ? 0 : from + 1;
  if (from != kStart && from >= to) return false;
  std::vector<bool> opens_loop(tokens_.size());
  for (const Loop& loop : loops_) {
    const bool holds_from = from != kStart && from >= loop.begin && from < loop.end;
    const bool holds_to = to >= loop.begin && to < loop.end;
    if (holds_from != holds_to) return false;
    if (holds_from || loop.end <= begin || loop.begin >= to) continue;
    if (!loop.counted) return false;
    opens_loop[loop.begin] = true;
  }
  std::vector<uint32_t> unrolled;
  UnrollInto(begin, to, loops_.size(), most, opens_loop, &unrolled);
  if (unrolled.size() >= most) return false;
  for (const uint32_t t : unrolled) {
    if (tokens_[t].kind != ThunkKind::kKernel || tokens_[t].may_copy) continue;
    (tokens_[t].optional ? optional : kernels)->push_back(t);
  }
  std::sort(optional->begin(), optional->end());
  optional->erase(std::unique(optional->begin(), optional->end()), optional->end());
  return true;
}

std::vector<uint32_t> ThunkProgram::Covered(uint32_t first, uint32_t last) const {
  std::vector<uint32_t> covered;
  const auto add = [&](uint32_t begin, uint32_t end) {
    for (uint32_t t = begin; t < end && t < tokens_.size(); ++t) covered.push_back(t);
  };
  const Loop* loop = last < first ? CommonLoop(first, last) : nullptr;
  if (loop != nullptr) {
    add(first, loop->end);
    add(loop->begin, last + 1);
  } else {
    add(std::min(first, last), std::max(first, last) + 1);
  }
  return covered;
}

std::vector<double> ThunkProgram::Repeats(uint32_t first, uint32_t last) const {
  std::vector<double> times(tokens_.size(), 1);
  for (const Loop& loop : loops_) {
    if (loop.begin < first || loop.end > last + 1) continue;
    for (uint32_t t = loop.begin; t < loop.end; ++t) times[t] *= static_cast<double>(loop.trips);
  }
  return times;
}

int64_t ThunkProgram::Skipped(uint32_t from, uint32_t to) const {
  if (from == kStart) return Required(to);
  if (from < to) return Required(to) - Required(from + 1);
  const Loop* loop = CommonLoop(from, to);
  if (loop == nullptr) return -1;
  return Required(loop->end) - Required(from + 1) + Required(to) - Required(loop->begin);
}

int64_t ThunkProgram::SkippedToEnd(uint32_t from) const {
  if (from == kStart) return required_kernels_;
  return required_kernels_ - Required(from + 1);
}

std::vector<uint32_t> ThunkProgram::Between(uint32_t from, uint32_t to) const {
  std::vector<uint32_t> between;
  const auto add = [&](uint32_t begin, uint32_t end) {
    for (uint32_t t = begin; t < end; ++t) between.push_back(t);
  };
  const uint32_t begin = from == kStart ? 0 : from + 1;
  if (from == kStart || from < to) {
    add(begin, to);
  } else if (const Loop* loop = CommonLoop(from, to)) {
    add(begin, loop->end);
    add(loop->begin, to);
  }
  return between;
}

std::vector<std::string_view> ThunkProgram::Symbols() const {
  std::vector<std::string_view> symbols;
  symbols.reserve(by_symbol_.size());
  for (const auto& [symbol, tokens] : by_symbol_) symbols.push_back(symbol);
  return symbols;
}

}  // namespace xlatrace::correlator
