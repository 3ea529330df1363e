#include "report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/html.h"

namespace hocket {
namespace {

constexpr const char* kMissing = "–";

using Format = std::string (*)(double);

std::string percent(double value) { return fmt::format("{:.2f} %", 100 * value); }

std::string plain(double value) { return fmt::format("{:.4g}", value); }

std::string seconds(double value) {
  if (value < 120) return fmt::format("{:.4g} s", value);
  const auto whole = static_cast<std::int64_t>(std::min(std::round(value), 1e15));
  if (whole < 7200) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string count(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0);
       at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string bytes(double value) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

struct Figure {
  const char* key;
  const char* name;
  Format format;
};

constexpr std::array<Figure, 10> kFigures{{{"test_accuracy", "Test accuracy", percent},
                                           {"best_test_accuracy", "Best test accuracy", percent},
                                           {"test_loss", "Test loss", plain},
                                           {"time_to_target", "Time to target", seconds},
                                           {"train_seconds", "Training time", seconds},
                                           {"samples_per_second", "Samples per second", count},
                                           {"steps", "Steps", count},
                                           {"parameters", "Parameters", count},
                                           {"bubble_fraction", "Bubble", percent},
                                           {"peak_rss_bytes", "Peak memory", bytes}}};

std::string show(const RunData& run, const Figure& figure) {
  const auto value = run.find_number(figure.key);
  return value && std::isfinite(*value) ? figure.format(*value) : kMissing;
}

std::string run_heads(std::span<const RunData> runs) {
  if (runs.size() == 1) return "<th>value</th>";
  std::string html;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    html += fmt::format(R"(<th><span class="swatch" data-swatch="{}"></span>{}</th>)", i,
                        escape_html(runs[i].label));
  }
  return html;
}

bool all_equal(const std::vector<std::string>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

const SettingText* find_setting(const RunData& run, const std::string& key) {
  const auto it =
      std::find_if(run.settings.begin(), run.settings.end(), [&](const auto& s) { return s.key == key; });
  return it != run.settings.end() ? &*it : nullptr;
}

// The keys of all runs, each once, in order of first appearance.
template <typename Items, typename KeyOf>
std::vector<std::string> keys_of(std::span<const RunData> runs, Items RunData::*items, KeyOf key_of) {
  std::vector<std::string> keys;
  for (const RunData& run : runs) {
    for (const auto& item : run.*items) {
      if (std::find(keys.begin(), keys.end(), key_of(item)) == keys.end()) keys.push_back(key_of(item));
    }
  }
  return keys;
}

}  // namespace

std::string render_cards(const RunData& run) {
  std::string html = "<div class=\"cards\">\n";
  for (const Figure& figure : kFigures) {
    const std::string value = show(run, figure);
    if (value == kMissing) continue;
    html += fmt::format(R"(<div class="card"><div class="name">{}</div><div class="value">{}</div></div>)",
                        figure.name, value);
    html += '\n';
  }
  return html + "</div>\n";
}

std::string render_comparison(std::span<const RunData> runs) {
  std::string html = "<h2>Runs</h2>\n<div class=\"table\"><table>\n<thead><tr><th>run</th><th>way</th>";
  for (const Figure& figure : kFigures) html += fmt::format("<th class=\"number\">{}</th>", figure.name);
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunData& run = runs[i];
    html += fmt::format(
        R"(<tr><th><span class="swatch" data-swatch="{}"></span>{}</th><td class="way">{}, {} × {}{}</td>)",
        i, escape_html(run.label), escape_html(run.find_summary("model").value_or("?")),
        escape_html(run.find_summary("workers").value_or("?")),
        escape_html(run.find_summary("sync").value_or("?")),
        run.is_emulated() ? " <span class=\"badge warn\">emulated</span>" : "");
    for (const Figure& figure : kFigures)
      html += fmt::format("<td class=\"number\">{}</td>", show(run, figure));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string render_rank_table(std::span<const RunData> runs) {
  std::string rows;
  for (const RunData& run : runs) {
    if (run.ranks.size() < 2) continue;
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      const RankTimes& times = run.ranks[rank];
      rows +=
          fmt::format("<tr><th>{}rank {}</th>", runs.size() > 1 ? escape_html(run.label) + " · " : "", rank);
      for (const double seconds :
           {times.compute, times.communication, times.exposed, times.wait, times.other})
        rows += fmt::format("<td class=\"number\">{:.3f}</td>", seconds);
      rows += "</tr>\n";
    }
  }
  if (rows.empty()) return "";
  return "<h2>Seconds of each rank</h2>\n<div class=\"table\"><table>\n<thead><tr><th>rank</th>"
         "<th class=\"number\">compute</th><th class=\"number\">communication</th>"
         "<th class=\"number\">waiting for it</th><th class=\"number\">waiting for data</th>"
         "<th class=\"number\">other</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string render_summary_table(std::span<const RunData> runs) {
  const auto keys = keys_of(runs, &RunData::summary, [](const auto& item) { return item.first; });
  if (keys.empty()) return "";
  std::string html = "<h2>Summary</h2>\n<div class=\"table\"><table>\n<thead><tr><th>key</th>" +
                     run_heads(runs) + "</tr></thead>\n<tbody>\n";
  for (const std::string& key : keys) {
    std::vector<std::string> values;
    for (const RunData& run : runs) values.push_back(run.find_summary(key).value_or(kMissing));
    html += fmt::format("<tr{}><th>{}</th>", all_equal(values) ? "" : " class=\"differs\"", escape_html(key));
    for (const std::string& value : values)
      html += fmt::format("<td><code>{}</code></td>", escape_html(value));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string render_settings_table(std::span<const RunData> runs) {
  const auto keys = keys_of(runs, &RunData::settings, [](const auto& item) { return item.key; });
  if (keys.empty()) return "";
  std::string html = "<h2>Settings</h2>\n<div class=\"table\"><table>\n<thead><tr><th>key</th>" +
                     run_heads(runs) + (runs.size() == 1 ? "<th>from</th>" : "") + "</tr></thead>\n<tbody>\n";
  for (const std::string& key : keys) {
    std::vector<std::string> values;
    std::string cells;
    for (const RunData& run : runs) {
      const SettingText* setting = find_setting(run, key);
      values.push_back(setting != nullptr ? setting->value : kMissing);
      const std::string origin = setting != nullptr ? escape_html(setting->origin) : "";
      const char* form = runs.size() == 1 ? "<td><code>{}</code></td><td>{}</td>"
                                          : "<td><code>{}</code><span class=\"origin\">{}</span></td>";
      cells += fmt::format(fmt::runtime(form), escape_html(values.back()), origin);
    }
    html += fmt::format("<tr{}><th>{}</th>{}</tr>\n", all_equal(values) ? "" : " class=\"differs\"",
                        escape_html(key), cells);
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace hocket
