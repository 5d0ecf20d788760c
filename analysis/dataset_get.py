"""orrery dataset get NAME: fetches a published data set, compares it with its checksum, converts it."""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import child
import plain_text
from datasets import catalogue, converters, download
from datasets.catalogue import GetError


def list_sets(sets, as_json):
    if as_json:
        rows = [{"name": s.name, "size": s.size, "licence": s.licence, "source": s.source,
                 "files": [{"url": f.url, "sha256": f.sha256} for f in s.files]} for s in sets.values()]
        print(json.dumps({"schema_version": 1, "sets": rows}))
        return
    width, size = max(map(len, sets)), max(len(s.size) for s in sets.values())
    for s in sets.values():
        checked = "checksum known" if all(f.sha256 for f in s.files) else "needs --sha256"
        print(f"{s.name:<{width}}  {s.size:>{size}}  {checked:<14}  {s.licence}; {s.source}")


def where_to_put(found, folder):
    """All files that are still to come, in one line."""
    missing = [file for file in found.files if not (folder / file.name).exists()]
    places = sorted({file.url.removesuffix(file.name) for file in missing})
    return (f"Without a network: put {', '.join(file.name for file in missing)} (from {', '.join(places)}) into "
            f"{folder}, and start this again")


def fetch(found, file, folder, asked):
    """The file in the folder of downloads, checked: one that was put there by hand too."""
    target = folder / file.name
    if target.exists():
        if file.sha256 is None or download.sum_of(target) != file.sha256:
            os.replace(target, target.with_name(target.name + ".part"))
            download.accept(target.with_name(target.name + ".part"), file, target)
        return target
    try:
        waiting = target.with_name(target.name + ".part")
        if file.sha256 and waiting.exists() and download.sum_of(waiting) == file.sha256:
            download.accept(waiting, file, target)  # a download that waited for its checksum
            return target
        download.download(catalogue.address(found, file), file, target, timeout=asked.timeout,
                          wait=asked.wait, quiet=asked.quiet)
    except GetError as error:
        if "cannot be had" in str(error):
            raise GetError(f"{error}. {where_to_put(found, folder)}") from error
        raise
    return target


def fetch_all(found, folder, asked):
    """All files. If checksums are missing, all files are fetched before one message names all of these checksums."""
    files, missing = [], []
    for file in found.files:
        try:
            files.append(fetch(found, file, folder, asked))
        except GetError as error:
            if file.sha256 is not None:
                raise
            if "SHA-256" not in str(error):
                raise
            missing.append((file, download.sum_of(folder / (file.name + ".part"))))
    if missing:
        words = " ".join(f"--sha256 {file.name}={total}" for file, total in missing)
        raise GetError(
            f"{found.name}: nobody has published a checksum that we know of {len(missing)} of its files, and "
            f"without one nothing is taken over. Compare these with somebody's whom you trust, and start again "
            f"with them: {words}")
    return files


def get(asked):
    sets = catalogue.load(asked.catalogue)
    if asked.list:
        return list_sets(sets, asked.json)
    found = catalogue.with_sums(sets[asked.name], asked.sha256)
    data = Path(asked.data)
    folder = data / ".downloads" / found.name
    converting = folder / "converting"  # the set was not there when its conversion began
    if (data / found.name).exists() and not converting.exists():
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise GetError(f"{data / found.name}: exists already: remove it to fetch the set anew")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GetError(f"{folder}: cannot be made: {error.strerror}; set ORRERY_DATA to a folder that may be "
                       "written") from error
    with open(folder / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise GetError(f"{folder}: another start is fetching {found.name}") from None
        if not asked.quiet:
            print(f"{found.name}: {found.size} from {found.source}; licence: {found.licence}", file=sys.stderr)
        for left in folder.glob("unpacked-*"):  # of a killed start
            shutil.rmtree(left)
        # A set appears as a whole: beside that mark it was put there by a start that was killed afterwards.
        if converting.exists() and (data / found.name).exists():
            return remove_download(folder, asked)
        files = fetch_all(found, folder, asked)
        if not (data / found.name).exists():
            converting.touch()
        with tempfile.TemporaryDirectory(dir=folder, prefix="unpacked-") as unpacked:
            source = converters.convert(found, files, Path(unpacked))
            words = [asked.program, "dataset", "convert", str(source), str(data / found.name)]
            words += ["--symmetric"] if found.options.get("symmetric") else []
            words += ["--json"] if asked.json else []
            status = subprocess.run(words, check=False, env=child.environment()).returncode
        if status != 0:
            converting.unlink(missing_ok=True)
            raise GetError(f"{found.name}: could not be converted (see above); its files stay in {folder}")
        remove_download(folder, asked)


def remove_download(folder, asked):
    """The mark goes last: until then the next start knows that the set is there."""
    mark = folder / "converting"
    if not asked.keep_download:
        for left in folder.iterdir():
            if left != mark:
                left.unlink()
    mark.unlink(missing_ok=True)
    if not asked.keep_download:
        folder.rmdir()


def arguments():
    parser = argparse.ArgumentParser(prog="orrery dataset get")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--catalogue", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--sha256", action="append", default=[])
    parser.add_argument("--keep-download", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--timeout", type=float, default=30)
    parser.add_argument("--wait", type=float, default=1)
    return parser.parse_args()


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, interrupted)
    try:
        get(arguments())
        sys.stdout.flush()
    except GetError as error:
        print(f"orrery: error: {plain_text.one_line(str(error))}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read the list has seen enough
        sys.stdout = None
    except KeyboardInterrupt:
        print("\norrery: interrupted; the next start continues with what has come so far", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
