#include "tools/unknown_command.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/file.h"
#include "store/run_db_mark.h"

namespace xlatrace::tools {
namespace {

// Letters to insert, remove or replace (Levenshtein).
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// Words of other tools for what is done otherwise here.
std::string KnownElsewhere(std::string_view word) {
  if (word == "diff" || word == "compare") {
    return "two runs side by side: xlatrace report new.db --base base.db";
  }
  if (word == "profile" || word == "run" || word == "trace" || word == "launch") {
    return "xlatrace record -- python train.py";
  }
  if (word == "stats" || word == "analyze" || word == "top") return "xlatrace summary run.db";
  if (word == "sql") return "xlatrace query run.db SQL";
  return {};
}

}  // namespace

Error UnknownCommand(const std::vector<std::string>& words,
                     const std::vector<std::string>& commands) {
  const std::string& word = words.front();
  Error error{fmt::format("there is no command '{}'", word), "xlatrace --help", ErrorCode::kUsage};
  if (const std::string known = KnownElsewhere(word); !known.empty()) {
    error.hint = known;
  } else if (store::LooksLikeRunDb(word)) {
    error.hint = "xlatrace summary " + word;
  } else if (Exists(word)) {
    error.hint = fmt::format("to import a trace: xlatrace import {}", word);
  } else if (word.starts_with("python")) {
    error.hint = "xlatrace record -- python train.py";
  } else if (word.size() >= 3 && word.size() <= 20) {
    const auto nearest = std::min_element(commands.begin(), commands.end(),
                                          [&](const std::string& a, const std::string& b) {
                                            return Distance(word, a) < Distance(word, b);
                                          });
    if (nearest != commands.end() && Distance(word, *nearest) <= 2) {
      error.hint = fmt::format("xlatrace {}", *nearest);
      for (size_t i = 1; i < words.size() && i < 8; ++i) error.hint += " " + words[i];
    }
  }
  return error;
}

}  // namespace xlatrace::tools
