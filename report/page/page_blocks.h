// SPDX-License-Identifier: Apache-2.0

// Writes the page's data: tables into gzip blocks, then the index (docs/development/page-data.md).
//
// Full blocks are written at once, so memory besides the tables is one block. Ownership: refers to
// the writer. Errors: stored in the writer. Thread-safety: one thread.

#ifndef XLATRACE_REPORT_PAGE_PAGE_BLOCKS_H_
#define XLATRACE_REPORT_PAGE_PAGE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "report/html/html_writer.h"
#include "report/page/page_table.h"

namespace xlatrace::report {

inline constexpr int kPageFormatMajor = 1;
inline constexpr int kPageFormatMinor = 0;

// JSON for a <script>: no '<', no byte beyond ASCII.
std::string ScriptJson(const nlohmann::ordered_json& json);

class PageBlocks {
 public:
  explicit PageBlocks(HtmlWriter& html) : html_(html) {}
  PageBlocks(const PageBlocks&) = delete;
  PageBlocks& operator=(const PageBlocks&) = delete;

  PageStrings* strings() { return &strings_; }

  // Adds a table that the app decodes at its start. Ignores an empty table.
  void Write(const PageTable& table);
  // Adds a piece of a table as a separate block that the app decodes when it is needed. `more` is
  // added to the entry of the chunk.
  void WriteChunk(const PageTable& chunk,
                  const nlohmann::ordered_json& more = nlohmann::ordered_json::object());
  // Something that a table leaves out: how many rows and how much time.
  void LeftOut(std::string_view what, int64_t rows, int64_t ns);

  // Writes the table of strings, the last block and the index.
  void Finish(nlohmann::ordered_json meta);

 private:
  void Emit(size_t number, const std::string& bytes, bool lazy);
  void FlushShared();

  HtmlWriter& html_;
  PageStrings strings_;
  // The block that small tables share; its number is assigned when the block begins.
  std::string shared_;
  size_t shared_number_ = 0;
  size_t next_number_ = 0;
  nlohmann::ordered_json blocks_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json tables_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json left_out_ = nlohmann::ordered_json::array();
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_PAGE_BLOCKS_H_
