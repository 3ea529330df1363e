"use strict";
// Fills the page of a scheduler: counts, tables, and the curves of running jobs. All text reaches it as text.
(() => {
  const { color, css, faint, short, percent } = page;
  const element = (name, text = "", kind = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const duration = (seconds) => (seconds < 120 ? `${Math.round(seconds)} s`
    : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);
  const number = (text) => element("td", text, "number");
  const badge = (state) => {
    const cell = element("td");
    cell.append(element("span", state, `badge ${{ running: "good", done: "good", failed: "warn", away: "warn" }[state] ?? ""}`));
    return cell;
  };
  const hasEnded = (job) => job.ended !== null;

  function jobRow(job) {
    const row = document.createElement("tr"), wanted = job.min_workers === job.max_workers ? `${job.max_workers}` : `${job.min_workers}:${job.max_workers}`;
    row.dataset.job = job.id;
    row.append(element("th", `${job.id}`), element("td", job.name), element("td", job.owner), badge(job.state),
      number(job.workers > 0 ? `${job.workers}` : wanted), element("td", job.machines?.join(", ") ?? "–"), number(duration(job.worker_seconds)),
      number(`${job.attempts}`), element("td", job.reason));
    return row;
  }

  function machineRow(machine, index) {
    const row = document.createElement("tr");
    const held = page.data.attempts.filter((attempt) => attempt.machine === index && attempt.ended === null)
      .reduce((sum, attempt) => sum + attempt.workers, 0);
    row.append(element("th", machine.name), number(`${machine.slots}`), number(`${held}`), number(`${machine.rack}`),
      badge(machine.is_here ? "here" : "away"));
    return row;
  }

  function fill(id, rows) {
    const section = document.getElementById(id);
    section.hidden = rows.length === 0;
    section.querySelector("tbody").replaceChildren(...rows);
  }

  // A figure for each metric that a running job has points of; figures that are there already stay.
  function figures() {
    const wanted = page.data.jobs.filter((job) => job.curves).flatMap((job) =>
      ["loss", "accuracy"].filter((metric) => metric in job.curves).map((metric) => ({ job, metric, id: `${metric}-${job.id}` })));
    const box = document.querySelector("#curves .charts");
    box.replaceChildren(...wanted.map(({ job, metric, id }) => {
      const old = document.getElementById(id);
      if (old) return old;
      const figure = element("figure");
      const plot = element("div", "", "plot"), canvas = element("canvas");
      figure.id = id;
      Object.assign(canvas.dataset, { chart: metric, job: job.id });
      plot.append(canvas);
      figure.append(element("figcaption", `Job ${job.id} · ${job.name}: ${metric}`), plot);
      return figure;
    }));
    document.getElementById("curves").hidden = wanted.length === 0;
  }

  page.chartOf = (canvas) => {
    const job = page.data.jobs.find((each) => each.id === Number(canvas.dataset.job));
    const text = canvas.dataset.chart === "accuracy" ? percent : short;
    const scale = { grid: { color: css("--grid"), borderColor: css("--line") }, ticks: { color: css("--soft"), maxTicksLimit: 8 } };
    const names = Object.keys(job.curves[canvas.dataset.chart]);
    return {
      type: "line",
      data: {
        datasets: names.map((name, index) => {
          const points = job.curves[canvas.dataset.chart][name], stroke = name === "raw" ? faint(color(job.id - 1)) : color(job.id - 1 + (name === "train" ? 0 : index));
          return { label: name, data: points.map(([x, y]) => ({ x, y })), borderColor: stroke, backgroundColor: stroke, borderWidth: name === "raw" ? 1 : 2, pointRadius: points.length > 40 ? 0 : 2 };
        }),
      },
      options: {
        animation: false, maintainAspectRatio: false, parsing: false, interaction: { mode: "nearest", axis: "x", intersect: false },
        scales: {
          x: { ...scale, type: "linear", title: { display: true, text: "step", color: css("--soft") } },
          y: { ...scale, ticks: { ...scale.ticks, callback: text }, ...(canvas.dataset.chart === "accuracy" ? { max: 1 } : {}) },
        },
        plugins: { legend: { display: names.length > 1, labels: { color: css("--ink"), boxWidth: 18, boxHeight: 2 } } },
      },
    };
  };
  page.afterDraw = gantt.draw;

  function show() {
    const { jobs, machines, folder } = page.data;
    const count = (state) => jobs.filter((job) => job.state === state).length;
    document.getElementById("counts").textContent =
      `${count("running") + count("stopping")} running · ${count("waiting")} waiting · ${machines.filter((machine) => machine.is_here).length} machines · ${folder}`;
    fill("queue", jobs.filter((job) => !hasEnded(job)).map(jobRow));
    fill("ended", jobs.filter(hasEnded).sort((a, b) => b.ended - a.ended).map(jobRow));
    fill("machines", machines.map(machineRow));
    figures();
  }

  show();
  page.follow((news) => {
    Object.assign(page.data, news);
    show();
    page.draw();
  });
})();
