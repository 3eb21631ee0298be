"use strict";
/* Which of a ranking cannot be told apart: the same rule as ann_bench/stats/ratio.py, from what it leaves of the runs. */
annBench.tiers = (() => {
  const known = new Map();

  /* The logarithm of the gamma function, after Lanczos (g = 7, nine terms). */
  const terms = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  function logGamma(x) {
    const sum = terms.reduce((total, term, i) => (i ? total + term / (x + i - 1) : term), 0);
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(x + 6.5) - x - 6.5 + Math.log(sum);
  }

  /* The continued fraction of the incomplete beta function, by Lentz's method. */
  function fraction(a, b, x) {
    const least = 1e-300;
    const safe = (value) => (Math.abs(value) < least ? least : value);
    let c = 1;
    let d = 1 / safe(1 - ((a + b) * x) / (a + 1));
    let found = d;
    for (let m = 1; m < 500; m += 1) {
      for (const part of [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)), (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))]) {
        d = 1 / safe(1 + part * d);
        c = safe(1 + part / c);
        found *= d * c;
      }
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return found;
  }

  /* The regularised incomplete beta function. */
  function beta(a, b, x) {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    return x < (a + 1) / (a + b + 2) ? (front * fraction(a, b, x)) / a : 1 - (front * fraction(b, a, 1 - x)) / b;
  }

  /* Student's t beyond which, on both sides, lies 1 - level. */
  function quantile(freedom, level) {
    const name = `${freedom} ${level}`;
    if (known.has(name)) return known.get(name);
    let low = 0;
    let high = 1;
    for (let i = 0; i < 200 && high - low > 1e-15 * high; i += 1) {
      const middle = (low + high) / 2;
      if (beta(freedom / 2, 0.5, middle) < 1 - level) low = middle;
      else high = middle;
    }
    const found = Math.sqrt((freedom * (1 - high)) / high);
    known.set(name, found);
    return found;
  }

  /* Whether the ratio of two speeds is known to be another than 1; a spread is [speed, log, error, degrees of freedom, level]. */
  function differs(one, other, level) {
    if ([...one, ...other].some((value) => value === null)) return false;
    const [a, b] = [one[2] ** 2, other[2] ** 2];
    const parts = a ** 2 / one[3] + b ** 2 / other[3];
    const margin = Math.sqrt(a + b) * quantile(parts > 0 ? (a + b) ** 2 / parts : one[3] + other[3], level);
    const [ratio, middle] = [one[0] / other[0], one[1] - other[1]];
    return Math.min(ratio, Math.exp(middle - margin)) > 1 || Math.max(ratio, Math.exp(middle + margin)) < 1;
  }

  /* The tier of each point of a ranking, best first, by the figure that decides. */
  function of(ranking, figure) {
    const level = Math.max(...ranking.map((point) => point.spread[4])); // of all alike: that of the one that asks for most
    const number = (value) => (value === null || value === undefined ? NaN : value);
    const apart = figure === "recall"
      ? (leader, point) => !(number(point.recall_high) >= (leader.recall_low ?? leader.recall))
      : (leader, point) => differs(leader.spread, point.spread, level);
    let leader = null;
    let tier = 0;
    return ranking.map((point) => {
      if (leader === null || apart(leader, point)) {
        leader = point;
        tier += 1;
      }
      return tier;
    });
  }

  return { of, quantile };
})();
