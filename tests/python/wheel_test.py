"""What `pip install .` packs: the files by the build system's own plan for a wheel, laid out with the programs of this
build, work as an installed package that knows no source tree. Nothing is compiled again."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import unittest
from pathlib import Path

SOURCES, BUILD = Path(os.environ["ORRERY_SOURCES"]), Path(os.environ["ORRERY_BUILD"])
TRY = """
import json, sys
sys.path.insert(0, sys.argv[1])
import orrery, orrery.runs
config = {"name": "t", "dataset": {"generate": "communities", "vertices": 200, "edges": 800, "features": 4},
          "model": {"type": "gcn", "hidden": 4}, "strategy": {"type": "full_graph"}, "train": {"epochs": 2}}
answer = orrery.run(config, out="run", quiet=True)
print(json.dumps({"package": orrery.__file__, "program": orrery.runs.program(), "epochs": answer["epochs"],
                  "parts": orrery.partition([[0, 1], [1, 0]], 2, method="block").tolist(),
                  "figures": len(orrery.paper_figures()), "planned": bool(orrery.plan("configs/quickstart.json"))}))
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = Path(holder.name)
        project = tomllib.loads((SOURCES / "pyproject.toml").read_text())
        cls.scripts = project["project"]["scripts"]
        native = cls.folder / "native.ini"  # what meson-python passes
        native.write_text(f"[binaries]\npython = '{sys.executable}'\n")
        made = subprocess.run(["meson", "setup", cls.folder / "build", SOURCES, "--native-file", native,
                               *project["tool"]["meson-python"]["args"]["setup"]], capture_output=True, text=True)
        assert made.returncode == 0, made.stdout + made.stderr
        said = subprocess.run(["meson", "introspect", "--install-plan", cls.folder / "build"], check=True,
                              capture_output=True, text=True)
        plan = json.loads(said.stdout)
        cls.destinations = {}
        for kind, files in plan.items():
            for source, one in files.items():
                # Of a target the file that this build has made.
                source = Path(source.replace(str(cls.folder / "build"), str(BUILD)))
                cls.destinations[source] = one["destination"], set(one.get("exclude_dirs", [])), set(
                    one.get("exclude_files", []))
        cls.site = cls.folder / "site"
        for source, (place, without_folders, without_files) in cls.destinations.items():
            if not source.exists():
                continue
            to = cls.site / place.removeprefix("{py_platlib}/")
            to.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                # Both are relative to the folder.
                left_out = lambda at, names, top=source, bad=without_folders | without_files: [
                    name for name in names if str((Path(at) / name).relative_to(top)) in bad or name == "__pycache__"]
                shutil.copytree(source, to, ignore=left_out, dirs_exist_ok=True)
            else:
                shutil.copy(source, to)

    def test_AllOfItLiesInThePackage(self):
        for source, (place, _, _) in self.destinations.items():
            # pip takes nothing else
            self.assertRegex(place, r"^\{py_platlib\}/(orrery(/|$)|_orrery\.|_orrery-stubs/__init__.pyi$)", source)
            self.assertTrue(source.exists(), f"{source}: planned, but not built by the targets of pyproject.toml")

    def test_TheInstalledPackageNeedsNoSources(self):
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("ORRERY_", "PYTHON"))}
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        # Experiments of the manual are named from the folder in which one is.
        (elsewhere / "configs").symlink_to(self.site / "orrery/program/share/orrery/configs")

        tried = subprocess.run([sys.executable, "-B", "-c", TRY, self.site], cwd=elsewhere, env=plain,
                               capture_output=True, text=True)

        self.assertEqual(tried.returncode, 0, tried.stderr)
        said = json.loads(tried.stdout.splitlines()[-1])
        for key in ("package", "program"):
            self.assertTrue(said[key].startswith(str(self.site)), said[key])
        self.assertEqual((said["epochs"], sorted(said["parts"]), said["planned"]), (2, [0, 1], True))
        self.assertGreater(said["figures"], 0)

    def test_TheCommandIsTheProgram(self):
        module, _, function = self.scripts["orrery"].partition(":")
        code = f"import sys; sys.path.insert(0, {str(self.site)!r}); import {module}; {module}.{function}()"
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("ORRERY_", "PYTHON"))}

        said = subprocess.run([sys.executable, "-B", "-c", code, "version"], capture_output=True, text=True, env=plain)

        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("orrery", said.stdout)

    def test_CheckersOfTypesFindThoseOfTheExtension(self):
        self.assertEqual((self.site / "_orrery-stubs/__init__.pyi").read_text(), (SOURCES / "python/_orrery.pyi").read_text())
        self.assertTrue((self.site / "orrery/py.typed").exists())

    def test_TheExtensionIsOfThisInterpreter(self):
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        self.assertEqual([file.name for file in self.site.glob("_orrery*.so")], [f"_orrery{suffix}"])


if __name__ == "__main__":
    unittest.main()
