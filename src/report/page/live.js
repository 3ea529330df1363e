"use strict";
// Keeps a page of hocket serve in step with what it shows: page.follow(take) asks the address page.data.api again and
// again and hands what is new to take(). The key leaves the address bar at once; a cookie has it.
page.follow = (take) => {
  const pause = 2000, root = document.documentElement, notice = document.getElementById("trouble");
  history.replaceState(null, "", location.pathname + location.hash);
  let version = page.data.version;

  function say(trouble) {
    notice.textContent = trouble;
    notice.hidden = trouble === "";
  }

  async function ask(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer;
  }

  async function look() {
    try {
      const news = await (await ask(page.data.api)).json();
      if (news.version !== version) {
        version = news.version;
        await take(news, ask);
        if (location.hash === "#check") page.check();
      }
      say(news.trouble ?? "");
      root.dataset.looks = Number(root.dataset.looks ?? 0) + 1;
    } catch (error) {
      say(error instanceof TypeError ? "hocket serve does not answer; what stands here is what it said last." : error.message);
    }
  }

  async function repeat() {
    if (!document.hidden) await look();
    setTimeout(repeat, pause);
  }
  setTimeout(repeat, pause);
};
