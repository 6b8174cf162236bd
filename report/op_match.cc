#include "report/op_match.h"

#include <deque>
#include <unordered_map>

namespace xlatrace::report {
namespace {

// '\n' is in no name that HLO text can carry. Empty: this op cannot be matched this way.
std::string ByFingerprint(const MatchOp& op) {
  return op.fingerprint.empty() ? std::string() : op.fingerprint + '\n' + op.instruction;
}

std::string ByOpName(const MatchOp& op) {
  return op.op_name.empty() ? std::string() : op.module + '\n' + op.op_name + '\n' + op.op_kind;
}

std::string ByInstruction(const MatchOp& op) {
  return op.module + '\n' + op.instruction + '\n' + op.op_name + '\n' + op.op_kind;
}

}  // namespace

std::vector<std::optional<OpMatch>> MatchOps(const std::vector<MatchOp>& base,
                                             const std::vector<MatchOp>& ops) {
  std::vector<std::optional<OpMatch>> matches(base.size());
  std::vector<bool> taken(ops.size(), false);
  const auto pass = [&](std::string (*key_of)(const MatchOp&), std::string_view how) {
    std::unordered_map<std::string, std::deque<size_t>> free;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (taken[i]) continue;
      if (std::string key = key_of(ops[i]); !key.empty()) free[std::move(key)].push_back(i);
    }
    for (size_t b = 0; b < base.size(); ++b) {
      if (matches[b]) continue;
      const auto found = free.find(key_of(base[b]));
      if (found == free.end() || found->second.empty()) continue;
      matches[b] = OpMatch{found->second.front(), how};
      taken[found->second.front()] = true;
      found->second.pop_front();
    }
  };
  pass(ByFingerprint, "fingerprint");
  pass(ByInstruction, "instruction");
  pass(ByOpName, "op_name");
  return matches;
}

}  // namespace xlatrace::report
