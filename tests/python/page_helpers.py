"""HTML pages: their elements, their data, and what a browser shows of them."""

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser

import pytest

BROWSER = next(filter(None, map(shutil.which, (
    "chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"))), None)  # fmt: skip
needs_browser = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")


class Found(HTMLParser):
    """The elements of a page: names and attributes, texts, and what was left open."""

    VOID = ("meta", "input", "link", "img", "br", "wbr")

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    @property
    def tags(self):
        return [tag for tag, _ in self.elements]

    @property
    def policy(self):
        return next(attrs["content"] for _, attrs in self.elements if "http-equiv" in attrs)


def check(text):
    """A page is whole, names nothing twice, and loads nothing."""
    found = Found(text)
    assert found.open == []
    assert found.policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert ("script-src" in found.policy) is ("script" in found.tags)
    assert not {"link", "img", "iframe", "object"} & set(found.tags)
    outside = [value for _, attrs in found.elements for name, value in attrs.items()
               if name in ("src", "href", "xlink:href") and not value.startswith(("#", "https://doi"))]  # fmt: skip
    assert outside == []
    assert not re.search(r"url\((?!#)|@import", text)
    assert not re.search(r"innerHTML|insertAdjacent|document\.write|eval\(", text)
    identifiers = [attrs["id"] for _, attrs in found.elements if "id" in attrs]
    assert len(identifiers) == len(set(identifiers))
    return found


def data_of(text):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
    )


def dumped(text, folder, fragment="", size="1280,800"):
    """The document after its script has run; no script fails."""
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
         f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=3000",
         f"--window-size={size}", "--dump-dom", f"{file.as_uri()}{fragment}"],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert "CONSOLE" not in ended.stderr, ended.stderr
    return ended.stdout


DRIVER = """<!DOCTYPE html><iframe id="f" style="width:WIDTHpx;height:HEIGHTpx;border:0"></iframe>
<pre id="said"></pre><script>
const frame = document.getElementById("f");
frame.srcdoc = PAGE;
frame.onload = () => {
  const view = frame.contentWindow, inside = frame.contentDocument, at = (id) => inside.getElementById(id), said = {};
  const text = (id) => at(id).textContent;
  const key = (id, name, more = {}) => at(id).dispatchEvent(new view.KeyboardEvent("keydown", { key: name, bubbles: true, ...more }));
  const change = (id, value) => { at(id).value = value; at(id).dispatchEvent(new view.Event("change")); };
  // Parts of the canvas's width and height, right of the names of its rows.
  const mouse = (id, kind, x, y, more = {}) => {
    const box = at(id).getBoundingClientRect();
    const where = { clientX: box.left + 64 + x * (box.width - 64), clientY: box.top + y * box.height };
    const kinds = { wheel: view.WheelEvent, click: view.MouseEvent };
    at(id).dispatchEvent(new (kinds[kind] || view.PointerEvent)(kind, { bubbles: true, cancelable: true, ...where, ...more }));
  };
  ACTS
  document.getElementById("said").textContent = JSON.stringify(said);
};
</script>"""


def asked(text, acts, folder, width=1280, height=800):
    """What a script writes into `said` that acts in the page as its reader does."""
    page = json.dumps(text).replace("</", "<\\/")
    values = {"WIDTH": width, "HEIGHT": height, "PAGE": page, "ACTS": acts}
    driver = re.sub("WIDTH|HEIGHT|PAGE|ACTS", lambda name: str(values[name[0]]), DRIVER)
    document = dumped(driver, folder)
    return json.loads(unescape(re.search(r'<pre id="said">(.*?)</pre>', document)[1]))
