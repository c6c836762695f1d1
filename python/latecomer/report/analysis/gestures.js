// Zoom and move of a picture whose x is time: by wheel, two fingers, drag. `view` has `from` and `to`; `limits` bounds it.
function zoomed(view, limits, factor, centre) {
  const length = within((view.to - view.from) * factor, (limits[1] - limits[0]) / 5000, limits[1] - limits[0]);
  const part = (centre - view.from) / (view.to - view.from);
  moved(view, limits, centre - part * length, length);
}
function moved(view, limits, from, length = view.to - view.from) {
  view.from = within(from, limits[0], limits[1] - length);
  view.to = view.from + length;
}
// `timeAt(x)`: of a point of the canvas; `changed` draws anew; `point(event)` and `choose(event)`: the pointer rests, or clicks.
function gestures(canvas, view, limits, timeAt, { changed, point, choose }) {
  const down = new Map(); // pointers
  let dragged = false;
  const x = (event) => event.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener("wheel", (event) => {
    const along = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!along && !event.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
    event.preventDefault();
    if (along) moved(view, limits(), view.from + event.deltaX * (view.to - view.from) / canvas.clientWidth);
    else zoomed(view, limits(), Math.exp(within(event.deltaY, -100, 100) / 250), timeAt(x(event)));
    changed();
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (!down.size) dragged = false;
    down.set(event.pointerId, x(event));
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) { point(event); return; }
    const before = down.get(event.pointerId), now = x(event), others = [...down].filter(([id]) => id !== event.pointerId);
    if (!dragged && !others.length && Math.abs(now - before) < 5) return;
    dragged = true;
    down.set(event.pointerId, now);
    if (others.length) {
      const other = others[0][1], wide = Math.max(Math.abs(now - other), 1);
      zoomed(view, limits(), Math.max(Math.abs(before - other), 1) / wide, timeAt(other));
    } else moved(view, limits(), view.from - timeAt(now) + timeAt(before));
    changed();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (down.delete(event.pointerId) && !dragged && !down.size) choose(event);
  });
  canvas.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
}
