// Reading SNAP edge lists and Matrix Market files.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/parallel.hpp"
#include "core/graph/files/text.hpp"
#include "core/graph/read/load.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReadTextTest : public FilesTest {
 protected:
  Dataset load(const std::string& name, const std::string& format = "auto") const {
    return read_dataset(file(name).string(), format);
  }
  std::string error_of(const std::string& name, const std::string& text) const {
    write(name, text);
    return data_error([&] { load(name); });
  }
};

// Edges 0 -> 1, 1 -> 2, 0 -> 2: row 1 lists 0, row 2 lists 0 and 1.
void expect_triangle(const Dataset& dataset) {
  EXPECT_EQ(dataset.graph->offsets, (std::vector<EdgeIndex>{0, 0, 1, 3}));
  EXPECT_EQ(dataset.graph->columns, (std::vector<Vertex>{0, 0, 1}));
  EXPECT_FALSE(dataset.symmetric);
}

TEST_F(ReadTextTest, SnapTakesCommentsBlankLinesAndAnySeparator) {
  write("g.txt", "# a comment\n% another\n\n0\t1\r\n1 2\n  0 , 2  \n");

  const Dataset dataset = load("g.txt");

  expect_triangle(dataset);
  EXPECT_EQ(dataset.name, "g");
  EXPECT_THAT(dataset.notes, IsEmpty());
}

TEST_F(ReadTextTest, AByteOrderMarkIsNoNumber) {
  write("g.txt",
        "\xef\xbb\xbf"
        "0 1\n1 2\n0 2\n");

  expect_triangle(load("g.txt"));
}

TEST_F(ReadTextTest, GzipIsReadLikePlainText) {
  write_gzip("g.txt.gz", "0 1\n1 2\n0 2\n");

  expect_triangle(load("g.txt.gz"));
  EXPECT_EQ(load("g.txt.gz").name, "g");
}

TEST_F(ReadTextTest, GzipMembersAreConcatenated) {
  write_gzip("a.gz", "0 1\n1 2\n");
  write_gzip("b.gz", "0 2\n");
  write("g.gz", read("a.gz") + read("b.gz"));

  expect_triangle(load("g.gz"));
}

TEST_F(ReadTextTest, GapsInTheNumbersAreClosedInAscendingOrder) {
  write("g.txt", "10 20\n20 40\n10 40\n");

  const Dataset dataset = load("g.txt");

  expect_triangle(dataset);
  EXPECT_THAT(
      dataset.notes,
      ElementsAre(
          "vertices renumbered: the 3 numbers between 10 and 40 became 0 to 2 in ascending order; "
          "orrery dataset convert keeps them"));
}

TEST_F(ReadTextTest, NumbersThatWereChangedAreKept) {
  const auto names_of = [&](const std::string& text) {
    VertexNames names;
    read_dataset(write("g.txt", text), "auto", "", &names);
    return names;
  };

  EXPECT_THAT(names_of("35 20\n20 10\n").numbers, ElementsAre(10, 20, 35));
  EXPECT_THAT(names_of("7 9000000000\n").numbers, ElementsAre(7, 9000000000));
  EXPECT_THAT(names_of("7 18446744073709551615\n").words, ElementsAre("7", "18446744073709551615"))
      << "beyond int64";
  EXPECT_FALSE(names_of("0 1\n1 2\n").present());
  EXPECT_FALSE(names_of("# Nodes: 5\n0 4\n").present());
}

TEST_F(ReadTextTest, FilesOfOtherProgramsSayWhatMakesASetOfThem) {
  EXPECT_THAT(error_of("data.pt", "PK\x03\x04x"),
              HasSubstr("data.pt: expected a text of edges, found a file as torch.save writes: in "
                        "Python, orrery.from_pyg(data, folder)"));
  EXPECT_THAT(error_of("data.pt", "x"), HasSubstr("found a file as torch.save writes"));
  EXPECT_THAT(error_of("data", "PK\x03\x04x"), HasSubstr("found a zip archive: unpack it"));
  EXPECT_THAT(error_of("a.npz", "PK\x03\x04x"), HasSubstr("orrery dataset convert makes"));
  EXPECT_THAT(error_of("a.parquet", "PAR1x"), HasSubstr("orrery dataset convert makes"));
  EXPECT_THAT(error_of("a.npy", "\x93NUMPY\x01"), HasSubstr("numpy.savez(\"set.npz\", "));
  EXPECT_THAT(error_of("a.pkl", "\x80\x04x"), HasSubstr("found a pickle of Python: in Python"));
}

