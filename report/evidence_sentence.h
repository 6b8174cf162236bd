// SPDX-License-Identifier: Apache-2.0

// What the instructions of a finding cost, as a sentence: "4 scatter-adds take 50.9 ms of every
// step; the largest, `input_scatter_fusion`, takes 50.8 ms and runs at 0.06% of the memory's
// speed". Names of instructions stand in backticks.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_EVIDENCE_SENTENCE_H_
#define XLATRACE_REPORT_EVIDENCE_SENTENCE_H_

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "report/run_view.h"

namespace xlatrace::report {

// `evidence` as run.db stores it. Empty if its first entry has another role than `ops_time`.
// `saves`: ns of a step that the finding claims; where that is more than the time that is named,
// the sentence says where the rest comes from.
std::string EvidenceSentence(const RunView& view, const nlohmann::json& evidence,
                             std::optional<int64_t> saves = std::nullopt);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_EVIDENCE_SENTENCE_H_
