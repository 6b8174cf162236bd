#include "report/page/words_ts.h"

#include <string_view>

#include <fmt/format.h>

#include "model/words.h"
#include "report/shown_words.h"

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

template <typename Enum, typename Words>
std::string WordTable(std::string_view name, Words words) {
  std::string out = fmt::format("export const {}: Record<string, string> = words({{\n", name);
  for (const std::string_view word : model::Texts<Enum>()) {
    out += fmt::format("  {}: {},\n", word, Quoted(words(word)));
  }
  return out += "});\n";
}

}  // namespace

std::string WordsTypeScript() {
  return "// Made from report/shown_words.cc by report/page/words_ts.cc; not to be changed by hand.\n\n"
         "// A table without the names that every object has: data may hold the word constructor.\n"
         "const words = (entries: Record<string, string>): Record<string, string> =>\n"
         "  Object.assign(Object.create(null) as object, entries);\n\n" +
         WordTable<model::OpKind>("KIND_WORDS",
                                  [](std::string_view w) { return KindWords(w, false); }) +
         WordTable<model::Evidence>("EVIDENCE_WORDS", EvidenceWords) +
         WordTable<model::Reason>("REASON_WORDS", ReasonWords) +
         WordTable<model::GapCause>("CAUSE_WORDS", CauseWords);
}

}  // namespace xlatrace::report
