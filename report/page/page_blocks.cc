// SPDX-License-Identifier: Apache-2.0
#include "report/page/page_blocks.h"

#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/compress.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kFullBlock = size_t{1} << 20;  // Before compression.

}  // namespace

std::string ScriptJson(const Json& json) {
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {  // JSON has '<' in strings only.
    c == '<' ? out.append("\\u003c") : out.append(1, c);
  }
  return out;
}

void PageBlocks::Emit(size_t number, const std::string& bytes, bool lazy) {
  html_.Raw(
      fmt::format("<script type=\"application/octet-stream\" id=\"xlatrace-block-{}\">", number));
  html_.Raw(Base64(GzipCompress(bytes))).Raw("</script>\n");
  blocks_.push_back({{"block", number}, {"bytes", bytes.size()}, {"lazy", lazy}});
}

void PageBlocks::FlushShared() {
  if (shared_.empty()) return;
  Emit(shared_number_, shared_, /*lazy=*/false);
  shared_.clear();
}

void PageBlocks::Write(const PageTable& table) {
  if (table.empty()) return;
  if (shared_.empty()) shared_number_ = next_number_++;
  Json columns = table.Encode(shared_);
  tables_[table.name()] = {
      {"rows", table.rows()}, {"block", shared_number_}, {"columns", std::move(columns)}};
  if (shared_.size() >= kFullBlock) FlushShared();
}

void PageBlocks::WriteChunk(const PageTable& chunk, const Json& more) {
  if (chunk.empty()) return;
  std::string bytes;
  const size_t number = next_number_++;
  Json json{{"rows", chunk.rows()}, {"block", number}, {"columns", chunk.Encode(bytes)}};
  json.update(more);
  Emit(number, bytes, /*lazy=*/true);
  Json& table = tables_[chunk.name()];
  if (table.is_null()) table = Json::object();
  table["rows"] = table.value("rows", size_t{0}) + chunk.rows();
  table["chunks"].push_back(std::move(json));
}

void PageBlocks::LeftOut(std::string_view what, int64_t rows, int64_t ns) {
  if (rows > 0) left_out_.push_back({{"what", what}, {"rows", rows}, {"ns", ns}});
}

void PageBlocks::Finish(Json meta) {
  PageTable strings("strings");
  const size_t text = strings.AddBlob("text", "bytes");
  for (const std::string& s : strings_.texts()) {
    strings.SetBlob(text, s);
    strings.EndRow();
  }
  Write(strings);
  FlushShared();
  meta["left_out"] = std::move(left_out_);
  const Json index{{"format", {{"major", kPageFormatMajor}, {"minor", kPageFormatMinor}}},
                   {"meta", std::move(meta)},
                   {"blocks", std::move(blocks_)},
                   {"tables", std::move(tables_)}};
  html_.Raw("<script type=\"application/json\" id=\"xlatrace-index\">");
  html_.Raw(ScriptJson(index)).Raw("</script>\n");
}

}  // namespace xlatrace::report
