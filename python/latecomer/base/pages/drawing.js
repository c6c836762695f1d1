// What the scripts of several pages use.
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const within = (value, least, most) => Math.min(most, Math.max(least, value));
const count = (value) => value.toLocaleString("en");
// As base/units.py.
const units = [["s", 1], ["ms", 1e3], ["\u00b5s", 1e6], ["ns", 1e9]];
function seconds(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "not known";
  if (size < 1e-12) return "0 s";
  if (size >= 9999.5) return `${count(Math.round(value))} s`;
  const [unit, scale] = units.find((each) => size * each[1] >= 0.9995) ?? units[3];
  return `${Number((value * scale).toPrecision(scale === 1 ? 4 : 3))} ${unit}`;
}
function element(name, properties) { return Object.assign(document.createElement(name), properties); }
// A canvas of this height in pixels of the page; its context draws in these.
function sized(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "11px system-ui, sans-serif";
  return context;
}
