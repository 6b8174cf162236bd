// SPDX-License-Identifier: Apache-2.0

// Divides the time of one instruction over its op_names.
//
// The kernel of a fusion does the work of many framework ops. Its time is divided in proportion to
// the costs of the instructions inside; views have no cost (hlo/cost/fusion_work.h). A collective
// that XLA combined from many is divided by the bytes of its operands. The results are estimates,
// and are shown as estimates.

#ifndef XLATRACE_CORRELATOR_FUSION_SHARES_H_
#define XLATRACE_CORRELATOR_FUSION_SHARES_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/cost/fusion_work.h"
#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::correlator {

struct Share {
  int64_t share_ppm = 0;
  std::string_view op_name;  // Points into the module or its splitter.
  // Instruction that the share represents, with its opcode and source.
  uint32_t from = model::kNoIndex;
};

// Divides `model::kWholeSharePpm` in proportion to `weights` so that the parts sum to exactly
// model::kWholeSharePpm (largest remainder; of equal remainders the earlier one wins). Weights that
// are not finite and positive count as 0; if all do, the parts are equal. Empty without weights.
//
// This is not analysis::Apportion, which divides measured nanoseconds over integers, exactly, and
// gives all to the first part if no weight is known. The weights here are real numbers of a cost
// model; without a known weight, no op_name may be preferred. Exchanging the two rules would change
// stored values.
std::vector<int64_t> LargestRemainder(std::span<const double> weights);

// A part of an instruction's work before grouping.
struct Piece {
  uint32_t from;
  std::string_view op_name;
  double weight;
};

// Groups pieces by op_name, op_type and source line, and divides model::kWholeSharePpm over the
// groups, largest first. Pieces without weight are omitted unless none has a weight.
std::vector<Share> GroupPieces(const model::HloModule& module, std::vector<Piece> pieces);

class ShareSplitter {
 public:
  // `module` must outlive the splitter. The splitter must outlive the names in its shares, some of
  // which it owns. `device`: the device of the module.
  explicit ShareSplitter(const model::HloModule* module,
                         model::DeviceKind device = model::DeviceKind::kGpu)
      : module_(*module), work_(*module, device) {}

  // Shares of a fusion, an async wrapper or a combined collective; the first one is the label of
  // the instruction. Empty for all other instructions, and if no inner instruction has an op_name.
  // Work without an op_name belongs to the instruction's own op_name. If the instruction has none,
  // the work is distributed over the other op_names.
  std::vector<Share> Split(uint32_t instruction);

 private:
  std::vector<Share> SplitBody(uint32_t instruction);
  std::vector<Share> SplitCombined(uint32_t instruction, std::vector<std::string> names);

  const model::HloModule& module_;
  hlo::FusionWork work_;
  std::deque<std::string> names_;  // Names in shares that no instruction has.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_FUSION_SHARES_H_
