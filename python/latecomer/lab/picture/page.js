const [left, width, bars] = data.columns;
const slider = at("slider"), play = at("play"), status = at("status"), speed = at("speed");
const whole = 15;  // seconds of the whole play at speed 1
const xOf = (time) => left + (width * time) / data.span;
const middle = (rank) => data.top + data.row * (rank + 0.5);
let time = data.span, began = null, from = 0;

const steps = [...new Set(data.calls.flatMap((call) => call.moves
  .filter((move) => move[4] < 2).flatMap((move) => [move[2], move[3]])))]
  .concat(0, data.span).sort((a, b) => a - b);

function flights(call) {
  const paths = ["", "", ""], x = xOf(time);
  for (const [sender, receiver, begin, end, kind] of call.moves) {
    if (begin > time) break;  // they are sorted
    if (end <= time) continue;
    const a = middle(sender), b = middle(receiver), bend = 14 + Math.min(9 * Math.abs(sender - receiver), 110);
    paths[kind] += `M${x.toFixed(1)} ${a}Q${(x + bend).toFixed(1)} ${(a + b) / 2} ${x.toFixed(1)} ${b}`;
    const tip = b > a ? -5 : 5;
    if (kind < 2) paths[kind] += `m-3 ${tip}l3 ${-tip}l3 ${tip}`;
  }
  return paths;
}

function held(call) {
  const parts = new Array(data.ranks).fill(0);
  for (const [when, rank, part] of call.held) {
    if (when > time) break;
    parts[rank] = part;
  }
  return parts;
}

function draw() {
  const x = xOf(time), over = time >= data.span, words = [];
  data.calls.forEach((call, number) => {
    const of = (name) => at(`${name}-${number}`);
    of("now").setAttribute("transform", `translate(${x} 0)`);
    of("cover").setAttribute("x", x);
    of("cover").setAttribute("width", Math.max(0, left + width - x + 12));
    of("now").style.display = of("cover").style.display = over ? "none" : "";
    flights(call).forEach((path, kind) => of(`flight${kind}`).setAttribute("d", over ? "" : path));
    const parts = held(call);
    parts.forEach((part, rank) => of(`held${rank}`).setAttribute("width", (bars * part) / 1000));
    const mean = parts.reduce((a, b) => a + b, 0) / parts.length / 10;
    words.push(`${call.name} ${mean.toFixed(0)} %`);
  });
  const after = ((time - data.last) * data.scale).toFixed(data.digits);
  const where = time < data.last ? "before" : "after";
  status.textContent = `${after.replace("-", "")} ${data.unit} ${where} the last arrival; ` +
    `results held: ${words.join(", ")}`;
  slider.value = time;
  slider.setAttribute("aria-valuetext", status.textContent);
}

function go(to) {
  time = Math.min(Math.max(to, 0), data.span);
  draw();
}
function pause() {
  began = null;
  play.textContent = "Play";
}
function frame(now) {
  if (began === null) return;
  if (began < 0) began = now;
  go(from + ((now - began) / 1000 / whole) * data.span * Number(speed.value));
  if (time >= data.span) pause(); else requestAnimationFrame(frame);
}
const still = matchMedia("(prefers-reduced-motion: reduce)");
function start() {
  if (still.matches) return time >= data.span ? go(0) : step(true);
  if (began !== null) return pause();
  from = time >= data.span ? 0 : time;
  began = -1;
  play.textContent = "Pause";
  requestAnimationFrame(frame);
}
function step(forward) {
  pause();
  const next = forward ? steps.find((each) => each > time) : steps.findLast((each) => each < time);
  if (next !== undefined) go(next);
}

play.addEventListener("click", start);
at("back").addEventListener("click", () => step(false));
at("forward").addEventListener("click", () => step(true));
slider.addEventListener("input", () => { pause(); go(Number(slider.value)); });
speed.addEventListener("change", () => { if (began !== null) { from = time; began = -1; } });
document.addEventListener("keydown", (event) => {
  if (event.target === speed || event.ctrlKey || event.altKey || event.metaKey) return;
  const keys = {
    " ": start, ArrowLeft: () => step(false), ArrowRight: () => step(true),
    Home: () => { pause(); go(0); }, End: () => { pause(); go(data.span); },
  };
  if (!(event.key in keys) || (event.key === " " && event.target.tagName === "BUTTON")) return;
  event.preventDefault();
  keys[event.key]();
});
const wanted = Number(new URLSearchParams(location.hash.slice(1)).get("t") ?? NaN);
at("controls").hidden = false;
go(Number.isFinite(wanted) ? wanted * data.span : data.span);
