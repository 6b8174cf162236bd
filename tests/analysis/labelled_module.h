// SPDX-License-Identifier: Apache-2.0

// A module with its phases and layers, which are looked up by instruction.

#ifndef XLATRACE_TESTS_ANALYSIS_LABELLED_MODULE_H_
#define XLATRACE_TESTS_ANALYSIS_LABELLED_MODULE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "analysis/module_labels.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::analysis {

class LabelledModule {
 public:
  explicit LabelledModule(const std::string& text,
                          model::ModuleRole role = model::ModuleRole::kMain) {
    auto read = hlo::ReadText(std::make_shared<const std::string>(text));
    EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
    if (!read) return;
    module_ = std::move(*read);
    labels_ = LabelModule(module_, role);
  }

  model::Phase PhaseOf(std::string_view name) const { return labels_.instructions[At(name)].phase; }
  std::string LayerOf(std::string_view name) const { return labels_.LayerOf(At(name)); }
  bool Mixed(std::string_view name) const { return labels_.instructions[At(name)].mixed; }

  void ExpectPhase(model::Phase phase, std::initializer_list<const char*> names) const {
    for (const char* name : names) EXPECT_EQ(PhaseOf(name), phase) << name;
  }

  uint32_t At(std::string_view name) const {
    const auto index = model::IndexByName(module_);
    const auto at = index.find(name);
    EXPECT_NE(at, index.end()) << name;
    return at == index.end() ? 0 : at->second;
  }
  const model::HloModule& hlo() const { return module_; }

 private:
  model::HloModule module_;
  ModuleLabels labels_;
};

// HLO text with metadata written short: "  @OP_NAME FILE:LINE" at the end of a line.
inline std::string WithMetadata(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t at = line.find("  @");
    out += line.substr(0, at);
    if (at != line.npos) {
      const std::string_view metadata = line.substr(at + 3);
      const size_t blank = metadata.find(' ');
      const size_t colon = metadata.rfind(':');
      out += ", metadata={op_name=\"" + std::string(metadata.substr(0, blank)) +
             "\" source_file=\"" + std::string(metadata.substr(blank + 1, colon - blank - 1)) +
             "\" source_line=" + std::string(metadata.substr(colon + 1)) + "}";
    }
    out += '\n';
  }
  return out;
}

}  // namespace xlatrace::analysis

#endif  // XLATRACE_TESTS_ANALYSIS_LABELLED_MODULE_H_
