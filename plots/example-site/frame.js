"use strict";
/* What every page has: head, ways to the other pages, the switch, and a line where something is missing. */
annBench.frame = (() => {
  const { el, link, button } = annBench.dom;

  const boardHref = (file) => `board.html?board=${encodeURIComponent(file)}`;
  const entryHref = (file) => `entry.html?entry=${encodeURIComponent(file)}`;
  const resultHref = (file, key) => `result.html?entry=${encodeURIComponent(file)}&result=${encodeURIComponent(key)}`;

  /* The address keeps the visitor's settings, so that no link may write into it. */
  function skip(event) {
    event.preventDefault();
    document.getElementById("main").focus();
  }

  function header(overview, current) {
    const select = el("select", { id: "goto", "aria-label": "Go to a track and data set" }, el("option", { value: "" }, "Go to a board…"));
    for (const board of overview.boards) {
      select.append(el("option", { value: board.file, selected: board.file === current }, board.title));
    }
    select.addEventListener("change", () => {
      if (select.value) window.location.assign(boardHref(select.value));
    });
    return el(
      "header",
      { class: "site" },
      link("#main", "Skip to the content", { class: "skip", on: { click: skip } }),
      link("index.html", "ann-bench", { class: "home" }),
      el("nav", { "aria-label": "Site" }, select),
      button("Dark or light", annBench.theme.toggle, { id: "theme" }),
    );
  }

  /* Draw a page: `make(overview)` gives its title and what stands in it. */
  async function page(current, make) {
    const main = el("main", { id: "main", tabindex: "-1" });
    try {
      const overview = await annBench.data.load("overview");
      document.body.prepend(header(overview, current));
      document.body.append(main);
      const { title, content, ready } = await make(overview);
      document.title = `${title} · ann-bench`;
      main.replaceChildren(...content);
      performance.mark("content"); // the rest is pictures
      if (ready) await ready();
    } catch (error) {
      if (!main.isConnected) document.body.append(main);
      main.replaceChildren(el("h1", {}, "There is nothing here"), el("p", { role: "alert" }, error.message),
        el("p", {}, link("index.html", "To the overview")));
    }
    document.body.dataset.ready = "true";
  }

  return { page, boardHref, entryHref, resultHref };
})();
