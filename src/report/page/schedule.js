"use strict";
// Draws the charts of a replayed trace: a row of page.data.rows is one policy with one slot length.
(() => {
  const { data, color, css, short, percent } = page;
  const rows = data.rows;
  const hours = (value) => `${short(value)} h`;
  const inHours = (seconds) => seconds / 3600;

  const scale = () => ({ grid: { color: css("--grid"), borderColor: css("--line") }, ticks: { color: css("--soft"), maxTicksLimit: 8 } });
  const axis = (spec) => ({
    ...scale(), type: spec.log ? "logarithmic" : "linear", ...(spec.log ? {} : { min: 0 }),
    title: { display: true, text: spec.title, color: css("--soft") },
    ticks: { ...scale().ticks, callback: spec.log ? (value) => (page.logText(value) === "" ? "" : spec.text(value)) : spec.text },
  });

  function lines(series, x, y) {
    return {
      type: "line",
      data: {
        datasets: series.map(({ name, points, stroke }) => ({
          label: name, data: points.map(([a, b]) => ({ x: a, y: b })), borderColor: stroke, backgroundColor: stroke,
          borderWidth: 2, pointRadius: points.length > 12 ? 0 : 4, tension: 0,
        })),
      },
      options: {
        animation: false, maintainAspectRatio: false, parsing: false, interaction: { mode: "nearest", intersect: false },
        scales: { x: axis(x), y: axis(y) },
        plugins: {
          legend: { labels: { color: css("--ink"), boxWidth: 18, boxHeight: 2 } },
          tooltip: { callbacks: { title: () => "", label: (item) => `${item.dataset.label}: ${x.text(item.parsed.x)}, ${y.text(item.parsed.y)}` } },
        },
      },
    };
  }

  const each = (member) => rows.map((row, i) => ({ name: row.name, points: row[member], stroke: color(i) }));

  // A line for each policy that was tried with several slot lengths.
  function sweep(value, y) {
    const policies = [...new Set(rows.map((row) => row.policy))];
    const series = policies.map((policy, i) => ({
      name: policy, stroke: color(i),
      points: rows.filter((row) => row.policy === policy).sort((a, b) => a.slot - b.slot).map((row) => [row.slot / 60, value(row)]),
    })).filter(({ points }) => points.length > 1);
    return lines(series, { title: "slot length", text: (minutes) => `${short(minutes)} min`, log: true }, y);
  }

  function means() {
    return {
      type: "bar",
      data: { labels: rows.map((row) => row.name), datasets: [{ data: rows.map((row) => inHours(row.mean_completion)), backgroundColor: rows.map((_, i) => color(i)) }] },
      options: {
        animation: false, maintainAspectRatio: false, indexAxis: "y",
        scales: { x: axis({ title: "hours", text: hours }), y: { ...scale(), grid: { display: false }, ticks: { color: css("--soft"), autoSkip: false } } },
        plugins: { legend: { display: false }, tooltip: { callbacks: { label: (item) => hours(item.parsed.x) } } },
      },
    };
  }

  const days = { title: "days", text: short };
  const charts = {
    mean: means,
    completions: () => lines(each("completions").map((one) => ({ ...one, points: one.points.map(([seconds, share]) => [inHours(seconds), share]) })), { title: "completion time", text: hours, log: true }, { title: "share of jobs", text: percent }),
    busy: () => lines(each("busy"), days, { title: "share of all slots", text: percent }),
    waiting: () => lines(each("waiting"), days, { title: "jobs", text: short }),
    response: () => sweep((row) => row.mean_response / 60, { title: "mean", text: (minutes) => `${short(minutes)} min` }),
    useful: () => sweep((row) => row.useful_share, { title: "share", text: percent }),
  };
  page.chartOf = (canvas) => charts[canvas.dataset.chart]();
})();
