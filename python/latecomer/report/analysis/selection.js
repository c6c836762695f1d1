// One selection for all parts: a rank, a place in the program, a call that the page holds.
const rankOf = (group, place) => group.members.length ? group.members[place] : group.first + place * group.stride;
const named = (rank) => `rank ${rank} on ${data.hosts[data.host[rank]]}`;
const late = new Set(data.late);
const gutter = 64; // for the names of ranks, left of a picture
const picked = { rank: null, place: null, call: null };
const parts = []; // functions that mark what is selected, called when something changes
const limits = { rank: data.host.length, place: data.places.length, call: data.calls.length };

// Selects what `change` names; the address keeps it.
function pick(change) {
  Object.assign(picked, change);
  const said = Object.entries(picked).filter(([, value]) => value !== null).map(([name, value]) => `${name}=${value}`);
  try { history.replaceState(null, "", `#${said.join("&")}`); } catch { /* in a frame without an address, as of a notebook */ }
  mark();
}
function mark() {
  for (const part of parts) part();
  for (const row of document.querySelectorAll("[data-rank], [data-place]")) {
    const mine = ["rank", "place"].some((name) => name in row.dataset && Number(row.dataset[name]) === picked[name]);
    row.classList.toggle("mine", mine);
    row.querySelector("button")?.setAttribute("aria-pressed", String(mine));
  }
}
function fromAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(picked)) {
    const value = /^\d+$/.test(said.get(name)) ? Number(said.get(name)) : NaN;
    picked[name] = value < limits[name] ? value : null;
  }
}
function fill(select, words, none) {
  if (none) select.append(element("option", { value: "", textContent: none }));
  words.forEach((each, i) => select.append(element("option", { value: String(i), textContent: each })));
}
function pickers() {
  const words = { rank: data.host.map((_, rank) => String(rank)), place: data.places, call: data.calls.map((call) => call.what) };
  for (const name of Object.keys(picked)) {
    const select = at(`pick-${name}`);
    fill(select, words[name], "none");
    select.setAttribute("aria-label", name);
    select.addEventListener("change", () => pick({ [name]: select.value === "" ? null : Number(select.value) }));
  }
  at("pick-none").addEventListener("click", () => pick({ rank: null, place: null, call: null }));
  at("picked").hidden = false;
  document.addEventListener("click", (event) => {
    const row = event.target.closest("button.pick, #bars g")?.closest("[data-rank], [data-place]");
    if (!row) return;
    const name = "rank" in row.dataset ? "rank" : "place", value = Number(row.dataset[name]);
    pick({ [name]: picked[name] === value ? null : value });
  });
  addEventListener("hashchange", () => { fromAddress(); mark(); });
  parts.push(() => {
    const said = [];
    for (const name of Object.keys(picked)) at(`pick-${name}`).value = picked[name] === null ? "" : String(picked[name]);
    const { rank, place, call } = picked;
    if (rank !== null) said.push(`${named(rank)} costs the others ${seconds(data.cost[rank])}, waits ${seconds(data.wait[rank])} itself`);
    if (place !== null) said.push(data.places[place]);
    if (call !== null) said.push(data.calls[call].what);
    at("picked-status").textContent = said.join("; ");
  });
}
// The rank's row in the map of a group: an index of its bins; -1: it is not in the group.
function binOf(group, rank) {
  const size = group.rows[group.rows.length - 1];
  for (let place = 0; place < size; ++place) {
    if (rankOf(group, place) === rank) return group.rows.findIndex((end, i) => i && place < end) - 1;
  }
  return -1;
}
const ranksOf = (group, row) => Array.from({ length: group.rows[row + 1] - group.rows[row] }, (_, i) => rankOf(group, group.rows[row] + i));
function rowSaid(group, row) {
  const ranks = ranksOf(group, row);
  return ranks.length > 1 ? `the latest of ranks ${ranks[0]} to ${ranks[ranks.length - 1]}` : named(ranks[0]);
}
const columnOf = (group, call) => group.calls.findIndex((end, i) => i && call < end) - 1;
// Seconds; the page holds their square roots.
function valuesOf({ heat }) {
  heat.seconds ??= Float32Array.from(new Int16Array(bytesOf(heat.values).buffer), (root) => root * Math.abs(root) * heat.unit);
  return heat.seconds;
}

// The curve of the selected rank in the picture of lateness over time, and a line at the call.
if (data.groups.length) parts.push(() => {
  const path = at("curve-rank"), [left, width, top, height, most] = path.dataset.box.split(" ").map(Number);
  const group = data.groups[0], { bins } = group.heat, x = (i) => left + width / bins * (i + 0.5);
  const bin = picked.rank === null ? -1 : binOf(group, picked.rank);
  const y = (value) => top + height * (1 - within(value / most, 0, 1));
  const points = bin < 0 ? [] : [...valuesOf(group).subarray(bin * bins, (bin + 1) * bins)];
  path.setAttribute("d", points.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(""));
  at("curve-name").hidden = bin < 0;
  at("curve-name").lastElementChild.textContent = bin < 0 ? "" : `lateness of ${rowSaid(group, bin)}`;
  const call = picked.call === null ? null : data.calls[picked.call];
  const shown = call && call.group === 0 ? x(columnOf(group, call.call)) : null;
  at("curve-call").setAttribute("d", shown === null ? "" : `M${shown} ${top}V${top + height}`);
});
