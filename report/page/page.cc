// SPDX-License-Identifier: Apache-2.0
#include "report/page/page.h"

#include <string>

#include "report/page/page_context.h"
#include "report/safe_text.h"
#include "report/summary/summary.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSummaryRows = 100;
constexpr size_t kMaxPageTextBytes = 4096;

// Extremely long names are cut, as everywhere in the page.
void CutTexts(Json& json) {
  if (json.is_string() && json.get_ref<const std::string&>().size() > kMaxPageTextBytes) {
    json = SafeName(json.get_ref<const std::string&>(), kMaxPageTextBytes);
  } else if (json.is_structured()) {
    for (auto& value : json) CutTexts(value);
  }
}

}  // namespace

Status WritePageData(store::RunDb& db, const RunView& view, const PageOptions& options,
                     HtmlWriter& html) {
  SummaryOptions summary;
  summary.rows = kSummaryRows;
  Json json = Json::parse(SummaryJson(view, summary));
  CutTexts(json);
  html.Raw("<script type=\"application/json\" id=\"xlatrace-summary\">");
  html.Raw(ScriptJson(json)).Raw("</script>\n");

  PageBlocks blocks(html);
  PageContext page{.db = db, .view = view, .options = options, .blocks = blocks};
  XLATRACE_TRY(page.steps.Load(db));
  XLATRACE_TRY(WriteRunTables(page));
  XLATRACE_TRY(WriteRankTables(page));
  XLATRACE_TRY(LoadPageOps(page));
  XLATRACE_TRY(LoadPageGaps(page));
  XLATRACE_TRY(LoadPagePath(page));
  XLATRACE_TRY(WriteLaunchTables(page));
  XLATRACE_TRY(WriteTimeTables(page));
  XLATRACE_TRY(WritePathTable(page));
  XLATRACE_TRY(WriteHloTables(page));
  XLATRACE_TRY(WriteOpTables(page));
  XLATRACE_TRY(WriteSourceTables(page));
  XLATRACE_TRY(WriteBaseTables(page));
  WriteProvenanceTables(page);
  XLATRACE_TRY(LoadFindingsMeta(page));
  XLATRACE_TRY(LoadReplayMeta(page));
  blocks.Finish(PageMeta(page));
  return {};
}

}  // namespace xlatrace::report
