// Stand-in until the hlo room has its own.
#ifndef XLATRACE_HLO_OP_CATEGORY_H_
#define XLATRACE_HLO_OP_CATEGORY_H_

#include <string>

#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::hlo {

inline model::OpKind KindOf(const model::HloModule&, const model::Instruction& i) {
  if (i.opcode == "dot") return model::OpKind::kGemm;
  if (i.opcode == "all-reduce" || i.opcode == "all-reduce-start") return model::OpKind::kCollective;
  return model::OpKind::kOther;
}
inline std::string CategoryOf(const model::HloModule&, const model::Instruction& i) {
  return std::string(i.opcode);
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_OP_CATEGORY_H_
