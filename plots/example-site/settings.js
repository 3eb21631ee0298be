"use strict";
/* The visitor's settings live in the address behind the #, so that a link restores them. */
annBench.settings = (() => {
  function read() {
    const found = {};
    for (const part of window.location.hash.slice(1).split("&")) {
      const cut = part.indexOf("=");
      if (cut < 1) continue;
      try {
        found[decodeURIComponent(part.slice(0, cut))] = part.slice(cut + 1).split(",").map(decodeURIComponent);
      } catch (error) {
        /* not an address that this site wrote: that part is left out */
      }
    }
    return found;
  }

  /* `values` are texts, lists of texts, or null for what stands as it is by itself. */
  function write(values) {
    const parts = [];
    for (const [name, value] of Object.entries(values)) {
      if (value === null || value === undefined) continue;
      const list = Array.isArray(value) ? value : [String(value)];
      parts.push(`${encodeURIComponent(name)}=${list.map(encodeURIComponent).join(",")}`);
    }
    window.history.replaceState(null, "", `#${parts.join("&")}`);
  }

  /* What stands behind the ? and says which thing a page shows. */
  const subject = (name) => new URLSearchParams(window.location.search).get(name) || "";

  return { read, write, subject };
})();
