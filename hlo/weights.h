// Stand-in until the hlo room has its own.
#ifndef XLATRACE_HLO_WEIGHTS_H_
#define XLATRACE_HLO_WEIGHTS_H_

#include "model/hlo_module.h"

namespace xlatrace::hlo {

inline double Weight(const model::HloModule&, const model::Instruction& i) {
  if (i.opcode == "parameter" || i.opcode == "constant" || i.opcode == "tuple" ||
      i.opcode == "get-tuple-element" || i.opcode == "bitcast" || i.opcode == "broadcast") {
    return 0;
  }
  return i.opcode == "dot" ? 100 : 1;
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_WEIGHTS_H_
