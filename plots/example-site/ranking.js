"use strict";
/* Who meets the needs, best first; who is beaten by nobody. Knows nothing of the page. */
annBench.ranking = (() => {
  const { known } = annBench.format;

  /* needs: {least: {figure: number}, most: {figure: number}}; what was not measured meets no need. */
  function fits(point, needs) {
    for (const [figure, bound] of Object.entries(needs.least)) {
      if (bound > 0 && !(known(point[figure]) && point[figure] >= bound)) return false;
    }
    for (const [figure, bound] of Object.entries(needs.most)) {
      if (Number.isFinite(bound) && !(known(point[figure]) && point[figure] <= bound)) return false;
    }
    return true;
  }

  /* The best fitting point of each algorithm; the figure that decides first, the other one among equals. */
  function rank(points, needs, figure) {
    const other = figure === "qps" ? "recall" : "qps";
    const better = (a, b) => b[figure] - a[figure] || b[other] - a[other];
    const best = new Map();
    for (const point of points) {
      if (!fits(point, needs)) continue;
      const leader = best.get(point.algorithm);
      if (!leader || better(leader, point) > 0) best.set(point.algorithm, point);
    }
    return [...best.values()].sort(better);
  }

  /* The points that no other one beats on both axes, by rising x. `x` and `y` are {name, better}. */
  function front(points, x, y) {
    const left = points.filter((point) => known(point[x.name]) && known(point[y.name]));
    left.sort((a, b) => x.better * (b[x.name] - a[x.name]) || y.better * (b[y.name] - a[y.name]));
    const kept = [];
    for (const point of left) {
      const last = kept[kept.length - 1];
      if (!last || y.better * (point[y.name] - last[y.name]) > 0) kept.push(point);
    }
    return kept.sort((a, b) => a[x.name] - b[x.name]);
  }

  return { fits, rank, front };
})();
