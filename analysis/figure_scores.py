"""Test accuracy of inferences that a figure makes: how often the largest column of a row is the label.

NumPy is imported where it is used: `orrery figure --list` needs none.
"""

import json
import subprocess

import child
import figure_cuts
import whole_file
from checked_json import text
from figure_file import FigureError, made

TEST = 2  # in split.npy


def test_vertices(program, file, settings, folder):
    """The numbers of the test vertices as a training with these settings draws them: `orrery partition` writes them
    with one part of the data set. The model does not matter, so one that every strategy takes stands in for it."""
    import numpy

    drawn = folder / f"split-{settings['seed']}.npy"
    if not drawn.exists():
        cut, experiment = folder / "cut", folder / "cut.json"
        whole_file.write(experiment, json.dumps({
            "name": "split", "dataset": json.loads(file.read_text())["dataset"], "model": {"type": "gcn"},
            "strategy": {"type": "full_graph"}}))
        words = [program, "partition", str(experiment), "--parts", "1", "--hops", "0", "--force", "--out", str(cut)]
        for key, value in settings.items():
            if key == "seed" or key.startswith("dataset."):
                words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=child.environment())
        found = list(cut.glob("*/split.npy"))
        if done.returncode != 0 or len(found) != 1:
            last = [line for line in done.stderr.splitlines() if line.strip()][-1:] or ["ended without a word"]
            raise FigureError(f"{' '.join(words[1:])}: {last[0].removeprefix('orrery: error: ')}")
        split, vertices = numpy.load(found[0]), numpy.load(found[0].parent / "vertices.npy")
        whole = numpy.full(len(split), 255, numpy.uint8)
        whole[vertices] = split
        numpy.save(drawn, whole)
    return numpy.flatnonzero(numpy.load(drawn) == TEST)


def predictions(folder):
    """The largest column of every row of the embeddings of an inference."""
    import numpy

    told = made(folder / "embeddings/meta.json", {"parts": [{"file": text}]})
    rows = [numpy.load(folder / "embeddings" / part["file"]) for part in told["parts"]]
    return numpy.concatenate(rows).argmax(axis=1)


def accuracy(folders, data_set, test, seed):
    """The share of right predictions on the test vertices. Several folders: the test vertices are dealt into as many
    random batches, and each batch takes its rows from a folder of its own."""
    import numpy

    labels = numpy.load(figure_cuts.folder_of(data_set) / "labels.npy")
    dealt = numpy.array_split(numpy.random.default_rng(seed).permutation(test), len(folders))
    right = [predictions(folder)[batch] == labels[batch] for folder, batch in zip(folders, dealt)]
    return float(numpy.concatenate(right).mean())
