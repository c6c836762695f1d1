// ---- the map of arrivals
let group = data.groups[0], cell = null; // the cell: a column, and a place in the order of the rows
let order = [];
let openedFor = null; // the selected call whose communicator was opened: the reader may open another
const heat = at("heat"), heatSaid = at("heat-status");

function sortRows() {
  const { bins, rows } = group.heat, by = at("order").value, values = valuesOf(group);
  const mean = (y) => values.subarray(y * bins, (y + 1) * bins).reduce((sum, value) => sum + value, 0);
  const key = by === "late" ? (y) => -mean(y) : by === "host" ? (y) => data.host[rankOf(group, group.rows[y])] : (y) => y;
  const keys = Array.from({ length: rows }, (_, y) => key(y));
  order = keys.map((_, y) => y).sort((a, b) => keys[a] - keys[b] || a - b);
}
const isLate = (y) => ranksOf(group, y).some((rank) => late.has(rank));
function rgb(name) {
  const hex = colour(name).slice(1);
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}
function mapOfColours() {
  const { bins, rows, scale } = group.heat, values = valuesOf(group);
  const paper = rgb("--paper"), dark = rgb("--late"), early = rgb("--early");
  const small = element("canvas", { width: bins, height: rows });
  const context = small.getContext("2d"), image = context.createImageData(bins, rows);
  for (let line = 0, to = 0; line < rows; ++line) {
    for (let from = order[line] * bins, x = 0; x < bins; ++x, ++from, ++to) {
      const part = Math.sqrt(Math.min(Math.abs(values[from]) / scale, 1)), end = values[from] >= 0 ? dark : early;
      for (let k = 0; k < 3; ++k) image.data[4 * to + k] = paper[k] + part * (end[k] - paper[k]);
      image.data[4 * to + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return small;
}
function drawHeat() {
  const call = picked.call === null ? null : data.calls[picked.call];
  if (call && picked.call !== openedFor && data.groups[call.group] !== group) openGroup(call.group);
  openedFor = picked.call;
  const { bins, rows, scale } = group.heat;
  const target = sized(heat, Math.max(120, Math.min(rows * 14, Math.max(420, rows * 3))));
  const width = heat.clientWidth, height = heat.clientHeight, row = height / rows, column = (width - gutter) / bins;
  target.imageSmoothingEnabled = false;
  target.drawImage(mapOfColours(), gutter, 0, width - gutter, height);
  target.textBaseline = "middle";
  const taken = []; // where labels are
  function label(line, ink, font) {
    const y = within((line + 0.5) * row, 7, height - 7);
    if (taken.some((other) => Math.abs(other - y) < 13)) return;
    taken.push(y);
    target.font = font; target.fillStyle = ink;
    const ranks = ranksOf(group, order[line]);
    target.fillText(ranks.length > 1 ? `${ranks[0]}-${ranks[ranks.length - 1]}` : `rank ${ranks[0]}`, 2, y, gutter - 8);
  }
  order.forEach((y, line) => {
    if (!isLate(y)) return;
    target.fillStyle = colour("--late");
    target.fillRect(gutter - 5, (line + 0.5) * row - Math.max(row, 4) / 2, 4, Math.max(row, 4));
    label(line, colour("--late"), "bold 11px system-ui, sans-serif");
  });
  for (let line = 0; line < rows; ++line) label(line, colour("--dim"), "11px system-ui, sans-serif");
  target.strokeStyle = colour("--pick"); target.fillStyle = colour("--pick"); target.lineWidth = 2;
  const bin = picked.rank === null ? -1 : order.indexOf(binOf(group, picked.rank));
  if (bin >= 0) target.strokeRect(1, bin * row + 1, width - 2, Math.max(row - 2, 2));
  if (call && data.groups[call.group] === group) {
    target.strokeRect(gutter + columnOf(group, call.call) * column, 1, Math.max(column, 2), height - 2);
  }
  if (picked.place !== null) { // a tick at the columns in which it calls
    for (let x = 0; x < bins; ++x) {
      if ((group.places[x] || group.places[0]).includes(picked.place)) target.fillRect(gutter + x * column, 0, Math.max(column - 1, 1), 4);
    }
  }
  if (cell) {
    target.strokeStyle = colour("--ink");
    target.strokeRect(gutter + cell.x * column - 2, cell.line * row - 2, Math.max(column, 1) + 4, Math.max(row, 1) + 4);
  }
  at("heat-name").textContent = group.title;
  at("heat-first").textContent = count(group.numbers[0]);
  at("heat-last").textContent = count(group.numbers[bins] - 1);
  at("heat-early").textContent = `${seconds(scale)} early or more`;
  at("heat-late").textContent = `${seconds(scale)} late or more`;
  heatSaid.textContent = cell ? saidOf(cell) : "Point at the picture for a value.";
}
function saidOf({ x, line }) {
  const y = order[line], value = valuesOf(group)[y * group.heat.bins + x];
  const [begin, end] = [group.numbers[x], group.numbers[x + 1]];
  const calls = end - begin > 1 ? `calls ${count(begin)} to ${count(end - 1)}` : `call ${count(begin)}`;
  return `${calls}: ${rowSaid(group, y)} is ${seconds(Math.abs(value))} ${value < 0 ? "early" : "late"}`;
}
function cellAt(event) {
  const box = heat.getBoundingClientRect(), { bins, rows } = group.heat;
  const along = (event.clientX - box.left - gutter) / (box.width - gutter);
  if (along < 0 || along >= 1) return null;
  const line = Math.floor((event.clientY - box.top) / box.height * rows);
  return { x: Math.floor(along * bins), line: within(line, 0, rows - 1) };
}
// Selects the rank, of several the late one or that which costs most, and the worst call of the column, or the nearest one that the page holds.
function open({ x, line }) {
  const own = data.groups.indexOf(group), [begin, end] = [group.calls[x], group.calls[x + 1]];
  let best = -1, least = Infinity;
  data.calls.forEach((call, i) => {
    const away = call.group !== own ? Infinity : call.call < begin ? begin - call.call : Math.max(0, call.call - end + 1);
    if (away < least) { least = away; best = i; }
  });
  if (best < 0) return;
  const ranks = ranksOf(group, order[line]).sort((a, b) => late.has(b) - late.has(a) || data.cost[b] - data.cost[a]);
  pick({ rank: ranks[0], call: best });
  heatSaid.textContent = `${saidOf({ x, line })}. ` +
    (least ? `The page does not hold it; selected is the nearest that it does: ${data.calls[best].what}.` : `Selected: ${data.calls[best].what}.`);
}
function selectCell(next) { cell = next; drawHeat(); }
function heatKey(event) {
  const { bins, rows } = group.heat, steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const step = steps[event.key];
  if (step) {
    const from = cell || { x: 0, line: 0 };
    selectCell(cell ? { x: within(from.x + step[0], 0, bins - 1), line: within(from.line + step[1], 0, rows - 1) } : from);
  } else if ((event.key === "Enter" || event.key === " ") && cell) open(cell);
  else if (event.key === "Escape") selectCell(null);
  else return;
  event.preventDefault();
}
function openGroup(number) {
  group = data.groups[number]; cell = null;
  at("group").value = String(number);
  sortRows();
}
function arrivals() {
  const sorted = () => { sortRows(); selectCell(null); };
  fill(at("group"), data.groups.map((each) => each.title));
  at("group").addEventListener("change", (event) => { openGroup(Number(event.target.value)); drawHeat(); });
  at("order").addEventListener("change", sorted);
  heat.addEventListener("pointermove", (event) => {
    const under = cellAt(event);
    if (under) heatSaid.textContent = saidOf(under);
  });
  heat.addEventListener("click", (event) => { const under = cellAt(event); if (under) { selectCell(under); open(under); } });
  heat.addEventListener("keydown", heatKey);
  at("heat-controls").hidden = false;
  at("group-label").hidden = data.groups.length < 2;
  sortRows();
  parts.push(drawHeat);
}
