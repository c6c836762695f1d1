"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const rgb = (name) => {
    const hex = colour(name).slice(1);
    return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
  };
  const number = (value) => value.toLocaleString("en");
  function time(seconds) {
    const size = Math.abs(seconds);
    const [scale, unit] = size >= 1 ? [1, "s"] : size >= 1e-3 ? [1e3, "ms"] : [1e6, "\u00b5s"];
    return `${Number((seconds * scale).toPrecision(3))} ${unit}`;
  }
  const rankOf = (group, place) => group.members.length ? group.members[place] : group.first + place * group.stride;
  const named = (rank) => `rank ${rank} on ${data.hosts[data.host[rank]]}`;
  const gutter = 64; // for the names of ranks, left of a picture
  const late = new Set(data.late);
  let group = data.groups[0], chosen = data.costliest, cell = null; // the cell: a column, and a place in the order of the rows
  let order = [];

  // ---- arrivals

  const valuesOf = (each) => new Int8Array(bytesOf(each.heat.values).buffer);
  function sortRows() {
    const { bins, rows } = group.heat, by = at("order").value, values = valuesOf(group);
    const mean = (y) => values.subarray(y * bins, (y + 1) * bins).reduce((sum, value) => sum + value, 0);
    const key = by === "late" ? (y) => -mean(y) : by === "host" ? (y) => data.host[rankOf(group, group.rows[y])] : (y) => y;
    const keys = Array.from({ length: rows }, (_, y) => key(y));
    order = keys.map((_, y) => y).sort((a, b) => keys[a] - keys[b] || a - b);
  }
  function isLate(y) {
    for (let place = group.rows[y]; place < group.rows[y + 1]; ++place) if (late.has(rankOf(group, place))) return true;
    return false;
  }
  function drawHeat() {
    const { bins, rows, scale } = group.heat, values = valuesOf(group);
    const paper = rgb("--paper"), red = rgb("--late"), early = rgb("--early");
    const small = document.createElement("canvas");
    small.width = bins; small.height = rows;
    const context = small.getContext("2d"), image = context.createImageData(bins, rows);
    for (let line = 0, to = 0; line < rows; ++line) {
      for (let from = order[line] * bins, x = 0; x < bins; ++x, ++from, ++to) {
        const part = Math.sqrt(Math.abs(values[from]) / 127), end = values[from] >= 0 ? red : early;
        for (let k = 0; k < 3; ++k) image.data[4 * to + k] = paper[k] + part * (end[k] - paper[k]);
        image.data[4 * to + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
    const canvas = at("heat"), ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${Math.max(120, Math.min(rows * 14, Math.max(420, rows * 3)))}px`;
    canvas.width = canvas.clientWidth * ratio; canvas.height = canvas.clientHeight * ratio;
    const target = canvas.getContext("2d"), row = canvas.clientHeight / rows, column = (canvas.clientWidth - gutter) / bins;
    target.imageSmoothingEnabled = false;
    target.drawImage(small, gutter * ratio, 0, canvas.width - gutter * ratio, canvas.height);
    target.scale(ratio, ratio);
    target.textBaseline = "middle";
    const middle = (line) => Math.min(canvas.clientHeight - 7, Math.max(7, (line + 0.5) * row));
    const taken = []; // where labels are
    function label(line, ink, font) {
      const y = middle(line);
      if (taken.some((other) => Math.abs(other - y) < 13)) return;
      taken.push(y);
      target.font = font; target.fillStyle = ink;
      target.fillText(`rank ${rankOf(group, group.rows[order[line]])}`, 2, y, gutter - 8);
    }
    order.forEach((y, line) => {
      if (!isLate(y)) return;
      target.fillStyle = colour("--late");
      target.fillRect(gutter - 5, (line + 0.5) * row - Math.max(row, 4) / 2, 4, Math.max(row, 4));
      label(line, colour("--late"), "bold 11px system-ui, sans-serif");
    });
    for (let line = 0; line < rows; ++line) label(line, colour("--dim"), "11px system-ui, sans-serif");
    if (cell) {
      target.strokeStyle = colour("--ink"); target.lineWidth = 2;
      target.strokeRect(gutter + cell.x * column - 2, cell.line * row - 2, Math.max(column, 1) + 4, Math.max(row, 1) + 4);
    }
    at("heat-first").textContent = number(group.numbers[0]);
    at("heat-last").textContent = number(group.numbers[bins] - 1);
    at("heat-early").textContent = `${time(scale)} early`;
    at("heat-late").textContent = `${time(scale)} late or more`;
    at("heat-status").textContent = cell ? said(cell) : "Point at the picture for a value.";
  }
  function said({ x, line }) {
    const { bins, scale } = group.heat, y = order[line], value = valuesOf(group)[y * bins + x] / 127 * scale;
    const [begin, end] = [group.numbers[x], group.numbers[x + 1]], [low, high] = [group.rows[y], group.rows[y + 1]];
    const calls = end - begin > 1 ? `calls ${number(begin)} to ${number(end - 1)}` : `call ${number(begin)}`;
    const ranks = high - low > 1 ? `the latest of ranks ${rankOf(group, low)} to ${rankOf(group, high - 1)}` : named(rankOf(group, low));
    return `${calls}: ${ranks} is ${time(Math.abs(value))} ${value < 0 ? "early" : "late"}`;
  }
  function cellAt(event) {
    const box = at("heat").getBoundingClientRect(), { bins, rows } = group.heat;
    const along = (event.clientX - box.left - gutter) / (box.width - gutter);
    if (along < 0 || along >= 1) return null;
    const line = Math.floor((event.clientY - box.top) / box.height * rows);
    return { x: Math.floor(along * bins), line: Math.min(rows - 1, Math.max(0, line)) };
  }
  // The worst call of a column, or the nearest one that the page holds.
  function open({ x, line }) {
    const own = data.groups.indexOf(group), [begin, end] = [group.calls[x], group.calls[x + 1]];
    let best = -1, least = Infinity;
    data.calls.forEach((call, i) => {
      const away = call.group !== own ? Infinity : call.call < begin ? begin - call.call : Math.max(0, call.call - end + 1);
      if (away < least) { least = away; best = i; }
    });
    if (best < 0) return;
    go(best);
    at("heat-status").textContent = `${said({ x, line })}. ` +
      (least ? `The page does not hold it; below is the nearest that it does: ${data.calls[best].what}.` : `Below: ${data.calls[best].what}.`);
  }
  function select(next) { cell = next; drawHeat(); }
  function key(event) {
    const { bins, rows } = group.heat, steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (step) {
      const from = cell || { x: 0, line: 0 }, keep = (value, count) => Math.min(count - 1, Math.max(0, value));
      select(cell ? { x: keep(from.x + step[0], bins), line: keep(from.line + step[1], rows) } : from);
    } else if ((event.key === "Enter" || event.key === " ") && cell) open(cell);
    else if (event.key === "Escape") select(null);
    else return;
    event.preventDefault();
  }

  // ---- one call

  function times(call) {
    const all = new Int32Array(bytesOf(call.times).buffer), half = all.length / 2;
    return [all.subarray(0, half), all.subarray(half)];
  }
  function drawCall() {
    const call = data.calls[chosen], of = data.groups[call.group], [came, left] = times(call);
    const ranks = came.length, row = ranks <= 40 ? 18 : ranks <= 128 ? 6 : ranks <= 400 ? 2 : 1;
    const canvas = at("timeline"), ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${ranks * row + 4}px`;
    canvas.width = canvas.clientWidth * ratio; canvas.height = canvas.clientHeight * ratio;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    let last = 0, end = 1;
    for (let i = 0; i < ranks; ++i) { last = Math.max(last, came[i]); end = Math.max(end, left[i]); }
    const labels = row >= 12 ? gutter : 0, width = canvas.clientWidth - labels, x = (t) => labels + t / end * width;
    const [wait, move] = [colour("--wait"), colour("--move")];
    // A rank waits for those that come before it leaves; in some calls nobody leaves before all came.
    const waited = (exit) => call.all ? Math.min(last, exit) : came.reduce((t, each) => each <= exit ? Math.max(t, each) : t, 0);
    context.font = "11px system-ui, sans-serif";
    for (let i = 0; i < ranks; ++i) {
      const top = 2 + i * row, height = Math.max(row - (row > 3 ? 2 : 0), 1), until = waited(left[i]);
      context.fillStyle = wait; context.fillRect(x(came[i]), top, Math.max(x(until) - x(came[i]), 0), height);
      context.fillStyle = move; context.fillRect(x(until), top, Math.max(x(left[i]) - x(until), 0.7), height);
      if (late.has(rankOf(of, i))) { context.fillStyle = colour("--late"); context.fillRect(labels ? labels - 5 : 0, top, 4, Math.max(height, 2)); }
      if (labels) { context.fillStyle = colour(late.has(rankOf(of, i)) ? "--late" : "--dim"); context.fillText(`rank ${rankOf(of, i)}`, 2, top + row - 6); }
    }
    context.fillStyle = colour("--late"); context.fillRect(x(last) - 1, 0, 2, ranks * row + 4);
    at("timeline-axes").style.paddingLeft = `${labels}px`;
    at("timeline-end").textContent = time(end * call.unit);
    const latest = [...came.keys()].sort((a, b) => came[b] - came[a]).slice(0, 3);
    at("call-status").textContent = `${call.what}${call.by ? `; carried out by ${call.by}` : ""}. Last: ` +
      latest.map((i) => `${named(rankOf(of, i))} after ${time(came[i] * call.unit)}`).join(", ");
    at("call").value = String(chosen);
  }
  function listCalls() {
    const select = at("call");
    data.calls.forEach((call, i) => {
      const option = document.createElement("option");
      option.value = String(i); option.textContent = call.name;
      select.append(option);
    });
  }
  function go(to) { if (to >= 0 && to < data.calls.length) { chosen = to; drawCall(); } }

  data.groups.forEach((each, i) => {
    const option = document.createElement("option");
    option.value = String(i); option.textContent = each.title;
    at("group").append(option);
  });
  const sorted = () => { sortRows(); select(null); };
  at("group").addEventListener("change", (event) => { group = data.groups[Number(event.target.value)]; sorted(); });
  at("order").addEventListener("change", sorted);
  at("heat").addEventListener("pointermove", (event) => {
    const under = cellAt(event);
    if (under) at("heat-status").textContent = said(under);
  });
  at("heat").addEventListener("click", (event) => { const under = cellAt(event); if (under) { select(under); open(under); } });
  at("heat").addEventListener("keydown", key);
  at("call").addEventListener("change", (event) => go(Number(event.target.value)));
  at("before").addEventListener("click", () => go(chosen - 1));
  at("after").addEventListener("click", () => go(chosen + 1));
  const draw = () => { drawHeat(); drawCall(); };
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  at("heat-controls").hidden = false;
  at("group-label").hidden = data.groups.length < 2;
  at("call-controls").hidden = false;
  listCalls();
  sortRows();
  draw();
  document.documentElement.dataset.ready = "1";
})();
