"use strict";
/* Numbers and configurations as people read them. */
annBench.format = (() => {
  const missing = "–";
  const known = (value) => typeof value === "number" && Number.isFinite(value);

  function number(value) {
    if (!known(value)) return missing;
    if (value !== 0 && Math.abs(value) < 10) return String(Number(value.toPrecision(3)));
    return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 1 });
  }

  function share(value) {
    if (!known(value)) return missing;
    return (value < 1 ? Math.min(value, 0.9999) : value).toFixed(4);
  }

  function seconds(value) {
    if (!known(value)) return missing;
    if (value >= 7200) return `${(value / 3600).toFixed(1)} h`;
    if (value >= 100) return `${Math.round(value).toLocaleString("en")} s`;
    if (value >= 1) return `${value.toFixed(value >= 10 ? 1 : 2)} s`;
    return value >= 1e-3 ? `${Number((value * 1e3).toPrecision(3))} ms` : `${Number((value * 1e6).toPrecision(3))} µs`;
  }

  function bytes(value) {
    if (!known(value)) return missing;
    const mib = value / 2 ** 20;
    if (mib >= 1024) return `${(mib / 1024).toFixed(mib >= 102400 ? 0 : 1)} GiB`;
    return mib >= 10 ? `${Math.round(mib)} MiB` : `${mib.toFixed(2)} MiB`;
  }

  const kinds = { number, share, seconds, bytes };

  /* A value and, where its interval is known, the wider half of that. */
  function within(kind, value, low, high) {
    const half = Math.max(value - low, high - value);
    if (kind === "seconds" && known(low) && known(high)) return `${seconds(value)} [${seconds(low)} to ${seconds(high)}]`;
    if (kind === "share" && known(low) && known(high)) return `${share(value)} ±${half.toFixed(4)}`;
    if (kind !== "number" || !known(value) || !known(low) || !known(high) || !(half > 0)) return kinds[kind](value);
    const least = Math.floor(Math.log10(value)) - 3; // two digits of the value at least, four at most, as in the terminal
    const digits = value > 0 ? Math.min(Math.max(least, Math.floor(Math.log10((high - low) / 2))), least + 2) : 0;
    const rounded = (one) => (Math.round(one / 10 ** digits) * 10 ** digits).toLocaleString("en", { maximumFractionDigits: Math.max(0, -digits) });
    return `${rounded(value)} ±${rounded(half)}`;
  }

  /* A JSON object in short: `nprobe=16 exact=true`. */
  function config(value) {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return JSON.stringify(value);
    const parts = Object.entries(value).map(([name, one]) => `${name}=${typeof one === "string" ? one : JSON.stringify(one)}`);
    return parts.join(" ") || "no arguments";
  }

  return { kinds, within, config, missing, known };
})();
