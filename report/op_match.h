// Which op of one run is which op of another: by content, never by number.
//
// In this order, each op at most once: the same instruction of modules with the same fingerprint;
// the same instruction name, op_name and kind of work in modules of one name; the same op_name and
// kind of work in modules of one name (the largest with the largest, and so on down).
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_OP_MATCH_H_
#define XLATRACE_REPORT_OP_MATCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::report {

struct MatchOp {
  std::string fingerprint;  // Of its module; empty: not known.
  std::string module;
  std::string instruction;
  std::string op_name;
  std::string op_kind;
};

struct OpMatch {
  size_t op = 0;         // Of the second list.
  std::string_view how;  // "fingerprint", "instruction", "op_name"
};

// For every op of `base` its match in `ops`. Both lists are by time, the largest first.
std::vector<std::optional<OpMatch>> MatchOps(const std::vector<MatchOp>& base,
                                             const std::vector<MatchOp>& ops);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_OP_MATCH_H_
