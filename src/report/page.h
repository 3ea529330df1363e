#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// What one page of a report has of its own. `header`, `main` and `footer` are HTML, `data` is JSON that the
// scripts find as page.data; they run after Chart.js and page/page.js.
struct PageParts {
  std::string title;  // Plain text.
  std::string header;
  std::string main;
  std::string footer;
  std::string data;
  std::vector<std::string_view> scripts;
  bool is_live = false;  // Its scripts may ask the server that it came from.
};

// Stands in the header of every page.
inline constexpr std::string_view kThemeButton =
    "<button class=\"alone\" id=\"theme\">light / dark</button>\n";

// One HTML file that holds all it needs: styles, Chart.js, scripts and data. It loads nothing.
std::string render_page(const PageParts& parts);

}  // namespace hocket
