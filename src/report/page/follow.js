"use strict";
// The report of runs that go on: their curves are drawn anew, and the text around them is taken from the page as it is
// now. Where there are other charts than before, the page is loaded anew.
page.follow(async (news, ask) => {
  const text = await (await ask(location.pathname)).text();
  const fresh = new DOMParser().parseFromString(text.replace(/<style[^]*?<\/style>/, ""), "text/html");  // It has its own.
  const charts = (of) => [...of.querySelectorAll("canvas")].map((canvas) => `${canvas.id} ${canvas.dataset.chart} ${canvas.dataset.run}`).join();
  if (charts(fresh) !== charts(document)) return location.reload();
  page.data.runs = news.runs;
  fresh.querySelector(".charts").replaceWith(document.querySelector(".charts"));
  for (const part of [".title", "main"]) document.querySelector(part).replaceWith(fresh.querySelector(part));
  return page.draw();
});
