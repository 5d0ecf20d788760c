"""Numbers for people. Files hold seconds, bytes and bytes per second."""

import re


def _short(value):
    """Three digits, or all before the point: 1,234 and not 1.23e+03."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def _scaled(value, units, base):
    sign = "-" if value < 0 else ""
    value = abs(value)
    for factor, unit in units:
        if value >= factor * base or factor == units[-1][0]:
            return f"{sign}{_short(value / factor)} {unit}"


def seconds(value):
    if value is None:
        return "-"
    if value == 0:
        return "0 s"
    return _scaled(value, [(1, "s"), (1e-3, "ms"), (1e-6, "µs")], 1)


def bytes_(value):
    """Binary, as memory is sold: KiB, MiB, GiB."""
    if value is None:
        return "-"
    if abs(value) < 1024:
        return f"{value:.0f} B"
    return _scaled(value, [(2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")], 1)


def rate(value):
    """Decimal, as links are sold: GB/s."""
    if not value:
        return "-"
    return _scaled(value, [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"),
                           (1, "B/s")], 1)


_THREE_DIGITS = re.compile(r"(\d{1,3}(?:\.\d+)?) ([µm]?s|[KMGT]iB|[kMGT]?B/s)\b(.*)")


def even(cells):
    """The cells of a column; where one has three digits with some behind the point ("1.15 ms"), "3.5 ms" is
    "3.50 ms"."""
    found = [_THREE_DIGITS.fullmatch(cell) for cell in cells]
    digits = lambda number: len(number.replace(".", "").lstrip("0"))
    if not any(one and "." in one[1] and digits(one[1]) == 3 for one in found):
        return cells
    longer = lambda one: f"{float(one[1]):#.3g} {one[2]}{one[3]}"
    return [longer(one) if one and 0 < digits(one[1]) < 3 else cell for one, cell in zip(found, cells)]


def unbroken(text):
    """With spaces between numbers and units at which no line breaks."""
    return re.sub(r"(?<=\d) (?=(?:%|×|[µm]?s|[KMGT]i?B|kB|B|[kMGT]?B/s)(?![\w/]))", "\u00a0", text)


def percent(fraction, digits=1):
    return "-" if fraction is None else f"{100 * fraction:.{digits}f} %"


def signed_percent(fraction, digits=1):
    """"+12.3 %"; a number that rounds to 0 has no sign."""
    if fraction is None:
        return "-"
    rounded = round(100 * fraction, digits)
    return f"{rounded:+.{digits}f} %" if rounded else f"{0:.{digits}f} %"


def plain(value, digits=4):
    """A number with this many significant digits, without a unit."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"
    return str(value)
