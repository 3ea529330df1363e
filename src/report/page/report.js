"use strict";
// Draws the charts of a report from the JSON in #data. All text from runs reaches the page as text, never as HTML.
// A run's series are arrays of [step, epoch, seconds, value].
const report = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const charts = [];

  // Okabe and Ito's palette, which eyes with a colour deficiency tell apart; a brighter order on dark pages.
  const palettes = {
    light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#6b7280"],
    dark: ["#56b4e9", "#e69f00", "#2cc79b", "#e29ac4", "#f0e442", "#ff8a4c", "#b79be0", "#a0aab4"],
  };
  const kinds = { compute: 0, data: 4, communication: 2, wait: 7, eval: 3, checkpoint: 1, other: 7 };
  const axes = {
    step: { column: 0, title: "step" },
    epoch: { column: 1, title: "epoch" },
    time: { column: 2, title: "training time in seconds" },
  };
  let axis = "step";

  const theme = () => root.dataset.theme;
  const color = (index) => palettes[theme()][index % 8];
  const kindColor = (kind) => color(kinds[kind] ?? 6);
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const faint = (hex) => hex + "48";

  // The shade of layer `index` of `count`, from dark (first) to bright (last).
  const ramp = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
  function shade(index, count) {
    const [first, last] = theme() === "dark" ? [0.32, 1] : [0, 0.9];
    const at = (first + (last - first) * (count > 1 ? index / (count - 1) : 0)) * (ramp.length - 1);
    const low = Math.min(Math.floor(at), ramp.length - 2);
    const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
    const mix = (i) => Math.round(part(ramp[low], i) + (part(ramp[low + 1], i) - part(ramp[low], i)) * (at - low));
    return `rgb(${[0, 1, 2].map(mix).join(",")})`;
  }

  const points = (series) => series.map((row) => ({ x: row[axes[axis].column], y: row[3] }));

  function line(text, series, stroke, extra = {}) {
    const label = text.length > 48 ? `${text.slice(0, 47)}…` : text;
    return {
      label, data: points(series), borderColor: stroke, backgroundColor: stroke, borderWidth: 2, pointRadius: 0,
      pointHitRadius: 6, tension: 0, source: series, ...extra,
    };
  }

  // The lines of one metric: training thin, with what it is smoothed from behind it; held-out sets with points.
  function metricLines(metric) {
    const lines = [];
    data.runs.forEach((run, index) => {
      const several = data.runs.length > 1;
      const name = (what) => (several ? `${run.label} · ${what}` : what);
      const raw = run.series[`train/${metric}`];
      const smooth = run.series[`smooth/${metric}`];
      const stroke = color(several ? index : 0);
      if (raw && smooth) {
        lines.push(line(name("train"), smooth, stroke));
        lines.push(line("", raw, faint(stroke), { borderWidth: 1, pointHitRadius: 0, order: 1 }));
      } else if (raw) {
        lines.push(line(name("train"), raw, stroke, { pointRadius: raw.length < 3 ? 3 : 0 }));
      }
      Object.keys(run.series).filter((key) => key.startsWith("eval/") && key.endsWith(`/${metric}`)).forEach((key, i) => {
        const held = color(several ? index : i + 1);
        const style = { pointRadius: 3, borderDash: several ? [6, 4] : [] };
        lines.push(line(name(key.split("/")[1]), run.series[key], held, style));
      });
    });
    return lines;
  }

  function layerLines(run) {
    const few = run.layers.length <= 14;
    return run.layers.map((layer, i) =>
      line(layer.name, layer.points, shade(i, run.layers.length), { borderWidth: 1.5, unlisted: !few }));
  }

  function targetLine(lines) {
    const target = data.runs.map((run) => run.target).find((value) => value !== null);
    const all = lines.flatMap((each) => each.source);
    if (target === undefined || all.length === 0) return [];
    const ends = [all.reduce((a, b) => (a[2] < b[2] ? a : b)), all.reduce((a, b) => (a[2] > b[2] ? a : b))];
    const series = ends.map((row) => [row[0], row[1], row[2], target]);
    return [line("target", series, css("--soft"), { borderWidth: 1, borderDash: [2, 3] })];
  }

  function linesOf(canvas) {
    if (canvas.dataset.chart === "layers") return layerLines(data.runs[Number(canvas.dataset.run)]);
    const lines = metricLines(canvas.dataset.chart);
    return canvas.dataset.chart === "accuracy" ? lines.concat(targetLine(lines)) : lines;
  }

  const short = (value) => {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 1e9 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(4)} M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(4)} k`;
    return String(+value.toPrecision(5));
  };
  // On a logarithmic scale only 1, 2 and 5 of each decade have a label.
  const logText = (value) => ("125".includes(value.toExponential()[0]) && /^\d(e|$)/.test(value.toExponential()) ? short(value) : "");
  const percent = (value) => `${+(100 * value).toFixed(2)} %`;

  // A share lies between 0 and 1, also where there is only one point to see.
  function shareRange(lines) {
    const values = lines.flatMap((each) => each.source.map((row) => row[3])).filter((value) => value !== null);
    return { suggestedMin: Math.max(0, Math.min(...values) - 0.05), suggestedMax: Math.min(1, Math.max(...values) + 0.05) };
  }

  function lineOptions(canvas, lines) {
    const text = canvas.dataset.unit === "%" ? percent : short;
    const isLog = canvas.dataset.scale === "logarithmic";
    const listed = lines.filter((each) => each.label !== "" && !each.unlisted);
    const scale = { grid: { color: css("--grid"), borderColor: css("--line") }, ticks: { color: css("--soft"), maxTicksLimit: 8 } };
    return {
      animation: false, maintainAspectRatio: false, parsing: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      scales: {
        x: { ...scale, type: "linear", bounds: "data", beginAtZero: true, title: { display: true, text: axes[axis].title, color: css("--soft") } },
        y: {
          ...scale, type: isLog ? "logarithmic" : "linear", beginAtZero: "zero" in canvas.dataset,
          ticks: { ...scale.ticks, callback: isLog ? logText : text },
          ...(canvas.dataset.unit === "%" ? shareRange(lines) : {}),
        },
      },
      plugins: {
        legend: {
          display: listed.length > 1 || (listed.length === 1 && listed[0].label !== "train"),
          labels: {
            color: css("--ink"), boxWidth: 18, boxHeight: 2,
            filter: (item, chart) => item.text !== "" && !chart.datasets[item.datasetIndex].unlisted,
          },
        },
        tooltip: {
          filter: (item) => item.dataset.label !== "",
          callbacks: {
            title: (items) => (items.length ? `${axes[axis].title} ${short(items[0].parsed.x)}` : ""),
            label: (item) => `${item.dataset.label}: ${text(item.parsed.y)}`,
          },
        },
      },
    };
  }

  // Where each rank's training time went, as stacked bars.
  function barsOf() {
    const rows = data.runs.flatMap((run) => run.ranks.map((rank) => ({
      ...rank, name: data.runs.length > 1 ? `${run.label} · rank ${rank.rank}` : `rank ${rank.rank}`,
    })));
    const parts = ["compute", "communication", "wait", "other"].filter((part) => rows.some((row) => row[part] > 0));
    return {
      labels: rows.map((row) => row.name),
      datasets: parts.map((part) => ({
        label: part, data: rows.map((row) => row[part]), backgroundColor: part === "other" ? css("--line") : kindColor(part),
        barThickness: 20,
      })),
    };
  }

  function barOptions() {
    const scale = { stacked: true, grid: { color: css("--grid"), borderColor: css("--line") }, ticks: { color: css("--soft") } };
    return {
      animation: false, maintainAspectRatio: false, indexAxis: "y",
      scales: {
        x: { ...scale, title: { display: true, text: "seconds", color: css("--soft") } },
        y: { ...scale, grid: { display: false } },
      },
      plugins: {
        legend: { labels: { color: css("--ink"), boxWidth: 12, boxHeight: 12 } },
        tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${short(item.parsed.x)} s` } },
      },
    };
  }

  function draw() {
    charts.splice(0).forEach((chart) => chart.destroy());
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    document.querySelectorAll("canvas[data-chart]").forEach((canvas) => {
      if (canvas.dataset.chart === "seconds") {
        const bars = barsOf();
        canvas.parentElement.style.height = `${90 + 32 * bars.labels.length}px`;
        charts.push(new Chart(canvas, { type: "bar", data: bars, options: barOptions() }));
      } else {
        const lines = linesOf(canvas);
        charts.push(new Chart(canvas, { type: "line", data: { datasets: lines }, options: lineOptions(canvas, lines) }));
      }
    });
    document.querySelectorAll("[data-swatch]").forEach((swatch) => {
      swatch.style.background = color(Number(swatch.dataset.swatch));
    });
    if (report.timeline) report.timeline.draw();
  }

  function setTheme(name) {
    root.dataset.theme = name;
    draw();
  }

  function press(button) {
    button.parentElement.querySelectorAll("button").forEach((other) => other.setAttribute("aria-pressed", other === button));
  }

  function start() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    root.dataset.theme = dark.matches ? "dark" : "light";
    dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
    document.getElementById("theme").addEventListener("click", () => setTheme(theme() === "dark" ? "light" : "dark"));
    document.querySelectorAll("[data-axis]").forEach((button) => button.addEventListener("click", () => {
      axis = button.dataset.axis;
      press(button);
      draw();
    }));
    document.querySelectorAll("[data-set-scale]").forEach((button) => button.addEventListener("click", () => {
      button.closest("figure").querySelector("canvas").dataset.scale = button.dataset.setScale;
      press(button);
      draw();
    }));
    let before = "light";
    addEventListener("beforeprint", () => { before = theme(); setTheme("light"); });
    addEventListener("afterprint", () => setTheme(before));
    draw();
  }

  // With #check in the address each canvas says how many of its pixels are drawn, for tests.
  function check() {
    document.querySelectorAll("canvas").forEach((canvas) => {
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let drawn = 0;
      for (let i = 3; i < pixels.length; i += 4) drawn += pixels[i] > 0;
      canvas.dataset.drawn = drawn;
    });
    root.dataset.checked = "yes";
  }

  return { data, start, check, css, kindColor, short, draw };
})();
