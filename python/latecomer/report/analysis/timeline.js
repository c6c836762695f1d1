// ---- the time line of a step
const ROW = 20, AXIS = 22;
const view = { from: 0, to: 1 };
const canvas = at("steps");
let step = data.steps[0], focus = null; // what the details are of: { bar }, { arrow }, or { row, time }
const rowOf = (rank) => step.rows.indexOf(rank);
const timeAt = (x) => view.from + (x - gutter) / (canvas.clientWidth - gutter) * (view.to - view.from);
const xAt = (time) => gutter + (time - view.from) / (view.to - view.from) * (canvas.clientWidth - gutter);
const length = (parts) => seconds(parts * step.unit);
const middle = (row) => AXIS + (row + 0.5) * ROW;

// What a bar of the step's data holds.
const barOf = ([row, begin, until, end, cause, what, meeting, place, unknown]) => ({ row, begin, until, end, cause, what, meeting, place, unknown });
const arrowOf = ([from, to, begin, end, waited, bytes]) => ({ from, to, begin, end, waited, bytes });
const callOf = (meeting) => meeting < 0 ? -1 : data.calls.findIndex((call) => call.group === step.meetings[meeting].group && call.call === step.meetings[meeting].call);

// Whether a step has the selected call.
function holds(each) {
  const own = data.calls[picked.call];
  return each.meetings.some((meeting) => own && meeting.group === own.group && meeting.call === own.call);
}
function pattern(size, draw) {
  const small = element("canvas", { width: size, height: size });
  draw(small.getContext("2d"));
  return canvas.getContext("2d").createPattern(small, "repeat");
}
const dotted = (ink) => pattern(5, (context) => { context.fillStyle = ink; context.fillRect(1, 1, 2, 2); });
const hatched = (ink) => pattern(6, (context) => {
  context.strokeStyle = ink; context.lineWidth = 1.8;
  context.beginPath();
  for (const shift of [-6, 0, 6]) { context.moveTo(shift - 1, 7); context.lineTo(shift + 7, -1); }
  context.stroke();
});
function drawStep() {
  if (picked.call !== null && !holds(step) && data.steps.some(holds)) openStep(data.steps.find(holds));
  const context = sized(canvas, AXIS + step.rows.length * ROW + 4), width = canvas.clientWidth;
  const ink = Object.fromEntries(["ink", "dim", "grid", "paper", "wait", "move", "compute", "late", "pick", "hover"].map((name) => [name, colour(`--${name}`)]));
  ink.unknown = dotted(ink.ink);
  drawAxis(context, ink);
  context.save();
  context.beginPath(); context.rect(gutter, AXIS, width - gutter, canvas.clientHeight - AXIS); context.clip();
  step.rows.forEach((rank, row) => {
    const [begin, end] = step.spans[row].map(xAt);
    context.fillStyle = ink.compute;
    context.fillRect(begin, AXIS + row * ROW + 3, end - begin, ROW - 6);
    if (rank === picked.rank) { context.strokeStyle = ink.pick; context.lineWidth = 2; context.strokeRect(gutter + 1, AXIS + row * ROW + 1, width - gutter - 2, ROW - 2); }
  });
  drawExcess(context, ink);
  step.bars.map(barOf).forEach((bar) => drawBar(context, bar, ink));
  drawMeetings(context, ink);
  drawArrows(context, ink);
  drawFocus(context, ink);
  context.restore();
  step.rows.forEach((rank, row) => {
    const mine = rank === picked.rank, isLate = late.has(rank);
    context.fillStyle = mine ? ink.pick : isLate ? ink.late : ink.dim;
    context.font = `${mine || isLate ? "bold " : ""}11px system-ui, sans-serif`;
    context.fillText(`${isLate ? "\u25b6 " : ""}rank ${rank}`, 2, middle(row) + 4, gutter - 6);
  });
  at("step").value = String(data.steps.indexOf(step));
  at("step-name").textContent = step.name;
  document.documentElement.dataset.view = JSON.stringify([view.from, view.to]);
  if (!focus) sayStep();
}
function drawAxis(context, ink) {
  const whole = (view.to - view.from) * step.unit, rough = whole / Math.max(2, (canvas.clientWidth - gutter) / 110);
  const power = 10 ** Math.floor(Math.log10(rough)), tick = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  context.fillStyle = ink.dim; context.strokeStyle = ink.grid; context.lineWidth = 1;
  for (let i = Math.ceil(view.from * step.unit / tick); i * tick <= view.to * step.unit; ++i) {
    const x = xAt(i * tick / step.unit);
    context.beginPath(); context.moveTo(x, AXIS - 5); context.lineTo(x, canvas.clientHeight); context.stroke();
    const words = i ? `${i < 0 ? "-" : ""}${seconds(Math.abs(i * tick))}` : "0";
    context.fillText(words, within(x - 12, gutter, canvas.clientWidth - context.measureText(words).width - 2), AXIS - 8);
  }
}
function drawExcess(context, ink) {
  const [ofLate, ofOthers] = [ink.late, ink.dim].map(hatched);
  for (const [row, begin, end] of step.excess) {
    const x = xAt(begin), wide = Math.max(xAt(end) - x, 0.5), isLate = late.has(step.rows[row]);
    context.fillStyle = isLate ? ofLate : ofOthers;
    context.fillRect(x, AXIS + row * ROW + 3, wide, ROW - 6);
    if (!isLate) continue;
    context.strokeStyle = ink.late; context.lineWidth = 1.5;
    context.strokeRect(x, AXIS + row * ROW + 3, wide, ROW - 6);
  }
}
function drawBar(context, bar, ink) {
  const [begin, until, end] = [bar.begin, bar.until, bar.end].map(xAt), top = AXIS + bar.row * ROW;
  if (end < gutter || begin > canvas.clientWidth) return;
  context.fillStyle = ink.paper; context.fillRect(begin, top + 2, Math.max(end - begin, 1), ROW - 4);
  context.fillStyle = ink.wait; context.fillRect(begin, top + ROW / 2 - 3, until - begin, 6);
  context.fillStyle = bar.unknown ? ink.unknown : ink.move; context.fillRect(until, top + 3, Math.max(end - until, 1), ROW - 6);
  if (bar.unknown) { context.strokeStyle = ink.dim; context.lineWidth = 1; context.strokeRect(begin, top + 3, Math.max(end - begin, 1), ROW - 6); }
  if ((picked.place !== null && bar.place === picked.place) || (picked.call !== null && callOf(bar.meeting) === picked.call)) {
    context.strokeStyle = ink.pick; context.lineWidth = 1.5; context.strokeRect(begin, top + 2, Math.max(end - begin, 2), ROW - 4);
  }
}
function drawMeetings(context, ink) {
  for (const meeting of step.meetings) {
    if (!meeting.rows.length) continue;
    const x = xAt(meeting.time), low = Math.min(...meeting.rows), high = Math.max(...meeting.rows), row = rowOf(meeting.rank);
    context.fillStyle = ink.late;
    context.fillRect(x - 1, AXIS + low * ROW + 1, 2, (high - low + 1) * ROW - 2);
    if (row >= 0) { context.beginPath(); context.arc(x, middle(row), 4, 0, 7); context.fill(); }
  }
}
// Of very many only those of the selected rank, or of the late ones, stand out.
function drawArrows(context, ink) {
  const seen = step.arrows.map(arrowOf).filter((arrow) => arrow.end >= view.from && arrow.begin <= view.to);
  const own = picked.rank === null ? data.late : [picked.rank], many = seen.length > 150;
  const stands = (arrow) => !many || own.some((rank) => [arrow.from, arrow.to].includes(rowOf(rank)));
  for (const arrow of seen.filter((each) => !stands(each))) drawArrow(context, { ...arrow, waited: 0 }, ink, 0.25);
  for (const arrow of seen.filter(stands).sort((a, b) => !!a.waited - !!b.waited)) drawArrow(context, arrow, ink, 1);
}
function drawArrow(context, arrow, ink, strength) {
  const x = xAt(arrow.begin), end = xAt(arrow.end);
  const y = middle(arrow.from), to = middle(arrow.to), angle = Math.atan2(to - y, end - x), size = arrow.waited ? 8 : 5;
  context.strokeStyle = context.fillStyle = arrow.waited ? ink.wait : ink.dim;
  if (arrow.waited) { // a rim tells it from the bars
    context.lineWidth = 5; context.strokeStyle = ink.paper;
    context.beginPath(); context.moveTo(x, y); context.lineTo(end, to); context.stroke();
    context.strokeStyle = ink.late; context.fillStyle = ink.late;
  }
  context.lineWidth = arrow.waited ? 2.2 : 1; context.globalAlpha = strength * (arrow.waited ? 1 : 0.7);
  context.setLineDash(arrow.waited === 2 ? [5, 3] : []);
  context.beginPath(); context.moveTo(x, y); context.lineTo(end, to); context.stroke();
  context.setLineDash([]);
  context.beginPath(); context.moveTo(end, to);
  for (const turn of [-0.4, 0.4]) context.lineTo(end - size * Math.cos(angle + turn), to - size * Math.sin(angle + turn));
  context.fill(); context.globalAlpha = 1;
}
function drawFocus(context, ink) {
  context.strokeStyle = ink.ink; context.lineWidth = 2.5;
  if (focus?.bar) {
    const x = xAt(focus.bar.begin);
    context.strokeRect(x - 1, AXIS + focus.bar.row * ROW + 1, Math.max(xAt(focus.bar.end) - x, 2) + 2, ROW - 2);
  } else if (focus?.arrow) {
    context.lineWidth = 4;
    context.beginPath(); context.moveTo(xAt(focus.arrow.begin), middle(focus.arrow.from)); context.lineTo(xAt(focus.arrow.end), middle(focus.arrow.to)); context.stroke();
  }
}

