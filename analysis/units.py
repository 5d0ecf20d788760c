"""Numbers for people. Files hold seconds, bytes and bytes per second."""


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
