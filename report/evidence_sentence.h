// SPDX-License-Identifier: Apache-2.0

// The cost of a finding's instructions as a sentence: "4 scatter-adds take 50.9 ms of every step;
// the largest, `input_scatter_fusion`, takes 50.8 ms and runs at 0.06% of the memory bandwidth".
// Names of instructions are in backticks.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_EVIDENCE_SENTENCE_H_
#define XLATRACE_REPORT_EVIDENCE_SENTENCE_H_

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "report/run_view.h"

namespace xlatrace::report {

// `evidence`: JSON as stored in run.db. Returns an empty text if the first entry has another role
// than `ops_time`. `saves`: saving of the finding per step in ns. If the saving is larger than the
// time of the instructions, the sentence names the source of the difference.
std::string EvidenceSentence(const RunView& view, const nlohmann::json& evidence,
                             std::optional<int64_t> saves = std::nullopt);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_EVIDENCE_SENTENCE_H_
