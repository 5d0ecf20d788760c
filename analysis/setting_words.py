"""Swept settings in few words, for pages and pictures."""

import re

# Keys whose value says what they are.
PLAIN = {"strategy.type", "model.type", "dataset.path", "dataset.generate", "cluster.file", "backend", "case"}
COUNTED = {"ranks": "rank", "gpus": "GPU", "servers": "server"}


def pairs(label):
    """[(key, value)] of a label: "seed=1, cluster.ranks=2"."""
    return [tuple(part.split("=", 1)) for part in re.split(r", (?=[A-Za-z_][\w.]*=)", label or "") if "=" in part]


def _words(key, value):
    name = "cut by" if key == "partition.method" else key.rsplit(".", 1)[-1]
    if key in PLAIN:
        return str(value)
    if key.startswith("cluster.") and name in COUNTED:
        return f"{value} {COUNTED[name]}{'' if str(value) == '1' else 's'}"
    return f"{name} {value}"


def short(settings):
    """"full_graph, depth 2, 4 ranks" of pairs of strategy.type, strategy.depth and cluster.ranks with their values."""
    return ", ".join(_words(key, value) for key, value in settings)
