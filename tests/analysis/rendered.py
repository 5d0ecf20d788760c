"""A page as Chromium shows it: pictures, and faults that only the layout shows.

Run as a program it makes light.png, dark.png and phone.png of a report:
  python3 tests/analysis/rendered.py results/quickstart/report.html FOLDER
"""

import html
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PHONE = 390  # pixels
WIDTHS = {"light": (1040, 1), "dark": (1040, 0), "phone": (PHONE, 1)}  # and Chromium's scheme

# Words that are cut, covered by too little contrast or too small, and a page that moves sideways.
_LOOK = """
const frame = document.querySelector('iframe'), page = frame.contentDocument;
for (const one of page.querySelectorAll('details')) one.open = true;
const told = [], view = frame.contentWindow, width = frame.clientWidth;
if (page.documentElement.scrollWidth > width)
  told.push(`the page is ${page.documentElement.scrollWidth} pixels wide on ${width}`);
const numbers = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
const light = c => { const [r, g, b] = c.slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05; };
const paper = node => { for (; node; node = node.parentElement) {
  const c = numbers(view.getComputedStyle(node).backgroundColor);
  if (c.length == 3 || c[3] > 0.5) return c; } return [255, 255, 255]; };
const words = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
let seen = 0, scaled = 0;
while (words.nextNode()) {
  const node = words.currentNode.parentElement, text = words.currentNode.textContent.trim();
  if (!text || !node.checkVisibility() || node.closest('title')) continue;
  const style = view.getComputedStyle(node), box = node.getBoundingClientRect();
  if (!box.width) continue;
  seen += 1;
  const drawn = node.ownerSVGElement != null;
  const ink = numbers(drawn ? style.fill : style.color), under = paper(node);
  const ratio = Math.max(light(ink), light(under)) / Math.min(light(ink), light(under));
  if (ratio < 4.5) told.push(`"${text.slice(0, 40)}" stands out ${ratio.toFixed(2)}:1`);
  if (parseFloat(style.fontSize) < 11) told.push(`"${text.slice(0, 40)}" in ${style.fontSize}`);
  if (!node.closest('.wide') && !node.closest('pre') && (box.right > width + 1 || box.left < -1))
    told.push(`"${text.slice(0, 40)}" leaves the page`);
}
const out = document.createElement('pre');
out.id = 'told';
out.textContent = JSON.stringify({seen, told});
document.body.append(out);
"""


def chromium():
    """The program, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


def _start(words, scheme, folder):
    return subprocess.run(
        [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={folder}/profile", f"--blink-settings=preferredColorScheme={scheme}",
         *words], capture_output=True, text=True, timeout=120, check=True).stdout


def look(source, width, scheme):
    """{"seen": texts that were checked, "told": faults} of the page at this width."""
    with tempfile.TemporaryDirectory() as folder:
        wrapper = Path(folder) / "wrapper.html"
        wrapper.write_text(
            f'<body style="margin:0"><iframe style="border:0;width:{width}px;height:900px" '
            f'srcdoc="{html.escape(source)}"></iframe><script>onload = () => {{{_LOOK}}}</script>',
            encoding="utf-8")
        shown = _start(["--virtual-time-budget=3000", "--dump-dom", wrapper.as_uri()], scheme, folder)
    told = shown[shown.rindex('<pre id="told">') + len('<pre id="told">'):]
    return json.loads(html.unescape(told[:told.index("</pre>")]))


def picture(page, file, width, scheme, height=4000):
    """A screenshot of the top of the page. Chromium makes no window narrower than 500 pixels, so a
    narrow one is a frame in a wider."""
    with tempfile.TemporaryDirectory() as folder:
        wrapper = Path(folder) / "wrapper.html"
        wrapper.write_text(f'<body style="margin:0"><iframe src="{page.resolve().as_uri()}" '
                           f'style="border:0;width:{width}px;height:{height}px"></iframe>')
        _start([f"--window-size={max(width, 500)},{height}", f"--screenshot={file.resolve()}",
                wrapper.as_uri()], scheme, folder)


def main():
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    source, wrong = page.read_text(encoding="utf-8"), 0
    for name, (width, scheme) in WIDTHS.items():
        picture(page, folder / f"{name}.png", width, scheme)
        found = look(source, width, scheme)
        print(f"{folder / name}.png: {found['seen']} texts looked at")
        print("".join(f"  {one}\n" for one in found["told"]), end="")
        wrong += len(found["told"])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
