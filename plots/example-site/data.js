"use strict";
/* Data comes as scripts, because a page from a disk may load those and fetch nothing. */
annBench.data = (() => {
  const given = new Map();
  annBench.give = (name, value) => given.set(name, value);

  function script(path) {
    return new Promise((resolve, reject) => {
      const element = document.createElement("script");
      element.src = path;
      element.addEventListener("load", resolve);
      element.addEventListener("error", () => reject(new Error(`${path} is missing or cannot be read`)));
      document.head.append(element);
    });
  }

  async function load(name) {
    if (!/^[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9]$/.test(name)) throw new Error("this address names nothing on this site");
    if (!given.has(name)) await script(`data/${name}.js`);
    return given.get(name);
  }

  return { load, script };
})();
