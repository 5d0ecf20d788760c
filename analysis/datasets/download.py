"""Downloads a file over HTTP: whole and correct, or not at all. A download that was cut is resumed, and compared with
its checksum before it gets its name."""

import hashlib
import http.client
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request

import plain_text
from datasets.catalogue import GetError

_PIECE = 1 << 18
_TRIES = 6


class Refused(GetError):
    """An error that trying again does not cure."""


class Progress:
    """The progress of a file: one line that is written over on a terminal, every tenth line elsewhere."""

    def __init__(self, name, quiet=False):
        self.name, self.quiet, self.begin, self.had = name, quiet, time.monotonic(), None
        self.draws = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.told, self.due = "", 0.0

    def update(self, done, all_of_it):
        now = time.monotonic()
        if self.had is None:
            self.had, self.begin = done, now
        if self.quiet or (self.draws and now < self.due):
            return
        self.due = now + 0.2
        rate = (done - self.had) / max(now - self.begin, 1e-3)
        text = f"{self.name}  {done / 1e6:.1f} MB at {rate / 1e6:.1f} MB/s"
        if all_of_it:
            left = f", {(all_of_it - done) / rate:.0f} s left" if rate > 0 and done < all_of_it else ""
            text = f"{self.name}  {done / 1e6:.1f} of {all_of_it / 1e6:.1f} MB at {rate / 1e6:.1f} MB/s{left}"
        if self.draws:
            columns = shutil.get_terminal_size().columns
            print("\r\033[K" + text[:columns - 1], end="", file=sys.stderr, flush=True)
        else:
            step = f"{10 * done // all_of_it}" if all_of_it else f"{done // 100_000_000}"
            if step != self.told:
                print(text, file=sys.stderr, flush=True)
            self.told = step

    def clear(self):
        if self.draws and not self.quiet:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Redirects only to http and https, and never from https to http: unencrypted data can be read by others."""

    max_redirections = 10

    def redirect_request(self, request, answer, code, message, headers, target):
        if not target.startswith(("https://", "http://")) or (
                request.full_url.startswith("https://") and not target.startswith("https://")):
            raise Refused(f"{request.full_url} leads to {target}, which is not followed")
        return super().redirect_request(request, answer, code, message, headers, target)


def sum_of(path):
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _state(part):
    """The version of the server's file to which a part belongs; without it the part is useless."""
    try:
        return json.loads(part.with_name(part.name + ".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _keep_state(part, answer, url):
    version = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
    part.with_name(part.name + ".json").write_text(json.dumps({"url": url, "version": version}),
                                                   encoding="utf-8")


def _open(url, part, timeout):
    """The answer, and the byte at which it begins."""
    state = _state(part)
    there = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "orrery", "Accept-Encoding": "identity"})
    if there and state.get("url") == url and state.get("version"):
        request.add_header("Range", f"bytes={there}-")
        request.add_header("If-Range", state["version"])
    else:
        there = 0
    opener = urllib.request.build_opener(_Redirects)
    answer = opener.open(request, timeout=timeout)
    if answer.status == 206:
        told = answer.headers.get("Content-Range", "")
        if not told.startswith(f"bytes {there}-"):
            raise http.client.HTTPException(f"the server was asked for bytes from {there} on, and gave '{told}'")
        return answer, there
    return answer, 0


def _length(answer):
    told = answer.headers.get("Content-Length")
    return int(told) if told and told.isdigit() else None


def _require_room(folder, wanted):
    free = shutil.disk_usage(folder).free
    if wanted and wanted > free:
        raise Refused(f"{folder}: {wanted / 1e6:.0f} MB are to come, and {free / 1e6:.0f} MB are free")


def _fetch(url, part, expected, timeout, progress):
    """One attempt; appends to the part. Raises OSError or HTTPException if it was cut."""
    answer, begin = _open(url, part, timeout)
    with answer:
        length = _length(answer)
        total = expected or (None if length is None else begin + length)
        if expected and length is not None and begin + length != expected:
            raise Refused(f"{url}: expected {expected} bytes, and the server has {begin + length}: it is "
                          "another file")
        _require_room(part.parent, length)
        if begin == 0:
            _keep_state(part, answer, url)
        with open(part, "ab" if begin else "wb") as out:
            done = begin
            progress.update(done, total)
            while piece := answer.read1(_PIECE):  # bytes that came before a silence are kept
                done += len(piece)
                if expected and done > expected:
                    raise Refused(f"{url}: more than the {expected} bytes that it should have")
                out.write(piece)
                progress.update(done, total)
            out.flush()
            os.fsync(out.fileno())
        if total is not None and done < total:
            raise http.client.IncompleteRead(b"", total - done)


def _is_final(error):
    """Whether the server has said no, so that another attempt gets the same answer."""
    return isinstance(error, urllib.error.HTTPError) and 300 <= error.code < 500 and error.code not in (
        408, 416, 425, 429)


def _why(error):
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError) or "timed out" in str(reason):
        return "it fell silent"
    if isinstance(error, http.client.IncompleteRead):
        return f"the connection ended {error.expected} bytes too early"
    return plain_text.one_line(" ".join(str(reason).split())) or type(error).__name__


def _drop(part):
    part.unlink(missing_ok=True)
    part.with_name(part.name + ".json").unlink(missing_ok=True)


def download(url, file, target, *, timeout=30.0, wait=1.0, quiet=False):
    """Puts the file that `url` gives to `target`, if its SHA-256 is `file.sha256`.

    A download that is cut, or silent for `timeout` seconds, is resumed, `_TRIES` times in all, also by the
    next call. Raises GetError: out of reach, refused, another file, no checksum to hold it against (then
    the file waits beside the target and its sum is told).
    """
    part = target.with_name(target.name + ".part")
    progress = Progress(file.name, quiet)
    for attempt in range(1, _TRIES + 1):
        try:
            _fetch(url, part, file.bytes, timeout, progress)
            break
        except GetError:
            _drop(part)
            raise
        except (OSError, http.client.HTTPException) as error:
            progress.clear()
            if isinstance(error, urllib.error.HTTPError) and error.code == 416:
                _drop(part)  # the part here is longer than the file there
            if isinstance(error, OSError) and error.errno in (28, 122, 27):  # no space, quota, too large
                raise GetError(f"{part}: cannot be written: {error.strerror}") from error
            if _is_final(error) or attempt == _TRIES:
                raise GetError(f"{url} cannot be had: {_why(error)}") from error
            if not quiet:
                print(f"{file.name}: {_why(error)}; trying again ({attempt + 1} of {_TRIES})", file=sys.stderr)
            time.sleep(wait * 2 ** (attempt - 1))
        finally:
            progress.clear()
    accept(part, file, target)


def accept(part, file, target):
    """Gives a downloaded file its name if its checksum is right."""
    found = sum_of(part)
    if file.sha256 is None:
        raise GetError(
            f"{file.name}: nobody has published a checksum that we know, and without one nothing is taken "
            f"over. What came has {part.stat().st_size} bytes and the SHA-256 {found}: compare it with that of "
            f"somebody you trust, and start again with --sha256 {file.name}={found}")
    if found != file.sha256:
        _drop(part)
        raise GetError(f"{file.name}: expected the SHA-256 {file.sha256}, found {found}: it is another file, "
                       "or was changed on its way; it has been removed")
    os.replace(part, target)
    _drop(part)
