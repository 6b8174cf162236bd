// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/terminal.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

constexpr int kMinFlexibleWidth = 12;
// Longer names are cut before they are measured: a name of a megabyte costs as much as a line.
constexpr size_t kMaxCellBytes = 4096;

// End of the word that begins at `at`. A line in a cell of a notebook, "cell [3]:7", is one word.
size_t EndOfWord(std::string_view text, size_t at) {
  const size_t end = std::min(text.find(' ', at), text.size());
  if (!text.substr(at, end - at).ends_with("cell")) return end;
  const std::string_view next = text.substr(std::min(end + 1, text.size()));
  if (!next.starts_with('[')) return end;
  const size_t digits_end = std::min(next.find_first_not_of("0123456789", 1), next.size());
  if (digits_end == 1 || !next.substr(digits_end).starts_with(']')) return end;
  return std::min(text.find(' ', end + 1), text.size());
}

}  // namespace

std::string Safe(std::string_view text, bool ascii) {
  std::string out;
  if (text.size() > kMaxCellBytes) {
    out = Printable(text.substr(0, kMaxCellBytes / 2)) + ".." +
          Printable(text.substr(text.size() - kMaxCellBytes / 2));
  } else {
    out = Printable(text);
  }
  if (!ascii) return out;
  std::string plain;
  constexpr std::string_view kTimes = "\u00d7";
  for (size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    if (byte < 0x80) {
      plain += out[i];
    } else if (byte >= 0xC0) {  // One per code point: its first byte.
      plain += std::string_view(out).substr(i).starts_with(kTimes) ? 'x' : '?';
    }
  }
  return plain;
}

std::vector<std::string> TextTable::Lines(int width, bool ascii) const {
  std::vector<std::vector<std::string>> cells;
  cells.emplace_back();
  for (const TextColumn& column : columns_) cells[0].push_back(column.heading);
  for (const auto& row : rows_) {
    auto& safe = cells.emplace_back();
    for (const std::string& cell : row) safe.push_back(Safe(cell, ascii));
    safe.resize(columns_.size());
  }
  std::vector<int> widths(columns_.size(), 0);
  int used = -1;
  size_t shown = 0;
  for (size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : cells) widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    widths[c] = std::min(widths[c], columns_[c].at_most);
    const int needed =
        1 + (columns_[c].flexible ? std::min(widths[c], kMinFlexibleWidth) : widths[c]);
    if (used + needed > width) break;
    used += needed;
    shown = c + 1;
  }
  for (size_t c = 0; c < shown; ++c) {
    if (!columns_[c].flexible) continue;
    const int least = std::min(widths[c], kMinFlexibleWidth);
    widths[c] = std::min(widths[c], least + width - used);
  }
  std::vector<std::string> lines;
  for (const auto& row : cells) {
    std::string line;
    for (size_t c = 0; c < shown; ++c) {
      if (c > 0) line += ' ';
      const TextColumn& column = columns_[c];
      const std::string text = column.path ? ShortPath(row[c], widths[c]) : row[c];
      line += column.right ? FitRight(text, widths[c]) : FitLeft(text, widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> Wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = EndOfWord(text, at);
    std::string word(text.substr(at, end - at));
    at = end + 1;
    if (word.empty()) continue;
    if (DisplayWidth(word) > width) word = FitLeft(word, width);
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string Bar(double part, double whole, int width, bool ascii) {
  if (whole <= 0 || part <= 0 || width <= 0) return {};
  const double columns = std::min(part / whole, 1.0) * width;
  std::string bar;
  if (ascii) {
    const auto full = static_cast<size_t>(std::lround(columns));
    return full == 0 ? "|" : std::string(full, '#');
  }
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = std::max<int64_t>(1, std::llround(columns * 8));
  for (int64_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[static_cast<size_t>(eighths % 8)];
}

}  // namespace xlatrace::report