TEST_F(ReadTextTest, Sparse64BitNumbersAreRenumbered) {
  write("g.txt", "7 5000000000\n5000000000 18446744073709551615\n7 18446744073709551615\n");

  const Dataset dataset = load("g.txt");

  expect_triangle(dataset);
  EXPECT_THAT(dataset.notes,
              Contains(HasSubstr("the 3 numbers between 7 and 18446744073709551615")));
}

TEST_F(ReadTextTest, HeaderKeepsVerticesWithoutEdges) {
  write("g.txt", "# Nodes: 5 Edges: 2\n0 4\n4 2\n");

  const Dataset dataset = load("g.txt");

  EXPECT_EQ(dataset.vertices(), 5);
  EXPECT_EQ(dataset.graph->degree(4), 1);
}

TEST_F(ReadTextTest, CountsOfTheHeaderMayStandInASentence) {
  write("g.txt", "# Nodes: 5; Edges: 2.\n0 4\n4 2\n");

  const Dataset dataset = load("g.txt");

  EXPECT_EQ(dataset.vertices(), 5);
  EXPECT_THAT(dataset.notes, IsEmpty());
  EXPECT_THAT(error_of("g.txt", "# Edges: 3, Nodes: 3\n0 1\n1 2\n"), HasSubstr("expected 3 edges"));
}

TEST_F(ReadTextTest, WhatIsNoCountInTheHeaderIsNotedAndNotUsed) {
  for (const std::string text :
       {"7,115", "1.5", "7x", "18446744073709551616", "9223372036854775808", "1e3"}) {
    write("g.txt", "# Edges: " + text + " and more\n0 4\n4 2\n");

    const Dataset dataset = load("g.txt");

    EXPECT_EQ(dataset.edges(), 2) << text;
    EXPECT_THAT(dataset.notes, Contains("the header's 'Edges: " + text +
                                        "' is no whole number below 2^63 and is not used"));
  }
  write("g.txt", "# Nodes: many\n# Nodes:\n# Edges: -3\n0 4\n4 2\n");
  EXPECT_EQ(load("g.txt").vertices(), 3);
}

TEST_F(ReadTextTest, FewerEdgesThanTheHeaderSaysIsError) {
  EXPECT_THAT(
      error_of("g.txt", "# Nodes: 3 Edges: 3\n0 1\n1 2\n"),
      HasSubstr(
          "g.txt:line 4: expected 3 edges as the header says, found 2 (the file is cut short)"));
}

TEST_F(ReadTextTest, DuplicatesAndAttributesAreNoted) {
  write("g.txt", "0 1 0.5\n1 2 1\n0 2 3\n0 1 9\n");

  const Dataset dataset = load("g.txt");

  expect_triangle(dataset);
  EXPECT_THAT(dataset.notes, ElementsAre("columns after the second (edge attributes) ignored",
                                         "1 duplicate edges merged"));
}

TEST_F(ReadTextTest, MissingLastLineEndIsNoted) {
  write("g.txt", "0 1\n1 2\n0 2");

  EXPECT_THAT(load("g.txt").notes, Contains(HasSubstr("last line has no line end")));
}

