// SPDX-License-Identifier: Apache-2.0

// The sentences and the figures of findings, for tests.

#ifndef XLATRACE_TESTS_ANALYSIS_FINDING_TEXT_H_
#define XLATRACE_TESTS_ANALYSIS_FINDING_TEXT_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/derived.h"

namespace xlatrace::analysis {

// A member of an item of evidence, without quotes if it is a string; empty if it is absent.
inline std::string EvidencePart(const nlohmann::json& item, const char* member) {
  const auto found = item.find(member);
  if (found == item.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// The evidence as lines "TEXT: VALUE UNIT (HANDLE)".
inline std::string EvidenceText(const std::string& evidence_json) {
  std::string text;
  if (evidence_json.empty()) return text;
  for (const auto& item : nlohmann::json::parse(evidence_json)) {
    text += "\n- " + EvidencePart(item, "text") + ": " + EvidencePart(item, "value") + " " +
            EvidencePart(item, "unit");
    const std::string handle = EvidencePart(item, "handle");
    if (!handle.empty()) text += " (" + handle + ")";
  }
  return text;
}

// All sentences of a finding, for golden text.
inline std::string TextOf(const model::FindingRow& row) {
  return row.id + "\n" + row.title + "\n" + row.sentence + "\n" + row.action + "\n" +
         row.how_to_check + EvidenceText(row.evidence_json);
}
inline std::string TextOf(const model::RuledOutRow& row) {
  return row.id + "\n" + row.text + EvidenceText(row.evidence_json);
}

// The figures of the evidence without their sentences: "5000000 ns", "7.40741 %".
inline std::vector<std::string> EvidenceFigures(const std::string& evidence_json) {
  std::vector<std::string> figures;
  for (const auto& item : nlohmann::json::parse(evidence_json)) {
    figures.push_back(EvidencePart(item, "value") + " " + EvidencePart(item, "unit"));
  }
  return figures;
}

}  // namespace xlatrace::analysis

#endif  // XLATRACE_TESTS_ANALYSIS_FINDING_TEXT_H_
