"""Files that appear at once or not at all."""

import os


def write(file, text):
    """Replaces the file; what is no file (a pipe, a terminal) is written to as it stands."""
    if file.exists() and not file.is_file():
        file.write_text(text, encoding="utf-8")
        return
    file = file.resolve()
    part = file.with_name(file.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
