"use strict";
// Draws the charts of a run's report. A run's series are arrays of [step, epoch, seconds, value].
(() => {
  const { data, color, css, faint, short, percent, logText, theme } = page;

  const axes = {
    step: { column: 0, title: "step" },
    epoch: { column: 1, title: "epoch" },
    time: { column: 2, title: "training time in seconds" },
  };
  let axis = "step";

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

  // Where each rank's training time went.
  const rankTimes = () => data.runs.flatMap((run) => run.ranks.map((rank) => ({
    ...rank, name: data.runs.length > 1 ? `${run.label} · rank ${rank.rank}` : `rank ${rank.rank}`,
  })));

  page.chartOf = (canvas) => {
    if (canvas.dataset.chart === "seconds") return page.timeBars(canvas, rankTimes(), "seconds", (value) => `${short(value)} s`);
    const lines = linesOf(canvas);
    return { type: "line", data: { datasets: lines }, options: lineOptions(canvas, lines) };
  };

  document.querySelectorAll("[data-axis]").forEach((button) => button.addEventListener("click", () => {
    axis = button.dataset.axis;
    page.press(button);
    page.draw();
  }));
})();
