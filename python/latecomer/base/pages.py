"""The style sheet that all HTML pages share."""

from __future__ import annotations

# A page's Content-Security-Policy: no script, nothing loaded from anywhere.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

# The style sheet of all pages.
STYLE = """
:root { color-scheme: light dark; --ink: #2b2f36; --dim: #667080; --grid: #d5d9e0;
  --paper: #ffffff; --best: #e3f4ea; --wrong: #b3261e; --faint: #b4bac4; --shade: #00000050; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ec; --dim: #9aa3b2; --grid: #3a404a; --paper: #16191e;
    --best: #1d3a2b; --wrong: #ff8a80; --faint: #5a6270; --shade: #ffffff60; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
  max-width: 66rem; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .5rem; }
.lead { color: var(--dim); margin: .2rem 0 1.2rem; }
ul.findings { padding-left: 1.2rem; }
figure { margin: 1.5rem 0; }
figure svg { width: 100%; height: auto; min-width: 40rem; }
figcaption { color: var(--dim); font-size: .85rem; }
/* What is wider than the screen scrolls in its box. The shadows at the edges stay; what hides them
   moves with the content: so there is a shadow where more is to be seen. */
.wide, figure { overflow-x: auto; background-repeat: no-repeat;
  background-attachment: local, local, scroll, scroll;
  background-image: linear-gradient(to right, var(--paper) 40%, transparent),
    linear-gradient(to left, var(--paper) 40%, transparent),
    linear-gradient(to right, var(--shade), transparent),
    linear-gradient(to left, var(--shade), transparent);
  background-position: left, right, left, right;
  background-size: 2.4rem 100%, 2.4rem 100%, .8rem 100%, .8rem 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .9rem 0 .3rem; }
summary { cursor: pointer; padding: .9rem 0 .3rem; }
th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--grid); text-align: right;
  white-space: nowrap; font-weight: normal; }
thead th { color: var(--dim); font-size: .85rem; vertical-align: bottom; }
.sweep thead th, tbody th:only-of-type { white-space: normal; }
th[scope=row], thead th:first-child { text-align: left; }
th small { color: var(--dim); }
tr.best, td.best { background: var(--best); } tr.yardstick th { font-style: italic; }
tr.best th[scope=row] { font-weight: 600; }
td.wrong { color: var(--wrong); font-weight: 700; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
p.alarm { color: var(--wrong); font-weight: 700; }
"""