TEST_F(ReadTextTest, SnapErrorsNameLineAndFinding) {
  EXPECT_THAT(
      error_of("g.txt", "0 1\n1 x2\n"),
      HasSubstr("g.txt:line 2: expected a vertex number (the edge's destination), found 'x2'"));
  EXPECT_THAT(error_of("g.txt", "# c\n0 1\n1\n"),
              HasSubstr("g.txt:line 3: expected a vertex number (the edge's destination), found "
                        "the end of the line"));
  EXPECT_THAT(error_of("g.txt", "-1 1\n"),
              HasSubstr("line 1: expected a vertex number (the edge's source), found '-1'"));
  EXPECT_THAT(error_of("g.txt", "0 18446744073709551616\n"),
              HasSubstr("found '18446744073709551616'"));
  EXPECT_THAT(error_of("g.txt", "0 1.5\n"), HasSubstr("found '1.5'"));
  EXPECT_THAT(error_of("g.txt", "0 1 abc\n"),
              HasSubstr("expected a number (an attribute of the edge), found 'abc'"));
  // Lines that end as on the first Macintosh: one line to everybody else.
  EXPECT_THAT(error_of("g.txt", "0 1\r1 2\r"), HasSubstr("found '1\r1'"));
  EXPECT_THAT(error_of("g.txt", ""), HasSubstr("g.txt:line 1: expected an edge list"));
  EXPECT_THAT(error_of("g.txt", "# only a comment\n"), HasSubstr("found no edge"));
}

TEST_F(ReadTextTest, GzipCutInTheMiddleNamesByte) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("{} {}\n", i * 7919 % 10007, i);
  write_gzip("g.gz", text);
  cut("g.gz", std::filesystem::file_size(file("g.gz")) / 2);
  const auto bytes = std::filesystem::file_size(file("g.gz"));

  EXPECT_THAT(data_error([&] { load("g.gz"); }),
              HasSubstr(fmt::format(
                  "g.gz:byte {}: expected more gzip data, found the end of the file", bytes)));
}

TEST_F(ReadTextTest, DamagedGzipIsError) {
  write_gzip("g.gz", "0 1\n1 2\n0 2\n");
  std::string bytes = read("g.gz");
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 1);  // in the checksum
  write("g.gz", bytes);

  EXPECT_THAT(data_error([&] { load("g.gz"); }), HasSubstr("expected gzip data, found damage"));
}

// 9 bytes a line and more: several chunks of kTextChunk, with the error in the third.
TEST_F(ReadTextTest, LineNumbersAreExactInLongFilesForAnyThreads) {
  std::string text;
  int lines = 0;
  for (; std::ssize(text) < 5 * kTextChunk / 2; ++lines)
    text += fmt::format("{} {}\n", 1000 + lines % 7, 2000000 + lines % 11);
  write("long.txt", text);
  const Dataset good = load("long.txt");
  write("bad.txt", text + "1 2 3 oops\n" + text + "7 8 9 second\n");

  for (const int threads : {1, 2, 3}) {
    const ThreadPool pool(threads);
    EXPECT_EQ(*load("long.txt").graph, *good.graph);
    EXPECT_THAT(data_error([&] { load("bad.txt"); }),
                HasSubstr(fmt::format("bad.txt:line {}: expected a number", lines + 1)));
  }
  EXPECT_EQ(good.edges(), 77);
}

TEST_F(ReadTextTest, MatrixMarketGeneralPattern) {
  write("g.mtx",
        "%%MatrixMarket matrix coordinate pattern general\n% note\n3 3 3\n1 2\n2 3\n1 3\n");

  expect_triangle(load("g.mtx"));
}

TEST_F(ReadTextTest, MatrixMarketSymmetricRealAddsTheOtherHalf) {
  write("g.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.5\n3 3 -2e-3\n");

  const Dataset dataset = load("g.mtx");

  EXPECT_EQ(dataset.graph->offsets, (std::vector<EdgeIndex>{0, 1, 2, 3}));
  EXPECT_EQ(dataset.graph->columns, (std::vector<Vertex>{1, 0, 2}));
  EXPECT_TRUE(dataset.symmetric);
  EXPECT_THAT(dataset.notes, ElementsAre("values of the matrix ignored: edges carry no weight"));
}

