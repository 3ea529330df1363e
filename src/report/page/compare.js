"use strict";
// Draws the charts of a comparison from compare.json: a way is a row of page.data.ways.
(() => {
  const { data, color, css, faint, short, percent } = page;
  const ways = data.ways;
  const rowOf = (label) => ways.find((way) => way.way === label);
  const megabytes = (value) => `${short(value / 1e6)} MB`;
  const error = { title: data.measure, text: data.measure === "test loss" ? short : percent, zero: true };

  const scale = () => ({ grid: { color: css("--grid"), borderColor: css("--line") }, ticks: { color: css("--soft"), maxTicksLimit: 8 } });
  const named = (title) => ({ display: true, text: title, color: css("--soft") });

  // Axes are {title, text, log, zero}.
  function options(x, y, hasLegend = true) {
    const axis = (spec) => ({
      ...scale(), type: spec.log ? "logarithmic" : "linear", ...(spec.zero ? { min: 0 } : {}), title: named(spec.title),
      ticks: { ...scale().ticks, callback: spec.log ? page.logText : spec.text },
    });
    return {
      animation: false, maintainAspectRatio: false, parsing: false, interaction: { mode: "nearest", intersect: false },
      scales: { x: axis(x), y: axis(y) },
      plugins: {
        legend: { display: hasLegend, labels: { color: css("--ink"), boxWidth: 18, boxHeight: 2, filter: (item) => item.text !== "" } },
        tooltip: {
          filter: (item) => item.dataset.label !== "",
          callbacks: {
            title: () => "",
            label: (item) => `${item.dataset.label}: ${x.text(item.parsed.x)}, ${y.text(item.parsed.y)}`,
          },
        },
      },
    };
  }

  function line(label, points, stroke, extra = {}) {
    return {
      label, data: points, borderColor: stroke, backgroundColor: stroke, borderWidth: 2, pointRadius: 2, tension: 0, ...extra,
    };
  }

  // The median of a way over its seeds, between the lowest and the highest of them.
  function curves(x, member) {
    const lines = ways.flatMap((way, i) => {
      const edge = (value) => way.curve.map((point) => ({ x: point[member], y: point[value] }));
      const thin = { borderWidth: 0, pointRadius: 0, pointHitRadius: 0 };
      return [
        line(way.way, edge("error"), color(i)),
        line("", edge("low"), "transparent", thin),
        line("", edge("high"), "transparent", { ...thin, fill: "-1", backgroundColor: faint(color(i)) }),
      ];
    });
    const ends = Math.max(...ways.flatMap((way) => way.curve.map((point) => point[member])));
    if (data.target_error !== null && Number.isFinite(ends)) {
      const target = [{ x: 0, y: data.target_error }, { x: ends, y: data.target_error }];
      lines.push(line("target", target, css("--soft"), { borderWidth: 1, borderDash: [2, 3], pointRadius: 0 }));
    }
    return { type: "line", data: { datasets: lines }, options: options({ ...x, zero: true }, error) };
  }

  // A line for each group of ways that differ in the number of workers alone; it begins with its one worker.
  function byWorkers(value, y, modelledMember) {
    const groups = [...new Set(ways.filter((way) => way.workers > 1).map((way) => way.group))];
    const lines = groups.map((group, i) => {
      const members = ways.filter((way) => way.group === group && way.workers > 1);
      const rows = [rowOf(members[0].baseline), ...members].sort((a, b) => a.workers - b.workers);
      const points = rows.map((way) => ({ x: way.workers, y: value(way) })).filter((point) => point.y !== null);
      return line(group, points, color(i + 1), { pointRadius: 4 });
    });
    const modelled = data.modelled_scaling;
    const dashed = { pointRadius: 2, borderDash: [6, 4] };
    if (modelled !== null) {
      const points = (kind) => modelled[kind].map((point) => ({ x: point.workers, y: point[modelledMember] }));
      lines.push(line("ring, modelled", points("ring"), css("--soft"), dashed));
      lines.push(line("one master, modelled", points("master"), color(7), { ...dashed, borderDash: [2, 3] }));
    }
    const workers = { title: "workers", log: modelled !== null, text: (count) => (Number.isInteger(count) ? String(count) : "") };
    return { type: "line", data: { datasets: lines }, options: options(workers, { ...y, zero: true }) };
  }

  // A line for each way but for its batch.
  function byBatch(value, y) {
    const name = (way) => way.way.replace(/, batch \d+/, "");
    const names = [...new Set(ways.map(name))];
    const lines = names.map((each, i) => {
      const rows = ways.filter((way) => name(way) === each).sort((a, b) => a.batch - b.batch);
      const points = rows.map((way) => ({ x: way.batch, y: value(way) })).filter((point) => point.y !== null);
      return line(each, points, color(i), { pointRadius: 4 });
    });
    return { type: "line", data: { datasets: lines }, options: options({ title: "batch", text: short, log: true }, y) };
  }

  function costs() {
    const dots = ways.map((way, i) => {
      const points = way.cost.whole_run === null || way.best_error === null ? [] : [{ x: way.cost.whole_run, y: way.best_error }];
      return line(way.way, points, color(i), { pointRadius: 6, showLine: false });
    });
    return { type: "line", data: { datasets: dots }, options: options({ title: "cost of a whole run", text: short, zero: true }, { ...error, title: `best ${data.measure}` }) };
  }

  // How many gradients in a hundred had which staleness, of ways that have any.
  function stale() {
    const rows = ways.map((way, i) => ({ way, i })).filter(({ way }) => way.staleness.shares.length > 0);
    const lines = rows.map(({ way, i }) =>
      line(way.way, way.staleness.shares.map((share, staleness) => ({ x: staleness, y: share })), color(i), { pointRadius: 3 }));
    const x = { title: "updates by others since the parameters were read", text: short, zero: true };
    return { type: "line", data: { datasets: lines }, options: options(x, { title: "share of the gradients", text: percent, zero: true }) };
  }

  const median = (estimate) => (estimate === null ? null : estimate.median);
  const charts = {
    time: () => curves({ title: "training time in seconds", text: short }, "seconds"),
    epochs: () => curves({ title: "epochs", text: short }, "epoch"),
    bytes: () => curves({ title: "bytes sent by all workers", text: megabytes }, "bytes"),
    speedup: () => byWorkers((way) => way.throughput_speed_up, { title: "samples a second, over one worker's", text: short }, "speed_up"),
    communication: () => byWorkers((way) => way.shares.communication, { title: "share of the training time", text: percent }, "communication"),
    "batch-error": () => byBatch((way) => (way.stability.final_error === null ? null : way.stability.final_error.mean), error),
    "batch-time": () => byBatch((way) => median(way.efficiency.seconds), { title: "seconds to the target", text: short, zero: true }),
    shares: (canvas) => page.timeBars(canvas, ways.map((way) => ({ ...way.shares, name: way.way })), "share of the training time", percent),
    cost: () => costs(),
    staleness: () => stale(),
  };
  page.chartOf = (canvas) => charts[canvas.dataset.chart](canvas);
})();
