// ---- one call: that which is selected, else the most expensive one
let opened = data.costliest;
function timesOf(call) {
  const all = new Uint16Array(bytesOf(call.times).buffer), half = all.length / 2;
  return [all.subarray(0, half), all.subarray(half)];
}
function drawCall() {
  if (picked.call !== null) opened = picked.call;
  const call = data.calls[opened], of = data.groups[call.group], [came, left] = timesOf(call);
  const ranks = came.length, row = ranks <= 40 ? 18 : ranks <= 128 ? 6 : ranks <= 400 ? 2 : 1;
  const canvas = at("timeline"), context = sized(canvas, ranks * row + 4);
  let last = 0, end = 1;
  for (let i = 0; i < ranks; ++i) { last = Math.max(last, came[i]); end = Math.max(end, left[i]); }
  const labels = row >= 12 ? gutter : 8, width = canvas.clientWidth - labels, x = (t) => labels + t / end * width;
  // A rank waits for those that come before it leaves; in some calls nobody leaves before all came.
  const waited = (exit) => call.all ? Math.min(last, exit) : came.reduce((t, each) => each <= exit ? Math.max(t, each) : t, 0);
  for (let i = 0; i < ranks; ++i) {
    const rank = rankOf(of, i), top = 2 + i * row, height = Math.max(row - (row > 3 ? 2 : 0), 1), until = waited(left[i]);
    const low = row > 3 ? height / 2 : height; // of waiting
    context.fillStyle = colour("--wait"); context.fillRect(x(came[i]), top + (height - low) / 2, Math.max(x(until) - x(came[i]), 0), low);
    context.fillStyle = colour("--move"); context.fillRect(x(until), top, Math.max(x(left[i]) - x(until), 0.7), height);
    const mine = rank === picked.rank, ink = mine ? "--pick" : late.has(rank) ? "--late" : "--dim";
    if (mine || late.has(rank)) { context.fillStyle = colour(ink); context.fillRect(labels - 5, top, 4, Math.max(height, 2)); }
    if (row >= 12) { context.fillStyle = colour(ink); context.fillText(`rank ${rank}`, 2, top + row - 6); }
  }
  context.fillStyle = colour("--late"); context.fillRect(x(last) - 1, 0, 2, ranks * row + 4);
  at("timeline-axes").style.paddingLeft = `${labels}px`;
  at("timeline-end").textContent = seconds(end * call.unit);
  const latest = [...came.keys()].sort((a, b) => came[b] - came[a]).slice(0, 3);
  at("call-status").textContent = `${call.what}${call.by ? `; carried out by ${call.by}` : ""}. Last: ` +
    latest.map((i) => `${named(rankOf(of, i))} after ${seconds(came[i] * call.unit)}`).join(", ");
  at("call").value = String(opened);
}
function calls() {
  const go = (to) => { if (to >= 0 && to < data.calls.length) pick({ call: to }); };
  fill(at("call"), data.calls.map((call) => call.what));
  at("call").addEventListener("change", (event) => go(Number(event.target.value)));
  at("before").addEventListener("click", () => go(opened - 1));
  at("after").addEventListener("click", () => go(opened + 1));
  at("call-controls").hidden = false;
  parts.push(drawCall);
}