// ---- what is under the pointer, and what is said of it

function found(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  if (x < gutter || y < AXIS) return null;
  const row = Math.floor((y - AXIS) / ROW), time = timeAt(x), near = (view.to - view.from) / (canvas.clientWidth - gutter) * 3;
  const away = (arrow) => {
    const [ax, ay, bx, by] = [xAt(arrow.begin), middle(arrow.from), xAt(arrow.end), middle(arrow.to)];
    const part = within(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1), 0, 1);
    return Math.hypot(x - ax - part * (bx - ax), y - ay - part * (by - ay));
  };
  const bar = step.bars.map(barOf).find((each) => each.row === row && each.begin - near <= time && time <= each.end + near);
  const arrows = step.arrows.map(arrowOf).map((arrow) => [away(arrow), arrow]).sort((a, b) => a[0] - b[0]);
  if (arrows.length && arrows[0][0] < (bar ? 3 : 6)) return { arrow: arrows[0][1] };
  return bar ? { bar } : row < step.rows.length ? { row, time } : null;
}
function sayStep() {
  const cut = step.cut ? `; it begins before: ${count(step.cut)} bars are not drawn` : "";
  const left = step.left ? `; ${count(step.left)} messages are not drawn` : "";
  const rows = step.rows.length < data.host.length ? `${step.rows.length} of ${count(data.host.length)} ranks: those that are late, are waited for or wait most, then evenly` : "all ranks";
  const away = picked.call === null || holds(step) ? "" : "The selected call is in none of these steps. ";
  at("step-status").textContent = `${away}${rows[0].toUpperCase()}${rows.slice(1)}${cut}${left}. Point at a bar or an arrow, or use the keys, for what it is.`;
}
function say() {
  if (!focus) return sayStep();
  let words;
  if (focus.arrow) {
    const { from, to, begin, end, waited, bytes } = focus.arrow;
    const who = ["nobody waited for it", `rank ${step.rows[to]} waited for it`, `rank ${step.rows[from]} waited until it was asked for`][waited];
    words = `message of ${count(bytes)} bytes from ${named(step.rows[from])} to ${named(step.rows[to])}: sent at ${length(begin)}, there at ${length(end)}; ${who}`;
  } else if (focus.bar) {
    const { row, begin, until, end, cause, what, meeting, place, unknown } = focus.bar;
    const waits = until > begin ? `waits ${length(until - begin)}${cause >= 0 ? ` for rank ${cause}` : ""}, then ` : "";
    const name = meeting < 0 ? step.words[what] : step.meetings[meeting].what;
    words = `${named(step.rows[row])}, ${name}${place < 0 ? "" : ` at ${data.places[place]}`}: ${waits}${unknown ? "is in MPI" : meeting < 0 ? "is busy with them" : "moves data"} for ${length(end - until)}${unknown ? "; the trace does not tell if it waits there, and for whom" : ""}`;
  } else {
    const { row, time } = focus, bars = step.bars.map(barOf).filter((each) => each.row === row);
    const after = bars.filter((each) => each.end <= time).pop(), before = bars.find((each) => each.begin > time);
    const [first, last] = step.spans[row], begin = after ? after.end : first, end = before ? before.begin : last;
    const more = step.excess.filter(([of, from, to]) => of === row && from < end && to > begin).reduce((sum, [, from, to]) => sum + to - from, 0);
    words = time < first || time > last ? `${named(step.rows[row])} is not in this step then` : `${named(step.rows[row])} is ${data.outside} for ${length(end - begin)}${more ? `, ${length(more)} of it more than the median rank` : ""}`;
  }
  at("step-status").textContent = words;
}
function look(next) { focus = next; drawStep(); say(); }
function choose(next) {
  look(next);
  if (!next) return;
  const row = next.bar?.row ?? next.arrow?.to ?? next.row, change = { rank: step.rows[row] };
  if (next.bar && next.bar.place >= 0) change.place = next.bar.place;
  const call = next.bar ? callOf(next.bar.meeting) : -1;
  if (call >= 0) change.call = call;
  pick(change);
}
function openStep(next) {
  step = next; focus = null;
  [view.from, view.to] = step.view;
}
// The bar in a row nearest to a time; the one so many bars from the focus, a bar or a time between.
function nearest(row, time) {
  const bars = step.bars.map(barOf).filter((each) => each.row === row);
  return bars.sort((a, b) => Math.abs(a.until - time) - Math.abs(b.until - time))[0];
}
function beside(by) {
  const row = focus?.bar?.row ?? focus?.row ?? Math.max(0, rowOf(picked.rank ?? data.late[0] ?? step.rows[0]));
  const bars = step.bars.map(barOf).filter((each) => each.row === row);
  const own = bars.findIndex((each) => focus?.bar && each.begin === focus.bar.begin && each.end === focus.bar.end);
  if (focus?.time !== undefined) toBar(by > 0 ? bars.find((each) => each.begin >= focus.time) : bars.findLast((each) => each.end <= focus.time));
  else toBar(bars[own < 0 ? (by > 0 ? 0 : bars.length - 1) : within(own + by, 0, bars.length - 1)]);
}
function toBar(bar) {
  if (!bar) return;
  if (bar.end < view.from || bar.begin > view.to) moved(view, step.view, (bar.begin + bar.end - view.to + view.from) / 2);
  look({ bar });
}
// From a bar that waits to what the rank does that it waits for, when it ends.
function toCause() {
  const bar = focus?.bar, row = bar ? rowOf(bar.cause) : -1;
  if (row < 0) {
    at("step-status").textContent = bar ? bar.cause < 0 ? "It did not wait." : `It waited for rank ${bar.cause}, which has no row here.` : "Choose a bar first.";
    return;
  }
  const before = step.bars.map(barOf).filter((each) => each.row === row && each.end <= bar.until && each.cause >= 0 && each.until > each.begin);
  const excess = step.excess.find(([of, from, to]) => of === row && from < bar.until && to > (before.length ? before[before.length - 1].end : -Infinity));
  if (excess || !before.length) look({ row, time: excess ? (excess[1] + excess[2]) / 2 : bar.until - 1 });
  else toBar(before.pop());
}
function stepKey(event) {
  const wide = view.to - view.from, centre = focus?.bar?.until ?? focus?.time ?? (view.from + view.to) / 2;
  const row = focus?.bar?.row ?? focus?.row ?? rowOf(picked.rank ?? data.late[0] ?? step.rows[0]);
  const shift = event.shiftKey, zoom = (factor) => { zoomed(view, step.view, factor, within(centre, view.from, view.to)); drawStep(); };
  const pan = (by) => { moved(view, step.view, view.from + by * wide); drawStep(); };
  const vertical = (by) => { // rows without a bar are passed over
    for (let to = within(row + by, 0, step.rows.length - 1); step.rows[to] !== undefined; to += by) {
      const bar = nearest(to, centre);
      if (bar) { toBar(bar); return; }
    }
  };
  const keys = {
    "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: () => { openStep(step); drawStep(); },
    ArrowLeft: () => shift ? beside(-1) : pan(-0.15), ArrowRight: () => shift ? beside(1) : pan(0.15),
    ArrowUp: () => vertical(-1), ArrowDown: () => vertical(1),
    w: toCause, W: toCause, Enter: () => choose(focus), " ": () => choose(focus), Escape: () => look(null),
  };
  if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  keys[event.key]();
}
function steps() {
  if (!step) return;
  fill(at("step"), data.steps.map((each) => each.name));
  at("step").addEventListener("change", (event) => { openStep(data.steps[Number(event.target.value)]); picked.call = null; pick({}); });
  for (const [id, key] of [["zoom-in", "+"], ["zoom-out", "-"], ["zoom-all", "0"]]) {
    at(id).addEventListener("click", () => stepKey(new KeyboardEvent("keydown", { key })));
  }
  at("bar-before").addEventListener("click", () => beside(-1));
  at("bar-after").addEventListener("click", () => beside(1));
  at("bar-cause").addEventListener("click", toCause);
  canvas.addEventListener("keydown", stepKey);
  gestures(canvas, view, () => step.view, timeAt, {
    changed: drawStep, point: (event) => look(found(event)), choose: (event) => choose(found(event)),
  });
  at("step-controls").hidden = false;
  openStep(step);
  parts.push(drawStep);
}
