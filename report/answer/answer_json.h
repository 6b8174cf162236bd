// SPDX-License-Identifier: Apache-2.0

// The answer as data, for `summary --format json` and the page (docs/schema.md, "Answer").
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_ANSWER_ANSWER_JSON_H_
#define XLATRACE_REPORT_ANSWER_ANSWER_JSON_H_

#include <nlohmann/json.hpp>

#include "report/answer/answer.h"

namespace xlatrace::report {

// {"run": PART or null, "step": PART or null}. PART has whole_ns, ns, path (parts, starting with
// the whole), beside, largest_inside and limit. The PART of a step also has p25_ns and p75_ns.
nlohmann::ordered_json AnswerJson(const Answer& answer);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_ANSWER_JSON_H_