TEST_F(ReadTextTest, MatrixMarketErrorsNameLineAndFinding) {
  const std::string banner = "%%MatrixMarket matrix coordinate pattern general\n";
  EXPECT_THAT(error_of("g.mtx", banner + "3 3 3\n1 2\n2 3\n"),
              HasSubstr("g.mtx:line 5: expected 3 entries as the size line says, found 2"));
  EXPECT_THAT(error_of("g.mtx", banner + "3 3 1\n1 4\n"),
              HasSubstr("g.mtx:line 3: expected an index between 1 and 3, found '4'"));
  EXPECT_THAT(error_of("g.mtx", banner + "3 3 1\n0 1\n"),
              HasSubstr("expected an index between 1 and 3, found '0'"));
  EXPECT_THAT(error_of("g.mtx", banner + "3 4 1\n1 1\n"),
              HasSubstr("line 2: expected a square matrix (a graph), found 3 x 4"));
  EXPECT_THAT(error_of("g.mtx", banner + "3 3 2 9\n1 2\n2 3\n"),
              HasSubstr("g.mtx:line 2: expected the end of the line after 'rows columns entries', "
                        "found '9'"));
  EXPECT_THAT(error_of("g.mtx", banner),
              HasSubstr("expected the size line 'rows columns entries'"));
  EXPECT_THAT(error_of("g.mtx", "%%MatrixMarket matrix array real general\n2 2\n"),
              HasSubstr("line 1: expected 'coordinate' (a sparse matrix), found 'array'"));
  EXPECT_THAT(error_of("g.mtx", "%%MatrixMarket matrix coordinate complex general\n"),
              HasSubstr("expected 'pattern', 'real' or 'integer', found 'complex'"));
  EXPECT_THAT(error_of("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 x\n"),
              HasSubstr("line 3: expected a value, found 'x'"));
}

TEST_F(ReadTextTest, CountsThatTheBytesBelieNeedNoMemory) {
  EXPECT_THAT(error_of("g.txt", "# Nodes: 500000000 Edges: 2\n0 1\n1 2\n"),
              HasSubstr("g.txt: expected at most 1052176 vertices in a text of 36 bytes, found "
                        "'Nodes: 500000000' in its header"));
  EXPECT_THAT(error_of("g.mtx",
                       "%%MatrixMarket matrix coordinate pattern general\n"
                       "300000000 300000000 1\n1 2\n"),
              HasSubstr("g.mtx:line 2: expected at most 1056076 rows in a text of 75 bytes, found "
                        "300000000"));
  write_gzip("g.gz", std::string(std::size_t{40} << 20U, '\n'));
  EXPECT_THAT(data_error([&] { load("g.gz"); }), HasSubstr("no list of numbers packs so well"));
}

TEST_F(ReadTextTest, TooLittleMemoryIsToldWithTheFile) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer maps more memory than any limit allows";
#endif
  write("g.txt", "# Nodes: 400000000\n" + std::string(std::size_t{4} << 20U, '\n') + "0 1\n");
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{std::size_t{1} << 30U, std::size_t{1} << 30U};
    ::setrlimit(RLIMIT_AS, &limit);  // the offsets alone take three times that
    const std::string told = data_error([&] { load("g.txt"); });
    ::_exit(told.find("g.txt: expected a data set that fits into memory") != told.npos ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
}

TEST_F(ReadTextTest, MissingFileAndWrongKindAreErrors) {
  EXPECT_THAT(data_error([&] { load("none.txt"); }),
              HasSubstr("none.txt: expected a data set (file or folder), found nothing"));
  write("g.txt", "0 1\n");
  EXPECT_THAT(data_error([&] { load("g.txt", "ogb"); }),
              HasSubstr("expected a folder (format ogb), found a file"));
  EXPECT_THAT(data_error([&] { read_dataset(folder_.string(), "snap"); }),
              HasSubstr("expected a file (format snap), found a folder"));
  EXPECT_THAT(data_error([&] { read_dataset(folder_.string()); }),
              HasSubstr("expected meta.json and edges.npy (format orrery) or edge.csv"));
  EXPECT_EQ(config_error([&] { load("g.txt", "csv"); }),
            "dataset.format: expected auto, orrery, ogb, snap or mtx, found 'csv'");
}

}  // namespace
}  // namespace orrery
