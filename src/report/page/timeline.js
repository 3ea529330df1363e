"use strict";
// The timeline: a row for each thread of each rank, a bar for each span. Wheel or + and - zoom, dragging or the arrow
// keys move, a double click or 0 shows everything again.
(() => {
  const canvas = document.getElementById("timeline");
  if (!canvas) return;
  const tip = document.getElementById("timeline-tip");
  const rowHeight = 26, barHeight = 18, axisHeight = 24, labelWidth = page.data.runs.length > 1 ? 230 : 165;

  const lanes = [];
  page.data.runs.forEach((run) => run.trace.lanes.forEach((lane, index) => {
    const prefix = page.data.runs.length > 1 ? `${run.label} · ` : "";
    const spans = run.trace.spans.filter((span) => span[0] === index).sort((a, b) => a[2] - b[2]);
    if (spans.length) lanes.push({ label: `${prefix}${lane.process} · ${lane.thread}`, names: run.trace.names, spans });
  }));
  let begin = Infinity, end = -Infinity;
  lanes.forEach((lane) => lane.spans.forEach((span) => {
    begin = Math.min(begin, span[2]);
    end = Math.max(end, span[2] + span[3]);
  }));
  if (!(end > begin)) end = begin + 1;
  let from = begin, to = end;

  // Begins with some steps in the middle of the run, after which an update ends.
  const stepsShown = 6;
  const isUpdate = (lane) => (span) => lane.names[span[1]].text === "update";
  const ends = lanes.length ? lanes[0].spans.filter(isUpdate(lanes[0])).map((span) => span[2] + span[3]) : [];
  if (ends.length > 2 * stepsShown) {
    const first = Math.floor((ends.length - stepsShown) / 2);
    from = ends[first];
    to = ends[first + stepsShown];
  }

  const width = () => canvas.clientWidth;
  const plotWidth = () => Math.max(50, width() - labelWidth);
  const xOf = (time) => labelWidth + ((time - from) / (to - from)) * plotWidth();
  const timeAt = (x) => from + ((x - labelWidth) / plotWidth()) * (to - from);

  function duration(us) {
    const size = Math.abs(us);
    if (size === 0) return "0";
    if (size >= 1e6) return `${+(us / 1e6).toPrecision(5)} s`;
    if (size >= 1e3) return `${+(us / 1e3).toPrecision(4)} ms`;
    return `${+us.toPrecision(4)} µs`;
  }

  function shorten(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let cut = text;
    while (cut && context.measureText(`…${cut}`).width > room) cut = cut.slice(1);
    return `…${cut}`;
  }

  function drawAxis(context, height) {
    const rough = (to - from) / Math.max(2, plotWidth() / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((candidate) => candidate >= rough);
    context.textAlign = "center";
    for (let time = Math.ceil((from - begin) / step) * step; time <= to - begin; time += step) {
      const x = xOf(begin + time);
      context.fillStyle = page.css("--grid");
      context.fillRect(Math.round(x), 0, 1, height - axisHeight);
      context.fillStyle = page.css("--soft");
      context.fillText(duration(+time.toPrecision(12)), x, height - axisHeight / 2);
    }
  }

  function drawLane(context, lane, top) {
    context.textAlign = "left";
    context.fillStyle = page.css("--ink");
    context.fillText(shorten(context, lane.label, labelWidth - 12), 0, top + rowHeight / 2);
    context.save();
    context.beginPath();
    context.rect(labelWidth, top, plotWidth(), rowHeight);
    context.clip();
    const colors = lane.names.map((name) => page.kindColor(name.kind));
    const y = top + (rowHeight - barHeight) / 2;
    let drawnTo = -1;
    for (const [, name, start, length] of lane.spans) {
      const x = xOf(start), stop = xOf(start + length);
      if (stop < labelWidth || x > width() || (stop - drawnTo < 0.3 && stop - x < 0.3)) continue;
      const text = lane.names[name].text;
      context.fillStyle = colors[name];
      context.globalAlpha = text === "forward" ? 0.7 : 1;
      if (lane.names[name].kind === "bubble") context.fillRect(x, y + barHeight / 2 - 2, Math.max(0.6, stop - x), 4);
      else context.fillRect(x, y, Math.max(0.6, stop - x - (stop - x > 4 ? 1 : 0)), barHeight);
      context.globalAlpha = 1;
      drawnTo = stop;
      if (lane.names[name].kind === "bubble") continue;
      if (stop - x > 24 && context.measureText(text).width < stop - x - 8) {
        context.fillStyle = "#10151a";
        context.fillText(text, Math.max(x, labelWidth) + 4, y + barHeight / 2 + 0.5);
      }
    }
    context.restore();
  }

  function draw() {
    const height = lanes.length * rowHeight + axisHeight;
    const context = page.clear(canvas, height);
    drawAxis(context, height);
    lanes.forEach((lane, index) => drawLane(context, lane, index * rowHeight));
    document.querySelectorAll("[data-kind]").forEach((mark) => {
      mark.style.background = page.kindColor(mark.dataset.kind);
    });
  }

  function show(newFrom, newTo) {
    const size = Math.min(Math.max(newTo - newFrom, 0.1), end - begin);
    from = Math.min(Math.max(newFrom, begin), end - size);
    to = from + size;
    draw();
  }

  function zoom(factor, around = (from + to) / 2) {
    show(around - (around - from) * factor, around + (to - around) * factor);
  }

  function spanAt(x, y) {
    const lane = lanes[Math.floor(y / rowHeight)];
    if (!lane || x < labelWidth) return null;
    const time = timeAt(x), slack = (to - from) / plotWidth();
    const hits = lane.spans.filter((span) => span[2] - slack <= time && time <= span[2] + span[3] + slack);
    const span = hits.sort((a, b) => a[3] - b[3])[0];
    return span && { name: lane.names[span[1]], start: span[2] - begin, length: span[3] };
  }

  function hover(event) {
    const span = spanAt(event.offsetX, event.offsetY);
    tip.hidden = !span;
    if (!span) return;
    tip.textContent = `${span.name.text} (${span.name.kind}) · ${duration(span.length)} · at ${duration(span.start)}`;
    tip.style.left = `${Math.min(event.offsetX + 12, Math.max(0, width() - tip.offsetWidth))}px`;
    tip.style.top = `${event.offsetY + 14}px`;
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, from, to };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    const moved = ((drag.x - event.offsetX) / plotWidth()) * (drag.to - drag.from);
    return show(drag.from + moved, drag.to + moved);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(Math.max(event.offsetX, labelWidth)));
  }, { passive: false });
  canvas.addEventListener("dblclick", () => show(begin, end));
  const actions = {
    in: () => zoom(0.5), out: () => zoom(2), all: () => show(begin, end),
    left: () => show(from - (to - from) / 4, to - (to - from) / 4),
    right: () => show(from + (to - from) / 4, to + (to - from) / 4),
  };
  const keys = { "+": "in", "=": "in", "-": "out", "0": "all", ArrowLeft: "left", ArrowRight: "right" };
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    actions[keys[event.key]]();
  });
  document.querySelectorAll("[data-timeline]").forEach((button) =>
    button.addEventListener("click", () => actions[button.dataset.timeline]()));
  addEventListener("resize", draw);
  page.afterDraw = draw;
})();
