// SPDX-License-Identifier: Apache-2.0

// The catalogue of findings: every kind with its question, and every text with its place holders.
//
// A rule reports facts: an id, a variant, a place, and values with names. The texts of a finding
// come from this table only. docs/reference/findings.md has the table of kinds, and
// tests/analysis/findings_catalogue_test.cc compares both.
//
// Thread-safety: constant tables and pure functions.

#ifndef XLATRACE_ANALYSIS_FINDINGS_CATALOGUE_H_
#define XLATRACE_ANALYSIS_FINDINGS_CATALOGUE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace xlatrace::analysis::findings {

// A kind of finding. Markdown is allowed, except "|".
struct FindingKind {
  std::string_view id;         // Stable.
  std::string_view question;   // Answered by the finding with "yes".
  std::string_view condition;  // Required facts, thresholds and their sources.
  std::string_view saves;      // Upper limit of the saving; "-": no saving.
};

// The texts of a finding. "{name}" is replaced by a value of the finding. In titles, "{at}" is
// replaced by the place: " at model.py:88", " in layers/3/mlp", " in fusion.12", or nothing.
struct FindingTexts {
  std::string_view key;    // Id of the kind, or id and variant: "optimizer/fewer".
  std::string_view title;  // Imperative, at most kMaxTitleColumns columns with the values.
  // At most two sentences with at most 20 words each. For JAX or an unknown framework.
  std::string_view action;
  std::string_view check;               // How to verify the effect: one sentence.
  std::string_view in_tensorflow = {};  // `action` for TensorFlow, if it differs.
  std::string_view in_pytorch = {};     // `action` for PyTorch, if it differs.
};

inline constexpr int kMaxTitleColumns = 60;

enum class Framework : uint8_t { kJaxOrUnknown, kTensorFlow, kPyTorch };

using Values = std::map<std::string, std::string, std::less<>>;

// All kinds, in the order of the documentation.
std::span<const FindingKind> Kinds();
// All texts. A variant follows its kind.
std::span<const FindingTexts> AllTexts();

// The texts of a kind, or of its variant. Empty texts of a variant are those of its kind. Empty
// `key`: the kind has no texts.
FindingTexts TextsOf(std::string_view id, std::string_view variant);
std::string_view ActionOf(const FindingTexts& texts, Framework framework);

// Replaces place holders; a place holder without a value is removed.
std::string Fill(std::string_view pattern, const Values& values);
// The same for a title. The longest values are shortened until the title fits. `at`: the place,
// empty or with a preposition ("at model.py:88"). If fewer than 12 columns are left for the place,
// it is removed.
std::string FillTitle(std::string_view pattern, const Values& values, std::string_view at);

// The first known of "at model.py:88", "in layers/3/mlp" and "in fusion.12".
std::string PlaceInTitle(std::string_view source, std::string_view layer, std::string_view op);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_CATALOGUE_H_
