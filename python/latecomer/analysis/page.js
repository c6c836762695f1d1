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
  let group = data.groups[0], chosen = 0;

  // ---- arrivals

  function drawHeat() {
    const { bins, rows, scale } = group.heat, values = new Int8Array(bytesOf(group.heat.values).buffer);
    const paper = rgb("--paper"), late = rgb("--late"), early = rgb("--early");
    const small = document.createElement("canvas");
    small.width = bins; small.height = rows;
    const context = small.getContext("2d"), image = context.createImageData(bins, rows);
    for (let i = 0; i < values.length; ++i) {
      const part = Math.sqrt(Math.abs(values[i]) / 127), end = values[i] >= 0 ? late : early;
      for (let k = 0; k < 3; ++k) image.data[4 * i + k] = paper[k] + part * (end[k] - paper[k]);
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    const canvas = at("heat"), ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${Math.min(420, Math.max(120, rows * 14))}px`;
    canvas.width = canvas.clientWidth * ratio; canvas.height = canvas.clientHeight * ratio;
    const target = canvas.getContext("2d"), row = canvas.clientHeight / rows;
    target.imageSmoothingEnabled = false;
    target.drawImage(small, gutter * ratio, 0, canvas.width - gutter * ratio, canvas.height);
    target.scale(ratio, ratio);
    target.font = "11px system-ui, sans-serif";
    target.textBaseline = "middle";
    target.fillStyle = colour("--dim");
    for (let y = 0, step = Math.ceil(14 / row); y < rows; y += step) {
      target.fillText(`rank ${rankOf(group, group.rows[y])}`, 2, Math.max(7, y * row + Math.min(row, 14) / 2));
    }
    at("heat-first").textContent = number(group.calls[0]);
    at("heat-last").textContent = number(group.calls[group.calls.length - 1] - 1);
    at("heat-early").textContent = `${time(scale)} early`;
    at("heat-late").textContent = `${time(scale)} late or more`;
    at("heat-status").textContent = "Point at the picture for a value.";
  }
  function point(event) {
    const box = at("heat").getBoundingClientRect(), { bins, rows, scale } = group.heat;
    const along = (event.clientX - box.left - gutter) / (box.width - gutter);
    const x = Math.min(bins - 1, Math.max(0, Math.floor(along * bins)));
    const y = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * rows)));
    const value = new Int8Array(bytesOf(group.heat.values).buffer)[y * bins + x] / 127 * scale;
    const [begin, end] = [group.calls[x], group.calls[x + 1]], [low, high] = [group.rows[y], group.rows[y + 1]];
    const calls = end - begin > 1 ? `calls ${number(begin)} to ${number(end - 1)}` : `call ${number(begin)}`;
    const ranks = high - low > 1 ? `the latest of ranks ${rankOf(group, low)} to ${rankOf(group, high - 1)}` : named(rankOf(group, low));
    at("heat-status").textContent = `${calls}: ${ranks} is ${time(Math.abs(value))} ${value < 0 ? "early" : "late"}`;
  }

  // ---- one call

  function times(call) {
    const all = new Int32Array(bytesOf(call.times).buffer), half = all.length / 2;
    return [all.subarray(0, half), all.subarray(half)];
  }
  function drawCall() {
    const call = data.calls[chosen], of = data.groups[call.group], [came, left] = times(call);
    const ranks = came.length, row = ranks <= 32 ? 18 : ranks <= 128 ? 6 : ranks <= 400 ? 2 : 1;
    const canvas = at("timeline"), ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${ranks * row + 4}px`;
    canvas.width = canvas.clientWidth * ratio; canvas.height = canvas.clientHeight * ratio;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    let last = 0, end = 1;
    for (let i = 0; i < ranks; ++i) { last = Math.max(last, came[i]); end = Math.max(end, left[i]); }
    const labels = row >= 12 ? gutter : 0, width = canvas.clientWidth - labels, x = (t) => labels + t / end * width;
    const [wait, move] = [colour("--wait"), colour("--move")];
    context.font = "11px system-ui, sans-serif";
    for (let i = 0; i < ranks; ++i) {
      const top = 2 + i * row, height = Math.max(row - (row > 3 ? 2 : 0), 1), until = Math.min(last, left[i]);
      context.fillStyle = wait; context.fillRect(x(came[i]), top, Math.max(x(until) - x(came[i]), 0), height);
      context.fillStyle = move; context.fillRect(x(until), top, Math.max(x(left[i]) - x(until), 0.7), height);
      if (labels) { context.fillStyle = colour("--dim"); context.fillText(`rank ${rankOf(of, i)}`, 2, top + row - 6); }
    }
    context.fillStyle = colour("--late"); context.fillRect(x(last) - 1, 0, 2, ranks * row + 4);
    at("timeline-axes").style.paddingLeft = `${labels}px`;
    at("timeline-end").textContent = time(end * call.unit);
    const order = [...came.keys()].sort((a, b) => came[b] - came[a]).slice(0, 3);
    at("call-status").textContent = `${call.what}, served by ${call.by}. Last: ` +
      order.map((i) => `${named(rankOf(of, i))} after ${time(came[i] * call.unit)}`).join(", ");
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
  at("group").addEventListener("change", (event) => { group = data.groups[Number(event.target.value)]; drawHeat(); });
  at("heat").addEventListener("mousemove", point);
  at("call").addEventListener("change", (event) => go(Number(event.target.value)));
  at("before").addEventListener("click", () => go(chosen - 1));
  at("after").addEventListener("click", () => go(chosen + 1));
  const draw = () => { drawHeat(); drawCall(); };
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  at("heat-controls").hidden = data.groups.length < 2;
  at("call-controls").hidden = false;
  listCalls();
  draw();
  document.documentElement.dataset.ready = "1";
})();
