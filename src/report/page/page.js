"use strict";
// What the pages of all reports share: the data from #data, colours, numbers as text, themes, printing and the drawing of
// every canvas with data-chart by page.chartOf(), which a page's own script sets. All text from runs reaches the page as
// text, never as HTML.
const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const charts = [];

  // Okabe and Ito's palette, which eyes with a colour deficiency tell apart; a brighter order on dark pages.
  const palettes = {
    light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#6b7280"],
    dark: ["#56b4e9", "#e69f00", "#2cc79b", "#e29ac4", "#f0e442", "#ff8a4c", "#b79be0", "#a0aab4"],
  };
  const kinds = { compute: 0, data: 4, communication: 2, wait: 7, eval: 3, checkpoint: 1, bubble: 6, other: 7 };

  const theme = () => root.dataset.theme;
  const color = (index) => palettes[theme()][index % 8];
  const kindColor = (kind) => color(kinds[kind] ?? 6);
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const faint = (hex) => hex + "48";

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

  // An empty canvas of that height, sharp on every screen, to draw on in CSS pixels.
  function clear(canvas, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    return context;
  }

  // Stacked bars, in numbers as `text` writes them, of rows {name, compute, communication, wait, other}; the canvas grows with their number.
  function timeBars(canvas, rows, title, text) {
    const parts = ["compute", "communication", "wait", "other"].filter((part) => rows.some((row) => row[part] > 0));
    const scale = { stacked: true, grid: { color: css("--grid"), borderColor: css("--line") }, ticks: { color: css("--soft") } };
    canvas.parentElement.style.height = `${90 + 32 * rows.length}px`;
    return {
      type: "bar",
      data: {
        labels: rows.map((row) => row.name),
        datasets: parts.map((part) => ({
          label: part, data: rows.map((row) => row[part]), backgroundColor: part === "other" ? css("--line") : kindColor(part),
          barThickness: 20,
        })),
      },
      options: {
        animation: false, maintainAspectRatio: false, indexAxis: "y",
        scales: {
          x: { ...scale, ticks: { ...scale.ticks, callback: text }, title: { display: true, text: title, color: css("--soft") } },
          y: { ...scale, grid: { display: false } },
        },
        plugins: {
          legend: { labels: { color: css("--ink"), boxWidth: 12, boxHeight: 12 } },
          tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${text(item.parsed.x)}` } },
        },
      },
    };
  }

  function draw() {
    charts.splice(0).forEach((chart) => chart.destroy());
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    document.querySelectorAll("canvas[data-chart]").forEach((canvas) => charts.push(new Chart(canvas, self.chartOf(canvas))));
    document.querySelectorAll("[data-swatch]").forEach((swatch) => {
      swatch.style.background = color(Number(swatch.dataset.swatch));
    });
    self.afterDraw();
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
      const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const pixels = context.getImageData(0, 0, copy.width, copy.height).data;
      let drawn = 0;
      for (let i = 3; i < pixels.length; i += 4) drawn += pixels[i] > 0;
      canvas.dataset.drawn = drawn;
    });
    root.dataset.checked = "yes";
  }

  const self = {
    data, theme, color, kindColor, css, faint, short, percent, logText, clear, timeBars, draw, start,
    check, press,
    chartOf: null, afterDraw: () => {},
  };
  return self;
})();
