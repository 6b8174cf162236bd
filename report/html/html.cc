// SPDX-License-Identifier: Apache-2.0
#include "report/html/html.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/html/html_parts.h"
#include "report/html/html_writer.h"
#include "report/page/page_css.h"
#include "report/page/page_script.h"
#include "report/shown_words.h"
#include "report/trust.h"

namespace xlatrace::report {
namespace {

// The marker precedes all text from the run, so that the first bytes identify the page.
constexpr std::string_view kOpening = "<!doctype html>\n<!-- xlatrace report ";
constexpr int kFormatVersion = 1;

void WriteHead(HtmlWriter& html, const RunView& view, const AnswerText& answer, bool scripts) {
  html.Raw(kOpening).Raw(fmt::format("{} -->\n", kFormatVersion));
  // Forbids loads of any kind and all scripts except ours, so the page cannot send data.
  html.Raw(
      "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; ");
  if (scripts) {
    html.Raw("script-src " + ScriptHashes() + "; img-src data: blob:; worker-src blob:; ");
  }
  html.Raw(
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<meta name=\"generator\" content=\"xlatrace " XLATRACE_VERSION "\">\n<title>");
  html.Text(view.title + ": " + PlainText(answer.first)).Raw("</title>\n");
  if (scripts) html.Raw("<script>").Raw(ThemeScript()).Raw("</script>\n");
  html.Raw("<style id=\"xlatrace-static-css\">\n").Raw(kPageCss).Raw("</style></head>\n<body>\n");
}

void Separator(HtmlWriter& html) { html.Raw("<span class=\"sep\"></span>"); }

void WriteBadges(HtmlWriter& html, const RunView& view) {
  if (const Attributed words = AttributedWords(view); !words.text.empty()) {
    html.Raw("<a class=\"badge ")
        .Raw(words.tone())
        .Raw("\" href=\"#run\" title=\"")
        .Text(words.why)
        .Raw("\">")
        .Text(words.text + words.of)
        .Raw("</a>");
  }
  html.Raw(
      fmt::format("<a class=\"badge {}\" href=\"#stats\" title=\"records that the run has "
                  "lost\">lost {}</a>",
                  view.losses.may_lack() ? "bad" : "plain", view.losses.Text()));
  const auto notices = std::count_if(view.stats.begin(), view.stats.end(), [](const auto& stat) {
    return stat.severity == model::Severity::kNotice;
  });
  if (view.errors > 0) {
    html.Raw(fmt::format("<a class=\"badge bad\" href=\"#stats\">{} {}</a>", view.errors,
                         view.errors == 1 ? "error" : "errors"));
  }
  if (notices > 0) {
    html.Raw(fmt::format("<a class=\"badge warn\" href=\"#stats\">{} {}</a>", notices,
                         notices == 1 ? "notice" : "notices"));
  }
}

void WriteHeader(HtmlWriter& html, const RunView& view) {
  html.Raw(
      "<header class=\"top\"><div class=\"facts\"><span class=\"logo\"><i>xla</i>trace</span>"
      "<b class=\"trunc\" title=\"");
  html.Text(view.command).Raw("\">").Text(view.title).Raw("</b>");
  if (!view.devices.empty()) {
    Separator(html);
    html.Raw("<span class=\"trunc\">").Text(view.DeviceText()).Raw("</span>");
    if (const std::string rank = view.RankText(); !rank.empty()) {
      Separator(html);
      html.Raw("<span>").Text(rank).Raw("</span>");
    }
  }
  if (const ModuleFigure* main = view.MainModule()) {
    Separator(html);
    html.Raw("<code class=\"trunc\">").Text(main->name).Raw("</code>");
  }
  Separator(html);
  const auto recorded = static_cast<int64_t>(view.steps.all.size());
  html.Raw(view.StepsAreJobs()
               ? fmt::format("<span>{} steps of the job</span>", Thousands(view.job.steps))
           : view.basis.steady
               ? fmt::format("<span>{} of {} steps</span>", Thousands(view.steps.steady_count),
                             Thousands(recorded))
               : fmt::format("<span>{} {}, none steady</span>", Thousands(recorded),
                             recorded == 1 ? "step" : "steps"));
  if (!view.framework.empty() || !view.source.empty()) {
    Separator(html);
    html.Raw("<span class=\"dim trunc\">");
    std::string facts = view.framework;
    for (const std::string* fact : {&view.source, &view.date}) {
      if (!fact->empty()) facts += (facts.empty() ? "" : ", ") + *fact;
    }
    html.Text(facts);
    html.Raw("</span>");
  }
  html.Raw("<span class=\"sp\"></span>");
  WriteBadges(html, view);
  html.Raw(
      "<span class=\"theme\" role=\"radiogroup\" aria-label=\"Colours\">"
      "<input type=\"radio\" name=\"theme\" id=\"theme-auto\" checked>"
      "<label for=\"theme-auto\">auto</label>"
      "<input type=\"radio\" name=\"theme\" id=\"theme-light\">"
      "<label for=\"theme-light\">light</label>"
      "<input type=\"radio\" name=\"theme\" id=\"theme-dark\">"
      "<label for=\"theme-dark\">dark</label></span></div>\n"
      "<nav class=\"tabs\"><a href=\"#verdict\"><small>1</small>Verdict</a>"
      "<a href=\"#model\"><small>2</small>Model</a><a href=\"#ops\"><small>3</small>Ops</a>"
      "<a href=\"#source\"><small>4</small>Source</a>"
      "<a href=\"#run\"><small>5</small>Run</a><span class=\"basis\">");
  if (view.StepsAreJobs()) {
    html.Text(fmt::format("times are totals of the launches of {}", KeptWords(view.job)));
  } else {
    html.Raw(view.basis.steady
                 ? "times are ms per step of one device, mean over typical steps and devices"
                 : "no typical step: times are totals of the whole run, all devices");
  }
  html.Raw("</span></nav></header>\n");
}

void WriteBanners(HtmlWriter& html, const RunView& view) {
  std::string open = "<div class=\"banner\">";
  const auto note = [&](std::string_view kind, std::string_view text) {
    html.Raw(open).Raw(fmt::format("<p class=\"note {}\">", kind)).Text(text).Raw("</p>");
    open.clear();
  };
  if (view.OnFakeGpu()) {
    note("bad", "Recorded on the fake GPU of xlatrace's tests: no time here is a real device's.");
  }
  if (view.IsPartial()) {
    note(
        "warn",
        "The program was still running: this is the part of the run that was recorded by then. The "
        "same command again takes in what has come since.");
  }
  const std::vector<std::string> ends = view.losses.Sentences();
  for (size_t i = 0; i < std::min<size_t>(ends.size(), 2); ++i) note("warn", ends[i] + ".");
  size_t shown = 0;
  for (const StatFigure& stat : view.stats) {
    if (stat.severity < model::Severity::kDataLoss || shown++ == 3) break;
    note(stat.severity == model::Severity::kError ? "bad" : "warn",
         fmt::format("{} {}{}{}", Thousands(stat.value), stat.name, stat.advice.empty() ? "" : ": ",
                     stat.advice));
  }
  if (open.empty()) html.Raw("</div>\n");
}

void WriteStaticPart(HtmlWriter& html, const RunView& view, const AnswerText& answer) {
  html.Raw("<div id=\"xlatrace-static\">\n");
  WriteHeader(html, view);
  html.Raw("<main>\n");
  WriteBanners(html, view);
  WriteVerdictSection(html, view, answer);
  WriteModelSection(html, view);
  WriteOpsSection(html, view);
  WriteSourceSection(html, view);
  WriteRunSection(html, view);
  html.Raw("</main></div>\n");
}

}  // namespace

Status WriteHtml(store::RunDb& db, const RunView& view, const PageOptions& options,
                 const HtmlOutput& out) {
  HtmlWriter html(out);
  const AnswerText answer = TextOf(view);
  WriteHead(html, view, answer, /*scripts=*/true);
  WriteStaticPart(html, view, answer);
  html.Raw("<div id=\"xlatrace-app\"></div>\n<script>").Raw(AppScript()).Raw("</script>\n");
  XLATRACE_TRY(WritePageData(db, view, options, html));
  html.Raw("</body></html>\n");
  return html.Finish();
}

Status WriteStaticHtml(const RunView& view, const HtmlOutput& out) {
  HtmlWriter html(out);
  const AnswerText answer = TextOf(view);
  WriteHead(html, view, answer, /*scripts=*/false);
  WriteStaticPart(html, view, answer);
  html.Raw("</body></html>\n");
  return html.Finish();
}

bool IsOurReport(std::string_view head) { return head.starts_with(kOpening); }

}  // namespace xlatrace::report
