// SPDX-License-Identifier: Apache-2.0
#include "report/page/words_ts.h"

#include <string_view>

#include <fmt/format.h>

#include "analysis/kernel_class.h"
#include "model/words.h"
#include "report/shown_words.h"
#include "report/word_tables.h"

namespace xlatrace::report {
namespace {

// Sentences hold quotes of neither kind but apostrophes.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted += '\'';
}

// What is written for words that are not called as in run.db.
template <typename Enum, typename Words>
std::string WordTable(std::string_view name, Words words) {
  std::string out = fmt::format("export const {}: Record<string, string> = words({{\n", name);
  for (const std::string_view word : model::Texts<Enum>()) {
    if (words(word) != word) out += fmt::format("  {}: {},\n", word, Quoted(words(word)));
  }
  return out += "});\n";
}

std::string WordTable(std::string_view name, std::span<const ShownWord> table) {
  std::string out = fmt::format("export const {}: Record<string, string> = words({{\n", name);
  for (const auto& [word, text] : table) out += fmt::format("  {}: {},\n", word, Quoted(text));
  return out += "});\n";
}

// `export const PHASES = ['forward', ...] as const;`
template <typename Order>
std::string WordList(std::string_view name, const Order& order) {
  std::string out = fmt::format("export const {} = [", name);
  for (const auto value : order) out += fmt::format("\n  {},", Quoted(Text(value)));
  return out += "\n] as const;\n";
}

// Phases are parts of a step, and the first of these.
std::string PartList() {
  std::string out = "export const PARTS = [\n  ...PHASES,";
  for (const model::StepPart part : kPartOrder) {
    if (model::PhaseFromText(Text(part))) continue;
    out += fmt::format("\n  {},", Quoted(Text(part)));
  }
  return out += "\n] as const;\n";
}

// What is written for parts of a step that are not called as in run.db.
std::string PartTable() {
  std::string out = "export const PART_WORDS: Record<string, string> = words({\n";
  for (const model::StepPart part : kPartOrder) {
    if (PartWords(part) == Text(part)) continue;
    out += fmt::format("  {}: {},\n", Text(part), Quoted(PartWords(part)));
  }
  return out += "});\n";
}

// Letters by the name of the colour: phases, and what is not computation.
std::string LetterTable() {
  std::string out = "export const LETTER = {\n";
  for (const model::StepPart part : kPartOrder) {
    out += fmt::format("  {}: {},\n", PartColor(part), Quoted(PartLetter(part)));
  }
  return out += "};\n";
}

// Kernels in two classes, as figures of ranks divide them.
std::string ClassTable() {
  using analysis::KernelClass;
  const ShownWord classes[] = {{"gemm", analysis::Text(KernelClass::kProduct)},
                               {"other", analysis::Text(KernelClass::kOther)}};
  return WordTable("CLASS_WORDS", classes);
}

}  // namespace

std::string WordsTypeScript() {
  return "// Made by report/page/words_ts.cc; not to be changed by hand.\n\n"
         "// A table without the names that every object has: data may hold the word constructor.\n"
         "const words = (entries: Record<string, string>): Record<string, string> =>\n"
         "  Object.assign(Object.create(null) as object, entries);\n\n" +
         WordList("PHASES", kPhaseOrder) + "export type Phase = (typeof PHASES)[number];\n" +
         PartList() + "export type Part = (typeof PARTS)[number];\n" + LetterTable() +
         "export type Hue = keyof typeof LETTER;\n" + PartTable() +
         WordTable("SHORT_PHASES", ShortPhaseTable()) +
         WordTable<model::OpKind>("KIND_WORDS",
                                  [](std::string_view w) { return KindWords(w, false); }) +
         WordTable<model::Evidence>("EVIDENCE_WORDS", EvidenceWords) +
         WordTable<model::Reason>("REASON_WORDS", ReasonWords) +
         WordTable<model::GapCause>("CAUSE_WORDS", CauseWords) +
         WordTable("LIMITER_WORDS", LimiterTable()) + WordTable("BASIS_WORDS", BasisTable()) +
         WordTable("SOURCE_WORDS", SourceTable()) + WordTable("DEVICE_WORDS", DeviceTable()) +
         WordTable("PATH_WORDS", PathTable()) + WordTable("MEMORY_WORDS", MemoryTable()) +
         WordTable("LIVE_WORDS", LiveTable()) + WordTable("PLACE_WORDS", PlaceTable()) +
         ClassTable();
}

}  // namespace xlatrace::report
