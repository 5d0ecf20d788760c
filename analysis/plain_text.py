"""Texts from files in one line without control characters for terminals, as core/terminal/plain_text.hpp writes
them."""

import unicodedata


def _shown(letter):
    if letter == "\n":
        return "\\n"
    if unicodedata.category(letter) != "Cc":
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode())


def one_line(text):
    return "".join(map(_shown, text))


def in_one_line(value):
    """The contents of a JSON file, each text on one line."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list):
        return [in_one_line(one) for one in value]
    if isinstance(value, dict):
        return {one_line(key): in_one_line(one) for key, one in value.items()}
    return value
