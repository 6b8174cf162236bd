// SPDX-License-Identifier: Apache-2.0

// Implementation of CostModel: visits every instruction, called computations before their callers.
// Used by cost*.cc only; one source file per idea (operations, fusions, utilisation, GPU, library
// calls).

#ifndef XLATRACE_HLO_COST_COST_BUILDER_H_
#define XLATRACE_HLO_COST_COST_BUILDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hlo/cost/cost.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

class CostBuilder {
 public:
  using Figures = CostModel::Figures;

  // Fills the tables of `model`.
  explicit CostBuilder(CostModel& model);
  void Run();

 private:
  // An instruction. For an asynchronous instruction of printed text, the wrapped instruction.
  struct Op {
    const model::Instruction& instruction;
    std::string_view opcode;
    std::string_view shape;
  };
  // Users of the instructions of one computation, each once.
  class Users {
   public:
    Users(const model::HloModule& module, const model::Computation& computation);
    std::span<const uint32_t> Of(uint32_t instruction) const;

   private:
    uint32_t first_;
    std::vector<uint32_t> begin_;
    std::vector<uint32_t> users_;
  };

  // Shared by all fusions that call one computation.
  struct FusionBody {
    bool done = false;
    bool known = true;                   // For kGpu: the utilisation could be computed.
    uint32_t special = model::kNoIndex;  // The first gather or scatter in the computation.
    double flops = 0;                    // kGpu: weighted with the utilisation.
    double constants = 0;                // Bytes.
    std::vector<double> reads;           // Bytes of each parameter, by number.
    std::vector<double> uses;
  };

  // cost.cc
  void NoteParameters(uint32_t computation);
  std::vector<uint32_t> CalleesFirst() const;
  static void Add(Figures& sum, const Figures& part);

  // cost_operations.cc: HloCostAnalysis.
  Figures Handle(const Op& op);
  void HandleClass(const Op& op, Figures& figures);
  Figures HandleAsync(const Op& op, Figures figures);
  Figures Default(const Op& op);
  static void SetUnknown(Figures& figures);
  void Apply(const Op& op, size_t callee, double times, Figures& figures) const;
  void Nothing(const Op& op, Figures& figures);
  void Tuple(const Op& op, Figures& figures);
  void Elementwise(const Op& op, Figures& figures) const;
  void RaggedDot(const Op& op, Figures& figures) const;
  void Convolution(const Op& op, Figures& figures) const;
  void Reduce(const Op& op, Figures& figures);
  void ReduceWindow(const Op& op, Figures& figures);
  void SelectAndScatter(const Op& op, Figures& figures) const;
  void Gather(const Op& op, Figures& figures);
  void Scatter(const Op& op, Figures& figures);
  void SliceOut(const Op& op, Figures& figures);
  void DynamicUpdateSlice(const Op& op, Figures& figures);
  void Sort(const Op& op, Figures& figures) const;
  void Fft(const Op& op, Figures& figures) const;
  void Broadcast(const Op& op, Figures& figures);
  void Transpose(const Op& op, Figures& figures);
  void TriangularSolve(const Op& op, Figures& figures);
  void Cholesky(const Op& op, Figures& figures);
  void Feed(const Op& op, bool in, Figures& figures);
  void CustomCall(const Op& op, Figures& figures);
  void AsyncStart(const Op& op, Figures& figures) const;
  void Collective(const Op& op, Figures& figures) const;
  void Called(const Op& op, Figures& figures) const;
  void Conditional(const Op& op, Figures& figures) const;
  double DotFlops(const Op& op) const;

  // cost_fusion.cc
  Figures Fusion(const Op& op, Figures figures);
  const FusionBody& BodyFigures(uint32_t computation);
  double ConstantBytes(const model::Computation& computation) const;
  void ForgetUpdatedOperands(const model::Computation& computation);
  double TupleReads(std::string_view shape, uint32_t node, const Users& users);
  double ReadBytes(uint32_t node, const Users& users);
  double PlainReadBytes(uint32_t node, const Users& users);
  double NestedReadBytes(uint32_t node, uint32_t nested, const Users& users);

  // cost_utilization.cc: how much of each instruction a GPU fusion computes.
  // False if it would take too long.
  bool Utilize(const model::Computation& body, double* flops);
  bool IsElementwise(const model::Instruction& instruction) const;

  // cost_gpu.cc: where GpuHloCostAnalysis differs.
  void GpuElementwise(const Op& op, Figures& figures) const;
  double ElementwiseFlops(std::string_view opcode, std::string_view shape) const;
  void GpuConcatenate(const Op& op, Figures& figures) const;
  void GpuReduce(const Op& op, Figures& figures);
  void GpuAllReduce(const Op& op, Figures& figures) const;
  void GpuAllGather(const Op& op, std::string_view result, Figures& figures) const;
  void GpuReduceScatter(const Op& op, Figures& figures) const;
  double Ranks(const model::Instruction& collective) const;

  // cost_custom_call.cc
  void GpuCustomCall(const Op& op, Figures& figures) const;

  bool gpu() const { return model_.options_.kind == CostKind::kGpu; }
  const model::Instruction* Operand(const Op& op, size_t number) const;
  std::string_view OperandShape(const Op& op, size_t number) const;
  // The parameter with this number; model::kNoIndex if there is none.
  uint32_t ParameterOf(uint32_t computation, size_t number) const;
  double& OperandBytes(const Op& op, size_t number);
  double& OperandUse(const Op& op, size_t number);
  const Figures& FiguresOf(const model::Instruction& instruction) const;

  CostModel& model_;
  const model::HloModule& module_;
  bool count_multiple_ = false;
  std::vector<double> operand_use_;  // Parallel to operand_pool.
  std::vector<double> use_;          // For instructions inside fusions; parallel to instructions.
  std::vector<double> read_bytes_;   // For parameters of fusions (kHlo); below 0: not computed.
  std::vector<std::vector<uint32_t>> parameters_;  // By computation, then number.
  std::vector<FusionBody> bodies_;                 // By computation; fusions only.
  double discard_ = 0;  // Receives figures of operands that do not exist.
};

// Bytes that a fusion writes to the part of its result at `index`; `shape` is that part's.
double FusionOutputBytes(const model::HloModule& module, const model::Instruction& fusion,
                         std::string_view shape, std::span<const int64_t> index);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_COST_BUILDER_H_
