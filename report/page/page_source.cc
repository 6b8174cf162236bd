// SPDX-License-Identifier: Apache-2.0

// Source text around lines with time, from folders that the user named.
//
// A recorded path is searched by its end. For /home/me/train/model.py, the folder's train/model.py
// is tried, then its model.py. No file outside the folders is opened, and no path is followed
// upwards.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "report/page/page_context.h"
#include "report/safe_text.h"

namespace xlatrace::report {
namespace {

using store::Table;

constexpr uint64_t kMaxSourceFileBytes = uint64_t{8} << 20;
constexpr size_t kMaxSourceFileCount = 200;
constexpr int64_t kContextLines = 12;  // Lines before and after.
constexpr size_t kMaxSourceLineBytes = 400;

std::vector<std::string_view> Components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

// The file for a recorded path; empty: not found.
std::string Find(const std::vector<std::string>& folders, std::string_view recorded) {
  const std::vector<std::string_view> parts = Components(recorded);
  if (std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
        return part == "." || part == ".." || part.find('\0') != part.npos;
      })) {
    return {};
  }
  for (size_t first = 0; first < parts.size(); ++first) {
    for (const std::string& folder : folders) {
      std::string path = folder;
      for (size_t i = first; i < parts.size(); ++i) path.append("/").append(parts[i]);
      if (IsRegularFile(path)) return path;
    }
  }
  return {};
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// At most `most` bytes of the file, cut between characters. Bytes that are not UTF-8 are cut
// anywhere.
std::string_view Beginning(std::string_view line, size_t most) {
  if (line.size() <= most) return line;
  const size_t cut = CharacterStart(line, most);
  const bool is_start = (static_cast<unsigned char>(line[cut]) & 0xC0) != 0x80;
  return line.substr(0, is_start ? cut : most);
}

}  // namespace

Status WriteSourceTables(PageContext& page) {
  if (page.options.source_folders.empty()) return {};
  std::map<std::string, std::set<int64_t>> wanted;
  size_t not_found = 0;
  for (const ScopeFigure& source : page.view.sources) {
    if (source.name.empty() || !source.line) continue;
    if (wanted.size() < kMaxSourceFileCount || wanted.contains(source.name)) {
      wanted[source.name].insert(*source.line);
    }
  }
  PageTable table("source_files", page.blocks.strings());
  table.Declare("path:text sha:text first_line");
  const size_t text_column = table.AddBlob("text", "bytes");
  for (const auto& [name, numbers] : wanted) {
    const std::string path = Find(page.options.source_folders, name);
    const auto text = path.empty() ? Result<std::string>("") : ReadFile(path, kMaxSourceFileBytes);
    if (path.empty() || !text) {
      ++not_found;
      continue;
    }
    const std::vector<std::string_view> lines = LinesOf(*text);
    const auto count = static_cast<int64_t>(lines.size());
    const std::string sha = HashText(Hash(*text));
    int64_t next = 1;  // First line that is not in the page yet.
    for (auto number = numbers.begin(); number != numbers.end();) {
      const int64_t first = std::max<int64_t>(next, *number - kContextLines);
      int64_t last = *number;
      while (number != numbers.end() && *number <= last + 2 * kContextLines + 1) last = *number++;
      last = std::min(count, last + kContextLines);
      if (first > last) continue;
      std::string excerpt;
      for (int64_t line = first; line <= last; ++line) {
        std::string_view code = lines[static_cast<size_t>(line - 1)];
        AppendSafeText(excerpt, Beginning(code, kMaxSourceLineBytes), Lines::kKeep);
        if (code.size() > kMaxSourceLineBytes) excerpt += "\u2026";
        excerpt += '\n';
      }
      table.SetText(0, name);
      table.SetText(1, sha);
      table.Set(2, first);
      table.SetBlob(text_column, excerpt);
      table.EndRow();
      next = last + 1;
    }
  }
  page.blocks.WriteChunk(table);
  page.blocks.LeftOut("source_files", static_cast<int64_t>(not_found), 0);
  return {};
}

}  // namespace xlatrace::report
