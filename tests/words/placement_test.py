"""Types whose data is distributed over ranks say where it is: their docstrings have a line "Placement".

Such types are those that hold or take tensors of one of several ranks (core/strategy, core/model, core/inference), the
operations that communicate (core/ops), and the host's structures of parts that are listed below. A type that derives
from one that says it inherits the line."""

import os
import re
import unittest
from pathlib import Path

SOURCES = Path(os.environ["ORRERY_SOURCES"])
OF_TENSORS = ("core/strategy", "core/model", "core/inference")
COMMUNICATING = ("core/ops/ops.hpp", "core/ops/one_sided.hpp")
OF_PARTS = {
    "core/partition/partition.hpp": ["Partition"],
    "core/partition/parts/partitioned_dataset.hpp": ["StoredPart", "PartitionedDataset"],
    "core/runtime/runtime.hpp": ["Runtime"],
    "core/runtime/program.hpp": ["Program"],
    "core/runtime/execute/communicator.hpp": ["Communicator"],
    "core/runtime/execute/exposed_rows.hpp": ["ExposedRows"],
    "core/strategy/edges/edge_structure.hpp": ["EdgeStructure"],
    "core/strategy/edges/staged_edges.hpp": ["StagedEdgeStructure"],
    "core/strategy/product/cooperative_batch.hpp": ["CooperativeShare"],
    "core/strategy/store/row_exchange.hpp": ["RowExchange"],
    "core/strategy/structure/halo_structure.hpp": ["HaloStructure"],
    "core/strategy/structure/partitioned_graph.hpp": ["PartitionedGraph"],
    "core/strategy/structure/preloaded_rank.hpp": ["PreloadedRank"],
    "core/strategy/structure/sampled_batches.hpp": ["OwnedRows", "WantedRows", "SampledBatch"],
    "core/strategy/structure/server_subgraphs.hpp": ["ServerSubgraph"],
    "core/strategy/structure/subgraphs.hpp": ["Subgraph"],
    "core/strategy/structure/vertex_data.hpp": ["VertexData"],
}


def types(text):
    """(name, base or None, docstring, code) of the types at the top level of a header; no forward declarations."""
    head = r"^((?:///.*\n)*)(?:template .*\n)?(?:class|struct) (\w+)(?: final)?(?: : public (\w+))?\s*\{"
    for found in re.finditer(head, text, re.M):
        body = text[found.end():text.index("};", found.end()) if text[found.end()] != "\n" else
                    text.index("\n};", found.end())]
        yield found[2], found[3], found[1], re.sub(r"//.*", "", body)


def says(docstring):
    return re.search(r"^/// Placement +\S", docstring, re.M) is not None


def headers(folder):
    return sorted((SOURCES / folder).rglob("*.hpp"))


def missing(text, wanted, placed):
    """Names of the types of a header that are `wanted` and neither say their placement nor inherit it."""
    return [name for name, base, docstring, code in types(text)
            if wanted(code) and not says(docstring) and base not in placed]


def placed_types():
    """Names of the types that say their placement, or inherit it."""
    known = {}
    for header in headers("core"):
        known.update({name: (base, says(docstring)) for name, base, docstring, _ in types(header.read_text())})
    placed = {name for name, (_, says_it) in known.items() if says_it}
    while more := {name for name, (base, _) in known.items() if base in placed} - placed:
        placed |= more
    return placed


def holds_tensors(code):
    return re.search(r"\b(?:Tensor|Buffer|SparseBuffer)\b", code) is not None


def communicates(code):
    return re.search(r"\b(?:kCommunicates|kOneSided) = true", code) is not None


class Placement(unittest.TestCase):
    def setUp(self):
        self.placed = placed_types()

    def test_is_said_by_types_that_hold_or_take_tensors(self):
        found = [f"{header.relative_to(SOURCES)}: {name}" for folder in OF_TENSORS for header in headers(folder)
                 for name in missing(header.read_text(), holds_tensors, self.placed)]

        self.assertEqual(found, [], "say in a line \"Placement\" which ranks have what")

    def test_is_said_by_operations_that_communicate(self):
        texts = [(SOURCES / header).read_text() for header in COMMUNICATING]

        self.assertEqual([name for text in texts for name in missing(text, communicates, self.placed)], [])
        self.assertGreaterEqual(sum(communicates(code) for text in texts for _, _, _, code in types(text)), 10)

    def test_is_said_by_structures_of_parts(self):
        for header, names in OF_PARTS.items():
            said = {name: says(docstring) for name, _, docstring, _ in types((SOURCES / header).read_text())}
            for name in names:
                self.assertTrue(said.get(name), f"{header}: {name}")


class Check(unittest.TestCase):
    HEADER = ("/// Rows.\n///\n/// Placement on all ranks\nclass Base {\n  Tensor x;\n};\n"
              "class Heir final : public Base {\n  Tensor y;\n};\n"
              "struct Lonely {\n  /// Placement of a member alone\n  Tensor x;\n};\n"
              "/// No word.\nstruct Silent {\n  Tensor x;\n};\nstruct Number {\n  int x;  // no Tensor\n};\nclass Silent;\n")

    def test_finds_the_types_that_do_not_say_it(self):
        self.assertEqual(missing(self.HEADER, holds_tensors, {"Base"}), ["Lonely", "Silent"])
        self.assertEqual(missing(self.HEADER, holds_tensors, set()), ["Heir", "Lonely", "Silent"])


if __name__ == "__main__":
    unittest.main()
