// The content security policy lets only the scripts with this page's random number run and nothing load, so
// even text that slipped through unescaped stays dead.

#include "report/page.h"

#include <fmt/format.h>

#include <random>

#include "report/chart_js.h"
#include "report/html.h"
#include "report/page_js.h"
#include "report/report_css.h"
#include "report/start_js.h"

namespace hocket {
namespace {

std::string random_number() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

std::string render_page(const PageParts& parts) {
  const std::string nonce = random_number();
  std::string html =
      fmt::format(R"(<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}';{3} base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{1} · Hocket</title>
<style nonce="{0}">
{2}</style>
</head>
<body>
)",
                  nonce, escape_html(parts.title), kReportCss, parts.is_live ? " connect-src 'self';" : "");
  html += "<header>\n" + parts.header + "</header>\n";
  if (parts.is_live) html += "<p class=\"notice trouble\" id=\"trouble\" hidden></p>\n";
  html += "<main>\n" + parts.main + "</main>\n";
  html += "<footer>" + parts.footer + "</footer>\n";
  html += "<script type=\"application/json\" id=\"data\">" + escape_json_for_html(parts.data) + "</script>\n";
  std::vector<std::string_view> scripts{kChartJs, kPageJs};
  scripts.insert(scripts.end(), parts.scripts.begin(), parts.scripts.end());
  scripts.push_back(kStartJs);
  for (const std::string_view script : scripts) {
    html += fmt::format("<script nonce=\"{}\">{}</script>\n", nonce, script);
  }
  return html + "</body>\n</html>\n";
}

}  // namespace hocket
