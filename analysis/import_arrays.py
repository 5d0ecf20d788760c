"""Reads arrays and tables of other programs, and OGB's large typed set, and writes a folder that the program
reads, for `orrery dataset convert`, which tells {"from", "vertices", "to"} on standard input.

In Python, because NumPy, and pyarrow where it is installed, read every version of these formats: the
program checks what comes out as it checks any data set."""

import json
import sys
from pathlib import Path

import plain_text
from datasets import large_ogb
from datasets.arrays import ImportProblem, import_set

if __name__ == "__main__":
    told = json.load(sys.stdin)
    source, vertices, folder = Path(told["from"]), told["vertices"], Path(told["to"])
    try:
        if large_ogb.is_one(source) and not vertices:
            large_ogb.import_set(source, folder)
        else:
            import_set(source, Path(vertices) if vertices else None, folder)
    except (ImportProblem, OSError, MemoryError) as error:
        print(plain_text.one_line(str(error)))  # the program reports it
        sys.exit(1)
