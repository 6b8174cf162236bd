// SPDX-License-Identifier: Apache-2.0

// Splits the time of one instruction over the op_names it serves.
//
// A fusion's kernel does the work of many framework ops. Its time is divided in proportion to the
// costs of the instructions inside; views get none (hlo/cost/fusion_work.h). A collective that XLA
// combined from many is divided by the bytes of its operands. These are estimates, and shown as
// such.

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

inline constexpr int64_t kWhole = 1'000'000;  // Millionths.

struct Share {
  int64_t share_ppm = 0;
  std::string_view op_name;         // Points into the module or its splitter.
  uint32_t from = model::kNoIndex;  // Instruction the share stands for: its opcode, source, ...
};

// Divides `kWhole` in proportion to `weights` so that the parts sum to exactly kWhole (largest
// remainder; of equal remainders the earlier one wins). Weights that are not finite and positive
// count as 0; when all do, the parts are equal. Empty for no weights.
//
// Not analysis::Apportion, which splits measured nanoseconds over whole numbers, exactly, and gives
// all to the first part where no weight is known: these weights are real numbers of a cost model,
// and where it knows none, no op_name may stand out. Either rule in the other's place would change
// what is stored.
std::vector<int64_t> LargestRemainder(std::span<const double> weights);

// A part of an instruction's work before it is grouped.
struct Piece {
  uint32_t from;
  std::string_view op_name;
  double weight;
};

// Groups pieces by op_name, op_type and place in the source, and divides kWhole over the groups;
// largest first. Pieces without weight are left out unless none has any.
std::vector<Share> GroupPieces(const model::HloModule& module, std::vector<Piece> pieces);

class ShareSplitter {
 public:
  // `module` must outlive the splitter, and the splitter the names in its shares, some of which are
  // its own. `device`: where the module runs.
  explicit ShareSplitter(const model::HloModule* module,
                         model::DeviceKind device = model::DeviceKind::kGpu)
      : module_(*module), work_(*module, device) {}

  // Shares of a fusion, an async wrapper or a combined collective; the first one is the label of
  // the instruction. Empty for all others, and when nothing inside has an op_name. Work without an
  // op_name goes to the instruction's own op_name, or, when it has none either, is spread over the
  // others.
  std::vector<Share> Split(uint32_t instruction);

 private:
  std::vector<Share> SplitBody(uint32_t instruction);
  std::vector<Share> SplitCombined(uint32_t instruction, std::vector<std::string> names);

  const model::HloModule& module_;
  hlo::FusionWork work_;
  std::deque<std::string> names_;  // What shares look at and no instruction is called.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_FUSION_SHARES_H_
