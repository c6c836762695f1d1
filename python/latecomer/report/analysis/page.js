// ---- the start
pickers();
steps();
if (data.groups.length) { arrivals(); calls(); }
fromAddress();
mark();
addEventListener("resize", mark);
for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", mark);
document.documentElement.dataset.ready = "1";
