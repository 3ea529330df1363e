"use strict";
// Who held which slot of which machine when: a row is a slot, a bar an attempt of a job, as high as it has workers.
const gantt = (() => {
  const canvas = document.getElementById("gantt"), tip = document.getElementById("gantt-tip");
  const rowHeight = 22, axisHeight = 24, labelWidth = 130, gap = 8;
  let span = 0, bars = [];  // Of what is drawn: {attempt, x, y, width, height}.

  const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], { hour12: false });
  const width = () => canvas.clientWidth;
  const plotWidth = () => Math.max(50, width() - labelWidth);

  // Gives each attempt the first rows of its machine that are free. Jobs that share slots get rows of their own below.
  function lanesOf(machine, attempts, now) {
    const freeAt = Array(machine.slots).fill(-Infinity);
    return [...attempts].sort((a, b) => a.started - b.started || a.job - b.job).map((attempt) => {
      const rows = [];
      for (let row = 0; rows.length < attempt.workers; ++row) {
        if (row >= freeAt.length) freeAt.push(-Infinity);
        if (freeAt[row] <= attempt.started + 1e-6) rows.push(row);
      }
      rows.forEach((row) => { freeAt[row] = attempt.ended ?? now; });
      return { attempt, rows };
    }).reduce((all, lane) => ({ rows: Math.max(all.rows, ...lane.rows.map((row) => row + 1)), lanes: all.lanes.concat(lane) }),
      { rows: machine.slots, lanes: [] });
  }

  function drawAxis(context, from, to, height) {
    const steps = [1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 86400];
    const step = steps.find((each) => (to - from) / each <= plotWidth() / 90) ?? 86400;
    context.textAlign = "center";
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const x = labelWidth + ((time - from) / (to - from)) * plotWidth();
      context.fillStyle = page.css("--grid");
      context.fillRect(Math.round(x), 0, 1, height - axisHeight);
      context.fillStyle = page.css("--soft");
      if (x < width() - 30) context.fillText(clock(time), x, height - axisHeight / 2);
    }
  }

  function drawBar(context, bar, text) {
    context.fillStyle = page.color(bar.attempt.job - 1);
    context.fillRect(bar.x, bar.y, bar.width, bar.height);
    if (bar.width < 24) return;
    context.save();
    context.beginPath();
    context.rect(bar.x, bar.y, bar.width - 4, bar.height);
    context.clip();
    context.textAlign = "left";
    context.fillStyle = "#10151a";
    context.fillText(text, bar.x + 5, bar.y + bar.height / 2 + 0.5);
    context.restore();
  }

  function draw() {
    const { machines, attempts, now, jobs } = page.data;
    const names = new Map(jobs.map((job) => [job.id, job.name]));
    const first = attempts.reduce((least, attempt) => Math.min(least, attempt.started), now - 10);
    const from = span > 0 ? now - span : first, to = now + (now - from) * 0.01;
    const blocks = machines.map((machine, index) =>
      ({ machine, ...lanesOf(machine, attempts.filter((attempt) => attempt.machine === index), now) }));
    const height = blocks.reduce((sum, block) => sum + block.rows * rowHeight + gap, 0) + axisHeight;
    const context = page.clear(canvas, height);
    drawAxis(context, from, to, height);
    const xOf = (time) => labelWidth + Math.max(0, (time - from) / (to - from)) * plotWidth();
    let top = 0;
    bars = [];
    for (const { machine, rows, lanes } of blocks) {
      context.textAlign = "left";
      context.fillStyle = page.css(machine.is_here ? "--ink" : "--soft");
      context.fillText(machine.name + (machine.is_here ? "" : " (away)"), 0, top + rowHeight / 2, labelWidth - 12);
      context.strokeStyle = page.css("--line");
      for (let row = 0; row <= rows; ++row) context.strokeRect(labelWidth, Math.round(top + row * rowHeight) + 0.5, plotWidth(), 0);
      for (const { attempt, rows: held } of lanes) {
        const end = attempt.ended ?? now;
        if (end < from) continue;
        const x = xOf(attempt.started), breadth = Math.max(1.5, xOf(end) - x - 1);
        const firsts = held.filter((row) => !held.includes(row - 1));
        for (const row of firsts) {
          let count = 1;
          while (held.includes(row + count)) ++count;
          const bar = { attempt, x, y: top + row * rowHeight + 2, width: breadth, height: count * rowHeight - 3 };
          bars.push(bar);
          drawBar(context, bar, `${attempt.job} ${names.get(attempt.job) ?? ""}`);
        }
      }
      top += rows * rowHeight + gap;
    }
    canvas.dataset.bars = bars.length;
    canvas.dataset.attempts = attempts.length;
  }

  canvas.addEventListener("pointermove", (event) => {
    const bar = bars.find(({ x, y, width: w, height: h }) =>
      event.offsetX >= x && event.offsetX <= x + w && event.offsetY >= y && event.offsetY <= y + h);
    tip.hidden = !bar;
    if (!bar) return;
    const { attempt } = bar;
    const seconds = Math.round((attempt.ended ?? page.data.now) - attempt.started);
    tip.textContent = `job ${attempt.job}, start ${attempt.attempt} · ${attempt.workers} workers · ${clock(attempt.started)} for ${seconds} s`;
    tip.style.left = `${Math.min(event.offsetX + 12, Math.max(0, width() - tip.offsetWidth))}px`;
    tip.style.top = `${event.offsetY + 14}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  document.querySelectorAll("[data-span]").forEach((button) => button.addEventListener("click", () => {
    span = Number(button.dataset.span);
    page.press(button);
    draw();
  }));
  addEventListener("resize", draw);
  return { draw };
})();
