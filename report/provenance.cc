// SPDX-License-Identifier: Apache-2.0
#include "report/provenance.h"

#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::report {

std::string PassWords(const ProvenanceEvent& event) {
  return event.dump < 0 ? event.pass : fmt::format("{}, dump {}", event.pass, event.dump);
}

std::string EventSentence(const ProvenanceEvent& event) {
  const std::string of = event.before_count == 1 && !event.before.empty()
                             ? event.before.front().name
                             : Thousands(static_cast<int64_t>(event.before_count));
  if (event.event == "made") return fmt::format("{} was made of {}", event.name, of);
  if (event.event == "added") return event.name + " was added";
  if (event.event == "replaces") return fmt::format("{} took the place of {}", event.name, of);
  if (event.event == "copied") return fmt::format("{} was copied from {}", event.name, of);
  if (event.event == "renamed") return fmt::format("{} was renamed {}", of, event.name);
  if (event.event == "changed") return fmt::format("{} changed: {}", event.name, event.text);
  return event.name + " is there";
}

std::string OperandsSentence(const OpProvenance& op) {
  return fmt::format("{} {} only in what it reads",
                     Thousands(static_cast<int64_t>(op.operands_only)),
                     op.operands_only == 1 ? "change" : "changes");
}

std::string OriginsSentence(const OpProvenance& op) {
  if (op.origins_count == 0) return {};
  const std::string count = Thousands(static_cast<int64_t>(op.origins_count));
  const std::string_view noun = op.origins_count == 1 ? "operation" : "operations";
  if (op.origins_told) return fmt::format("These {} are {} of {}", count, noun, op.origins_of);
  return fmt::format("It comes from {} {} of {}", count, noun, op.origins_of);
}

}  // namespace xlatrace::report
