"use strict";
/* Dark or light: what the system asks for, until the visitor chooses. Runs before the page is drawn. */
const annBench = {};

annBench.theme = (() => {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const key = "ann-bench-theme";

  function kept() {
    try {
      return window.localStorage.getItem(key);
    } catch (error) {
      return null; // a page from a disk may have no storage
    }
  }

  let chosen = kept();
  const dark = () => (chosen ? chosen === "dark" : system.matches);

  function apply() {
    document.documentElement.dataset.theme = dark() ? "dark" : "light";
    document.dispatchEvent(new CustomEvent("themechange"));
  }

  function toggle() {
    chosen = dark() ? "light" : "dark";
    try {
      window.localStorage.setItem(key, chosen);
    } catch (error) {
      /* then it lasts as long as the page */
    }
    apply();
  }

  system.addEventListener("change", apply);
  apply();
  return { dark, toggle };
})();
