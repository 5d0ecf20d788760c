"""The manual as a site: every link leads somewhere, every page is linked, search and API pages are there."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.environ["ORRERY_SOURCES"] + "/docs")
import manual


class Site(unittest.TestCase):
    def test_TheManualBuilds(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "site"
            made = subprocess.run([sys.executable, "-B", os.environ["ORRERY_SOURCES"] + "/docs/manual.py", out],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            pages = {file.stem for file in out.glob("*.html")}
            self.assertLessEqual({file.stem for file in manual.ROOT.glob("docs/*.md")}, pages)
            self.assertTrue((out / "search/search_index.js").exists())
            api = (out / "api.html").read_text()
            for name in ("kernels.partition", "kernels.sample", "checkpoint.read_checkpoint", "runs.predict",
                         "panels.curves"):
                self.assertIn(f'id="orrery.{name}"', api)

    def test_AnOrphanIsTold(self):
        root = manual.ROOT
        texts = {root / "README.md": "[a](docs/a.md)", root / "docs/a.md": "# A", root / "docs/b.md": "# B\n[a](a.md)"}
        with self.assertRaisesRegex(manual.SiteError, "no page links to docs/b.md"):
            manual.require_no_orphans(texts)
        manual.require_no_orphans({**texts, root / "README.md": "[a](docs/a.md) [b](docs/b.md#x)"})

    def test_ALinkThatLeadsNowhereIsTold(self):
        file = manual.ROOT / "docs/python.md"
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(manual.SiteError, "links to nowhere.md"):
            manual.on_site(file, "python.md", "[x](nowhere.md)", {}, Path(folder))

    def test_LinksInCodeAreCode(self):
        file = manual.ROOT / "docs/python.md"
        text = "```cpp\na[i](nowhere)\n```\n[keys](keys.md#train)"
        with tempfile.TemporaryDirectory() as folder:
            manual.on_site(file, "python.md", text, {manual.ROOT / "docs/keys.md": "keys.md"}, Path(folder))
            self.assertEqual((Path(folder) / "python.md").read_text(), text)


if __name__ == "__main__":
    unittest.main()
