// SPDX-License-Identifier: Apache-2.0

// Walks a module's schedule and builds its thunk program: order, loops and branches. launch_emitter
// gives the launches of each instruction.

#include <algorithm>
#include <unordered_map>

#include "correlator/fusion_body.h"
#include "correlator/kernel_symbols.h"
#include "correlator/thunk_order/program/launch_emitter.h"
#include "correlator/thunk_order/program/thunk_program.h"
#include "correlator/thunk_order/program/token_writer.h"
#include "hlo/backend_config.h"

namespace xlatrace::correlator {
namespace {

// A hand-made module may call itself; real ones are a few levels deep. It limits the tokens, too.
constexpr int kMaxCallDepth = 64;
constexpr size_t kMaxTokenCount = 2'000'000;

}  // namespace

class ThunkProgramBuilder {
 public:
  ThunkProgramBuilder(const model::HloModule& module, std::span<const model::Thunk> thunks,
                      bool graph_rows, ThunkProgram* program)
      : module_(module),
        out_(*program),
        tokens_(module, graph_rows),
        emitter_(module, thunks, &tokens_) {}

  void Build() {
    out_.from_thunk_list_ = emitter_.from_thunk_list();
    if (module_.entry < module_.computations.size()) Walk(module_.entry, 0, false);
    out_.tokens_ = tokens_.TakeTokens();
    out_.by_symbol_ = tokens_.TakeSymbols();
    if (!out_.from_thunk_list_) FindClasses();
    out_.CountRequired();
    out_.IndexInstructions();
  }

 private:
  void Walk(uint32_t computation, int depth, bool optional) {
    if (computation >= module_.computations.size() || depth > kMaxCallDepth) return;
    const model::Computation& c = module_.computations[computation];
    for (uint32_t i = 0; i < c.instruction_count; ++i) {
      if (Next() >= kMaxTokenCount || ++walked_ > most_walked_) return;
      const uint32_t index = c.first_instruction + i;
      const model::Instruction& instruction = module_.instructions[index];
      const std::string_view op = instruction.opcode;
      if (op == "while") {
        WalkLoop(instruction, depth, optional);
      } else if (op == "conditional") {
        // XLA first copies the predicate to the host.
        tokens_.Add({.instruction = index, .kind = ThunkKind::kHostCopy, .optional = true});
        const auto branches = module_.CalledComputations(instruction);
        const double share = tokens_.place().share;
        tokens_.place().share /= static_cast<double>(std::max<size_t>(branches.size(), 1));
        out_.regions_.BeginChoice(true);
        for (const uint32_t branch : branches) {
          out_.regions_.Open(Next());
          Walk(branch, depth + 1, true);
          out_.regions_.Close(Next());
        }
        out_.regions_.EndChoice();
        tokens_.place().share = share;
      } else if (op == "call" || op == "async-start") {
        for (const uint32_t callee : module_.CalledComputations(instruction)) {
          // Instructions that the scheduler put into a graph, until graphs became a pass over
          // thunks (mid-2025).
          const bool graph = tokens_.graph_rows() && tokens_.place().graph == 0 && op == "call" &&
                             callee < module_.computations.size() &&
                             !emitter_.list_tells_graphs() &&
                             module_.computations[callee].name.starts_with("command_buffer");
          if (graph) tokens_.place().graph = ++graphs_;
          Walk(callee, depth + 1, optional);
          if (graph) tokens_.place().graph = 0;
        }
        // Lists may have the name of the wrapper for the work inside it.
        if (op == "async-start" && emitter_.from_thunk_list()) {
          emitter_.Emit(index, instruction, optional);
        }
      } else {
        emitter_.Emit(index, instruction, optional);
      }
    }
  }

  void WalkLoop(const model::Instruction& loop, int depth, bool optional) {
    const uint32_t begin = Next();
    uint32_t body = begin;
    const int64_t trips = hlo::TripCount(module_, loop).value_or(0);
    const bool counted = trips > 0;
    const auto callees = module_.CalledComputations(loop);
    ProgramRegions::Loop regions{.region = out_.regions_.current(), .begin = begin};
    // A proto lists the body first, printed HLO the condition; the condition is the one that
    // returns a predicate. It runs on the device only if XLA does not know the trip count, and then
    // once more than the body.
    const bool unknown = tokens_.place().unknown_trips;
    tokens_.place().unknown_trips |= !counted;
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
        const double share = tokens_.place().share;
        if (condition && counted) tokens_.place().share = 0;  // It does not run.
        Walk(callee, depth + 1, condition || optional || !counted);
        tokens_.place().share = share;
        if (condition) {
          tokens_.Add({.instruction = static_cast<uint32_t>(&loop - module_.instructions.data()),
                       .kind = ThunkKind::kHostCopy,
                       .optional = true});
        }
        if (may_not_run) {
          out_.regions_.Close(Next());
          out_.regions_.EndChoice();
        }
      }
    }
    tokens_.place().unknown_trips = unknown;
    regions.end = Next();
    if (regions.end == begin) return;
    out_.loops_.push_back(
        {begin, regions.end, std::max<int64_t>(trips, 1), counted, body, regions});
  }

  bool IsCondition(uint32_t computation) const {
    const uint32_t root = module_.computations[computation].root;
    return root < module_.instructions.size() &&
           module_.instructions[root].shape.starts_with("pred[]");
  }

  uint32_t Next() const { return tokens_.Next(); }

  void FindClasses() {
    out_.class_of_.assign(out_.tokens_.size(), model::kNoIndex);
    out_.own_symbol_.resize(out_.tokens_.size());
    std::unordered_map<uint64_t, uint32_t> class_ids;
    FusionBodies bodies(module_);
    for (uint32_t t = 0; t < out_.tokens_.size(); ++t) {
      const uint32_t index = out_.tokens_[t].instruction;
      const model::Instruction& instruction = module_.instructions[index];
      if (instruction.opcode != "fusion") continue;
      const auto [it, fresh] = class_ids.try_emplace(bodies.HashOf(instruction),
                                                     static_cast<uint32_t>(out_.classes_.size()));
      if (fresh) out_.classes_.emplace_back();
      out_.classes_[it->second].push_back(t);
      out_.class_of_[t] = it->second;
      out_.own_symbol_[t] = SymbolOfInstruction(instruction.name);
    }
  }

  const model::HloModule& module_;
  ThunkProgram& out_;
  TokenWriter tokens_;
  LaunchEmitter emitter_;
  uint32_t graphs_ = 0;  // Number of graphs found on the walk.
  // Computations may call each other so that a walk never ends and launches nothing.
  size_t walked_ = 0;
  const size_t most_walked_ = std::max<size_t>(1'000'000, 4 * module_.instructions.size());
};

ThunkProgram::ThunkProgram(const model::HloModule& module, std::span<const model::Thunk> thunks,
                           bool graph_rows) {
  ThunkProgramBuilder(module, thunks, graph_rows, this).Build();
}

}  // namespace xlatrace::correlator
