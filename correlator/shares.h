// Splits the time of one instruction over the op_names inside it.
//
// A fusion's kernel does the work of many framework ops. Its time is divided by the weights that
// the cost model gives to the instructions of its body (hlo/weights.h); nested fusions and wrapped
// calls are opened, functions that a reduction applies belong to the reduction. This is an
// estimate, and shown as one.

#ifndef XLATRACE_CORRELATOR_SHARES_H_
#define XLATRACE_CORRELATOR_SHARES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::correlator {

inline constexpr int64_t kWhole = 1'000'000;  // Millionths.

struct BodyShare {
  int64_t share_ppm = 0;
  std::string_view op_name;         // Points into the module.
  uint32_t from = model::kNoIndex;  // Heaviest instruction of the share: its opcode, source, ...
};

// Divides `kWhole` in proportion to `weights` so that the parts sum to exactly kWhole (largest
// remainder; of equal remainders the earlier one wins). Weights that are not finite and positive
// count as 0; when all do, the parts are equal. Empty for no weights.
std::vector<int64_t> LargestRemainder(std::span<const double> weights);

class ShareSplitter {
 public:
  explicit ShareSplitter(const model::HloModule& module) : module_(module) {}

  // Shares of a fusion or async wrapper, largest first, summing to kWhole; grouped by op_name,
  // op_type and place in the source. Work without an op_name goes to the instruction's own
  // op_name, or, when it has none either, is spread over the others. Empty when nothing inside has
  // an op_name, and for instructions that have no body.
  std::vector<BodyShare> Split(uint32_t instruction);

 private:
  void Collect(uint32_t computation, int depth);

  const model::HloModule& module_;
  std::vector<uint32_t> body_;  // Reused between calls.
  int computations_left_ = 0;   // Bounds the walk of a module that calls itself in many ways.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_SHARES_H_
