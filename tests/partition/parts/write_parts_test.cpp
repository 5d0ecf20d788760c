// Folders of parts: the same bytes from memory and from a stream, whole or not there at all.
#include "core/partition/parts/write_parts.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/files/checksum.hpp"
#include "core/graph/files/npy_header.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/write_orrery.hpp"
#include "core/partition/edges/edge_file.hpp"
#include "core/partition/neighbourhood.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"
#include "tests/partition/folder_contents.hpp"
#include "tests/partition/graphs.hpp"
#include "tests/support/peak_memory.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class WriteParts : public ::testing::Test {
 protected:
  WriteParts() { fs::create_directories(folder_); }
  ~WriteParts() override { fs::remove_all(folder_); }

  /// A data set folder; half of the features are zero, so that some parts store them sparse.
  Dataset written(const std::string& name, std::vector<Edge> edges, std::int64_t vertices,
                  bool symmetric, bool multilabel) const {
    Dataset data;
    data.name = name;
    EdgeList list{vertices, {}, {}};
    for (const auto& [u, v] : edges) {
      list.source.push_back(u);
      list.destination.push_back(v);
    }
    const Csr graph = build_csr(list);
    data.graph = std::make_shared<const Csr>(symmetric ? symmetrise(graph) : graph);
    data.symmetric = symmetric;
    std::vector<float> values;
    for (std::int64_t i = 0; i < vertices * 6; ++i)
      values.push_back(i % 97 < 60 ? 0 : static_cast<float>(i));
    data.features = dense_features(vertices, 6, values, "test", false);
    data.labels = {4, multilabel, {}};
    for (std::int64_t v = 0; v < vertices * data.labels.columns(); ++v)
      data.labels.values.push_back(static_cast<std::int32_t>(v * 5 % (multilabel ? 2 : 4)));
    for (std::int64_t v = 0; v < vertices; ++v)
      data.split.push_back(v % 3 == 0 ? Split::train : v % 3 == 1 ? Split::test : Split::none);
    write_orrery(data, folder_ / name, true);
    return data;
  }
  DatasetOptions options(const std::string& name) const {
    DatasetOptions options;
    options.path = folder_ / name;
    return options;
  }
  void stream(const DatasetOptions& how, const Partition& partition, const PartsOptions& options,
              const fs::path& out) const {
    const StreamedDataset data = open_streamed_dataset(how);
    const auto edges = open_edge_file(data.edges);
    write_parts(*edges, data, partition, options, out);
  }
  /// Nothing but `names` is in the folder, not even hidden.
  void expect_only(const std::set<std::string>& names) const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.insert(entry.path().filename());
    EXPECT_EQ(found, names);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("orrery-write-parts-" + std::to_string(::getpid()));
};

TEST_F(WriteParts, AStreamGivesTheBytesOfTheGraphInMemory) {
  for (const bool symmetric : {true, false})
    for (const bool multilabel : {true, false}) {
      written("set", random_edges(300, 900, 1), 300, symmetric, multilabel);
      DatasetOptions how = options("set");
      how.random_split = multilabel;
      how.row_normalise = symmetric;
      const Partition partition = parts_of(300, 5);
      for (int hops = 0; hops <= 3; ++hops) {
        SCOPED_TRACE(::testing::Message() << symmetric << multilabel << hops);
        const PartsOptions parts{"test", {{"seed", 9}}, hops, true};
        write_parts(load_dataset(how), partition, parts, folder_ / "memory");
        stream(how, partition, parts, folder_ / "stream");
        const auto memory = contents(folder_ / "memory");

        EXPECT_EQ(contents(folder_ / "stream"), memory);
        EXPECT_GE(memory.size(), 1 + 5 * 8U);
        const ThreadPool pool(3);
        stream(how, partition, parts, folder_ / "stream");
        EXPECT_EQ(contents(folder_ / "stream"), memory);
      }
    }
}

/// Own vertices, then the other ends of the edges that are drawn for the part, and these edges.
TEST_F(WriteParts, OneSidedPartsHoldEachCrossEdgeOnce) {
  for (const bool symmetric : {true, false}) {
    const Dataset data = written("set", random_edges(300, 900, 1), 300, symmetric, false);
    const Partition partition = parts_of(300, 5);
    const auto members = partition.members();
    const Csr& graph = *data.graph;
    const Csr reverse = transpose(graph);
    const PartsOptions parts{"test", {}, 0, true, 9};
    write_parts(data, partition, parts, folder_ / "memory");
    stream(options("set"), partition, parts, folder_ / "stream");
    const PartitionedDataset whole(folder_ / "memory");
    std::int64_t edges = 0;
    for (int p = 0; p < 5; ++p) {
      const auto& own = members[static_cast<std::size_t>(p)];

      EXPECT_EQ(contents(part_folder(folder_ / "stream", p)),
                contents(part_folder(folder_ / "memory", p)));
      const StoredPart part = whole.read(p);

      std::vector<Vertex> vertices = *part.vertices;
      EXPECT_EQ(vertices, own);
      vertices.insert(vertices.end(), part.replicas.begin(), part.replicas.end());
      std::set<std::pair<Vertex, Vertex>> has, want;
      for (Vertex v = 0; v < part.local->graph->rows; ++v)
        for (const Vertex u : part.local->graph->row(v))
          has.emplace(vertices[static_cast<std::size_t>(u)], vertices[static_cast<std::size_t>(v)]);
      for (const auto& [u, v] : one_sided_edges(graph, reverse, own, partition.owner, 9))
        want.emplace(u, v);
      EXPECT_EQ(has, want);
      for (const auto distance : part.replica_distance) EXPECT_EQ(distance, 1);
      edges += part.local->edges();
    }
    EXPECT_TRUE(whole.one_sided());
    EXPECT_EQ(edges, data.edges()) << "every edge once";
  }
}

TEST_F(WriteParts, EdgesOfAFileHoldInBothDirections) {
  for (const NamedGraph& named : adversarial_graphs()) {
    SCOPED_TRACE(named.name);
    ListedEdges listed(named.edges, named.vertices);
    write_edge_file(listed, folder_ / "edges.bin");
    Dataset whole;
    whole.name = "a file";
    whole.graph = std::make_shared<const Csr>(symmetric_csr(named));
    whole.symmetric = true;
    const Partition partition = parts_of(named.vertices, 3);
    const PartsOptions parts{"test", {}, 1, true};
    StreamedDataset data;
    data.name = "a file";
    data.vertices = named.vertices;
    data.mirrored = true;
    const auto edges = open_edge_file(folder_ / "edges.bin");

    write_parts(whole, partition, parts, folder_ / "memory");
    write_parts(*edges, data, partition, parts, folder_ / "stream");
    for (const int part : {0, 1, 2})
      EXPECT_EQ(contents(part_folder(folder_ / "stream", part)),
                contents(part_folder(folder_ / "memory", part)));
    EXPECT_EQ(PartitionedDataset(folder_ / "stream").facts().edges, whole.edges());
    EXPECT_TRUE(PartitionedDataset(folder_ / "stream").facts().symmetric);
  }
}

TEST_F(WriteParts, WhatIsReadIsWhatTheDataSetHolds) {
  const Dataset data = written("set", random_edges(200, 700, 6), 200, true, false);
  const Partition partition = parts_of(200, 4);
  stream(options("set"), partition, {"dbh", {{"seed", 3}}, 2, false}, folder_ / "parts");
  const PartitionedDataset parts(folder_ / "parts");
  EXPECT_EQ(parts.method(), "dbh");
  EXPECT_EQ(parts.hops(), 2);
  EXPECT_EQ(parts.facts().training_vertices, 67);
  std::vector<std::vector<Vertex>> members = partition.members();

  for (int p = 0; p < 4; ++p) {
    const StoredPart part = parts.read(p);
    EXPECT_EQ(*part.vertices, members[static_cast<std::size_t>(p)]);
    for (std::size_t i = 0; i < part.degrees.size(); ++i) {
      const bool own = i < part.vertices->size();
      const std::size_t r = own ? 0 : i - part.vertices->size();
      const Vertex v = own ? (*part.vertices)[i] : part.replicas[r];
      const auto at = static_cast<std::size_t>(v);
      if (!own) {
        EXPECT_EQ(part.replica_owner[r], partition.owner[at]);
        EXPECT_EQ(members[static_cast<std::size_t>(part.replica_owner[r])]
                         [static_cast<std::size_t>(part.replica_row[r])],
                  v);
      }
      const auto row = data.graph->row(v);
      EXPECT_EQ(part.degrees[i], static_cast<std::int32_t>(
                                     std::ranges::count_if(row, [&](Vertex u) { return u != v; })));
      EXPECT_EQ(part.local->labels.values[i], data.labels.values[at]);
      EXPECT_EQ(part.local->split[i], own ? data.split[at] : Split::none);
      std::vector<float> expected(6), found(6);
      const auto local = static_cast<Vertex>(i);
      data.features->read({&v, 1}, 0, 6, expected.data(), 6);
      part.local->features->read({&local, 1}, 0, 6, found.data(), 6);
      EXPECT_EQ(found, expected);
    }
  }
}

using Json = nlohmann::ordered_json;

/// A folder of parts whose files are changed and then carry the right checksums.
class LyingParts : public WriteParts {
 protected:
  LyingParts() {
    const Dataset data = written("set", random_edges(60, 200, 6), 60, true, false);
    write_parts(data, parts_of(60, 3), {"test", {}, 2, false}, folder_ / "honest");
  }

  static fs::path part() { return part_folder("", 1); }

  /// The error of reading a copy of the folder that `lie` has changed.
  template <class Lie>
  std::string words_of(const Lie& lie) const {
    fs::remove_all(folder_ / "parts");
    fs::copy(folder_ / "honest", folder_ / "parts", fs::copy_options::recursive);
    lie();
    sign();
    try {
      const PartitionedDataset parts(folder_ / "parts");
      for (int p = 0; p < 3; ++p) parts.read(p);
    } catch (const DataError& error) {
      const std::string words = error.what();
      EXPECT_EQ(words.find('\n'), std::string::npos) << words;
      EXPECT_EQ(words.rfind((folder_ / "parts").string() + "/", 0), 0U) << words;
      return words.substr((folder_ / "parts").string().size() + 1);
    }
    return "accepted";
  }
  Json meta(const fs::path& inside) const {
    return Json::parse(bytes_of(folder_ / "parts" / inside / "meta.json"));
  }
  void put(const fs::path& inside, const Json& meta) const {
    std::ofstream(folder_ / "parts" / inside / "meta.json") << meta.dump(1) << "\n";
  }
  /// Another value under a key of the list of all parts (or of part 1); none: the key is removed.
  std::string with(const fs::path& inside, const std::string& key, const Json& value) const {
    return words_of([&] {
      Json changed = meta(inside);
      if (value.is_null())
        changed.erase(key);
      else
        changed[key] = value;
      put(inside, changed);
    });
  }
  /// Another element i of an array of part 1.
  template <class T = std::int32_t>
  std::string with_element(const char* name, std::int64_t i, T value) const {
    return words_of([&] { set_element(name, i, value); });
  }
  template <class T>
  void set_element(const char* name, std::int64_t i, T value) const {
    const fs::path file = folder_ / "parts" / part() / name;
    const auto header = static_cast<std::streamoff>(read_npy_header(file).data_offset);
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(header + i * std::streamoff{sizeof value})
        .write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void sign() const {
    if (Json own = meta(part()); own.is_object() && own.contains("checksums")) {
      for (auto& [name, sum] : own["checksums"].items())
        if (fs::exists(folder_ / "parts" / part() / name))
          sum = file_checksum(folder_ / "parts" / part() / name);
      put(part(), own);
    }
    Json all = meta("");
    if (all.contains("checksums") && all["checksums"].is_array() && all["checksums"].size() > 1)
      all["checksums"][1] = file_checksum(folder_ / "parts" / part() / "meta.json");
    all.erase("checksum");
    all["checksum"] = checksum(all.dump());
    put("", all);
  }
};

TEST_F(LyingParts, AreReadWhereTheyDoNotLie) {
  EXPECT_EQ(words_of([] {}), "accepted");
}

/// Their list of parts says "version" where those of now say "schema_version".
TEST_F(LyingParts, OfBeforeAreReadByTheirVersion) {
  const auto by_version = [&](int version) {
    return words_of([&] {
      Json all = meta("");
      all.erase("schema_version");
      all["version"] = version;
      put("", all);
    });
  };

  EXPECT_EQ(by_version(2), "accepted");
  EXPECT_EQ(by_version(1),
            "meta.json:key version: expected 2, found 1: write the parts again with orrery "
            "partition");
  EXPECT_EQ(with("", "schema_version", 3),
            "meta.json:key schema_version: expected 2, found 3: write the parts again with orrery "
            "partition");
  EXPECT_EQ(with("", "schema_version", nullptr),
            "meta.json:key schema_version: expected 2, found none: write the parts again with "
            "orrery partition");
}

/// Loops, stars, isolated vertices, empty parts; directed and not.
TEST_F(LyingParts, AreNotSeenInAnyHonestFolder) {
  for (const NamedGraph& named : adversarial_graphs())
    for (const bool symmetric : {true, false})
      for (int hops = 0; hops <= 3; ++hops) {
        SCOPED_TRACE(::testing::Message() << named.name << symmetric << hops);
        const Dataset data = written("any", named.edges, named.vertices, symmetric, hops == 2);
        write_parts(data, parts_of(named.vertices, 5), {"test", {}, hops, true},
                    folder_ / "any-parts");
        const PartitionedDataset parts(folder_ / "any-parts");
        for (int p = 0; p < 5; ++p) EXPECT_NO_THROW(parts.read(p));
      }
}

TEST_F(LyingParts, AreToldByTheListOfAll) {
  words_of([] {});
  const Json honest = meta("");
  const auto list_with = [&](const char* key, std::size_t i, std::int64_t value) {
    Json list = honest[key];
    list[i] = value;
    return with("", key, list);
  };
  const std::int64_t size = honest["sizes"][1], others = 60 - size;

  EXPECT_EQ(with("", "sizes", nullptr),
            "meta.json:key sizes: expected a list, each of it a whole number, found none");
  EXPECT_EQ(with("", "sizes", {1, 2}),
            "meta.json:key sizes: expected 3 of them, one per part, found 2");
  EXPECT_EQ(with("", "training", {1, 2, 3, 4}),
            "meta.json:key training: expected 3 of them, one per part, found 4");
  EXPECT_EQ(with("", "checksums", Json::array()),
            "meta.json:key checksums: expected 3 of them, one per part, found 0");
  EXPECT_EQ(with("", "replicas", "many"),
            "meta.json:key replicas: expected a list, each of it a whole number, found \"many\"");
  EXPECT_EQ(with("", "parts", 0), "meta.json:key parts: expected at least 1, found 0");
  EXPECT_EQ(with("", "hops", 4), "meta.json:key hops: expected 0 to 3, found 4");
  EXPECT_EQ(list_with("sizes", 1, size - 1),
            "meta.json:key sizes: expected 60 vertices (num_nodes) in all, found 59");
  EXPECT_EQ(list_with("sizes", 1, 61),
            "meta.json:key sizes: expected 60 vertices at most, found 61");
  EXPECT_EQ(list_with("sizes", 1, -4).rfind("meta.json:key sizes: expected counts", 0), 0U);
  EXPECT_EQ(list_with("replicas", 1, 60),
            fmt::format("meta.json:key replicas: expected {} vertices of others at most, found 60",
                        others));
  EXPECT_EQ(
      list_with("training", 1, size + 1),
      fmt::format("meta.json:key training: expected {} vertices of the part at most, found {}",
                  size, size + 1));
  for (const std::int64_t wrong : {-3LL, 0LL, 1LL << 40})
    EXPECT_EQ(with("", "training_vertices", wrong).rfind("meta.json:key training", 0), 0U) << wrong;
  for (const char* key : {"num_nodes", "num_edges", "num_features", "num_classes"})
    EXPECT_EQ(with("", key, -5), fmt::format("meta.json:key {}: expected a count, found -5", key));
  EXPECT_EQ(
      with("", "num_edges", std::int64_t{1} << 40),
      "meta.json:key num_edges: expected 3600 at most among 60 vertices, found 1099511627776");
  const std::int64_t edges = honest["num_edges"];
  for (const std::int64_t wrong : {edges + 61, edges - 61})
    EXPECT_TRUE(std::regex_match(
        with("", "num_edges", wrong),
        std::regex(fmt::format("meta.json:key num_edges: expected \\d+ to \\d+ as the degrees of "
                               "all parts say, found {}",
                               wrong))))
        << with("", "num_edges", wrong);
  EXPECT_EQ(with("", "name", 5), "meta.json:key name: expected a text, found 5");
  EXPECT_EQ(with("", "symmetric", 1), "meta.json:key symmetric: expected true or false, found 1");
}

TEST_F(LyingParts, AreToldByThePart) {
  const auto own = [&](const char* key, const Json& value) { return with(part(), key, value); };
  const std::string file = (part() / "meta.json").string(), key = file + ":key ";

  EXPECT_EQ(own("feature_storage", nullptr),
            key + "feature_storage: expected features of 6 columns, found 0");
  EXPECT_EQ(own("has_labels", false), key + "has_labels: expected labels of 4 classes, found none");
  EXPECT_EQ(own("has_split", false),
            key + "has_split: expected a split with 20 training vertices in all, found none");
  EXPECT_EQ(own("checksums", nullptr), key + "checksums: expected an object, found none");
  EXPECT_EQ(own("checksums", Json::object()),
            key + "checksums: expected one of degrees.npy, found none");
  EXPECT_EQ(own("checksums", {{"../part-00000/meta.json", "12345678"}})
                .rfind(key + "checksums: expected checksums of files here", 0),
            0U);
  for (const char* count : {"owned_nodes", "num_nodes", "num_features", "num_classes"})
    EXPECT_EQ(own(count, 3).rfind(key + count + ": expected ", 0), 0U) << own(count, 3);
  EXPECT_EQ(own("symmetric", false),
            key + "symmetric: expected true as the meta.json of all parts says, found false");
  EXPECT_EQ(own("schema_version", -5), key + "schema_version: expected 1 of a part, found -5");
  EXPECT_EQ(own("schema_version", "x"),
            key + "schema_version: expected a whole number, found \"x\"");
  EXPECT_EQ(own("schema_version", Json::array()),
            key + "schema_version: expected a whole number, found []");
  EXPECT_EQ(own("schema_version", nullptr), "accepted") << "as parts of before";
  EXPECT_EQ(own("directed", -5), key + "directed: expected true or false, found -5");
  EXPECT_EQ(own("directed", "x"), key + "directed: expected true or false, found \"x\"");
  EXPECT_EQ(own("directed", true),
            key + "directed: expected false as the meta.json of all parts says, found true");
  // Both lie, and agree.
  EXPECT_EQ(words_of([&] {
              for (const fs::path& where : {fs::path(), part_folder("", 0), part()}) {
                Json changed = meta(where);
                changed["num_features"] = 100;
                put(where, changed);
              }
              Json all = meta("");
              all["checksums"][0] =
                  file_checksum(folder_ / "parts" / part_folder("", 0) / "meta.json");
              put("", all);
            }).rfind("part-00000/meta.json:key num_features: is 100, but features.npy has", 0),
            0U);
}

TEST_F(LyingParts, AreToldByTheirArrays) {
  words_of([] {});
  const PartitionedDataset parts(folder_ / "parts");
  const StoredPart honest = parts.read(1);
  const std::int64_t n = honest.owned, r = std::ssize(honest.replicas);
  ASSERT_GE(n, 4);
  ASSERT_GE(r, 4);
  const auto starts = [&](const std::string& words, const std::string& with) {
    EXPECT_EQ(words.rfind((part() / with).string(), 0), 0U) << words;
  };
  const std::int64_t trained =
      std::ranges::find(honest.local->split, Split::train) - honest.local->split.begin();

  // The part before it, which is read first, has replicas of these vertices.
  const auto differs = [&](const std::string& words) {
    EXPECT_NE(words.find("/" + (part() / "vertices.npy").string() + ", found that of"),
              std::string::npos)
        << words;
    try {
      PartitionedDataset(folder_ / "parts").read(1);
      ADD_FAILURE() << "accepted";
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what())
                    .find("vertices.npy:element 1: expected own vertices that ascend"),
                std::string::npos)
          << error.what();
    }
  };
  differs(with_element("vertices.npy", 1, (*honest.vertices)[0]));
  differs(words_of([&] {
    for (std::int64_t i = 0; i < n + r; ++i) set_element("vertices.npy", i, 7);
  }));
  starts(with_element("vertices.npy", n, (*honest.vertices)[0]),
         "vertices.npy: expected every vertex once");
  starts(with_element("vertices.npy", n + 1, honest.replicas[0]),
         "vertices.npy: expected every vertex once");
  starts(with_element("replicas.npy", 0, 1),
         "replicas.npy:column 0: expected a vertex of another part, found one of this");
  starts(with_element("replicas.npy", 0, 3),
         "replicas.npy:row 0, column 0: expected numbers below 3");
  starts(with_element("replicas.npy", r, 59), "replicas.npy:column 0: expected the row of vertex");
  starts(with_element("replicas.npy", r + 1, honest.replica_row[0]),
         "replicas.npy:column 1: expected columns that ascend");
  for (const int distance : {0, 3})
    starts(with_element("replicas.npy", 2 * r, distance),
           "replicas.npy:column 0: expected a distance from 1 to 2");
  starts(with_element("replicas.npy", 2 * r, 2), "replicas.npy:column 1: expected columns that");
  starts(with_element("degrees.npy", 0, 0), "degrees.npy:element 0: expected ");
  starts(with_element("degrees.npy", 1, 50), "degrees.npy:element 1: expected ");
  starts(with_element("degrees.npy", n + r - 1, 0), "degrees.npy:element ");
  starts(with_element("labels.npy", 2, 4), "labels.npy:element 2: expected a class from 0 to 3");
  starts(with_element("labels.npy", trained, -1),
         fmt::format("labels.npy:element {}: expected a class of a training vertex", trained));
  starts(with_element<std::uint8_t>("split.npy", trained, 2), "split.npy: expected ");
  starts(with_element<std::uint8_t>("split.npy", n, 0),
         fmt::format("split.npy:element {}: expected 255 (none)", n));
}

class LyingTypedParts : public LyingParts {
 protected:
  LyingTypedParts() {
    DatasetOptions how;
    how.generator = "typed-communities";
    how.generate_vertices = 60;
    how.generate_edges = 120;
    how.generate_classes = 2;
    how.generate_features = 2;
    const Dataset data = load_dataset(how);
    fs::remove_all(folder_ / "honest");
    write_parts(data, parts_of(data.vertices(), 3), {"test", {}, 1, false}, folder_ / "honest");
  }
};

TEST_F(LyingTypedParts, AreToldByTheirRelations) {
  ASSERT_EQ(words_of([] {}), "accepted");
  const PartitionedDataset parts(folder_ / "parts");
  ASSERT_TRUE(parts.typed().has_value());
  const auto relations = std::ssize(parts.typed()->relations);
  const std::int64_t edges = read_npy_header(folder_ / "parts" / part() / "relations.npy").shape[1];
  const auto starts = [&](const std::string& words, const std::string& with) {
    EXPECT_EQ(words.rfind(with, 0), 0U) << words;
  };
  const std::string file = (part() / "relations.npy").string();
  starts(with_element("relations.npy", 0, static_cast<std::int32_t>(relations)),
         fmt::format("{}:row 0, column 0: expected numbers below {}", file, relations));
  starts(with_element("relations.npy", edges, 60), file + ":row 1, column 0: expected numbers");
  ASSERT_EQ(words_of([] {}), "accepted");
  const StoredPart honest = parts.read(1);
  bool types = false, others = false;
  for (std::int32_t v = 0; v < std::ssize(honest.degrees); ++v) {
    const std::string words = with_element("relations.npy", edges, v);
    types = types || words.rfind(file + ":column 0: expected vertices of the types of", 0) == 0;
    others = others || words.rfind(file + ": expected the edges of edges.npy", 0) == 0;
  }
  EXPECT_TRUE(types && others);
  starts(with("", "vertex_types", nullptr), "meta.json:key vertex_type_counts: needs");
  starts(with("", "vertex_type_counts", Json::array({1, 2, 3})),
         "meta.json:key vertex_type_counts: [1, 2, 3] do not sum up");
  starts(with("", "relations", Json::array({Json::array({"papers", "cites", "paper"})})),
         "meta.json:key relations: [papers, cites, paper] has the unknown vertex type \"papers\"");
}

/// Rows that are in range and in order, and those of other vertices.
TEST_F(LyingParts, AreToldByTheVerticesOfTheirNeighbours) {
  words_of([] {});
  const StoredPart honest = PartitionedDataset(folder_ / "parts").read(1);
  const std::int64_t r = std::ssize(honest.replicas);
  int plausible = 0;
  for (std::int64_t i = 0; i < r; i += std::max<std::int64_t>(1, r / 5)) {
    const Vertex row = honest.replica_row[at(i)];
    const std::string words = with_element("replicas.npy", r + i, row + 1);
    EXPECT_EQ(words.rfind((part() / "replicas.npy").string(), 0), 0U) << words;
    const std::string other = fmt::format(
        "column {}: expected the row of vertex {} in {}, found that of vertex ", i,
        honest.replicas[at(i)],
        (part_folder(folder_ / "parts", honest.replica_owner[at(i)]) / "vertices.npy").string());
    plausible += words.find(other) != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(plausible, 0);
}

/// Edges that end the process, or fail, at the n-th block that is read.
class EdgesUntil final : public EdgeStream {
 public:
  EdgesUntil(const std::vector<Edge>& edges, int blocks, bool killed)
      : edges_(edges, 0, 50), left_(blocks), killed_(killed) {}
  void rewind() override { edges_.rewind(); }
  std::span<const Edge> next() override {
    if (left_-- == 0 && killed_) ::raise(SIGKILL);
    if (left_ < 0) throw DataError("edges", "", "cannot be read further");
    return edges_.next();
  }

 private:
  ListedEdges edges_;
  int left_;
  bool killed_;
};

/// Features that end the process at the n-th read.
class FeaturesUntil final : public Features {
 public:
  explicit FeaturesUntil(int reads) : left_(reads) {}
  std::int64_t rows() const override { return 300; }
  std::int64_t width() const override { return 2; }
  void read(std::span<const Vertex> vertices, std::int64_t, std::int64_t, float* out,
            std::int64_t) const override {
    if (left_-- == 0) ::raise(SIGKILL);
    std::fill_n(out, 2 * vertices.size(), 1.0F);
  }
  std::string provenance() const override { return "test"; }

 private:
  mutable int left_;
};

/// Runs `work` in a process of its own; whether it was killed.
template <class Work>
bool killed(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST_F(WriteParts, AKilledRunLeavesNoFolderThatLooksWhole) {
  const std::vector<Edge> edges = random_edges(300, 1000, 1);  // 21 blocks a pass
  const Partition partition = parts_of(300, 3);
  StreamedDataset data;
  data.name = "killed";
  data.vertices = 300;
  data.mirrored = true;
  data.rows.count = 300;
  int times = 0;
  for (int moment = 0; moment < 48; moment += 3) {
    const bool in_features = moment >= 42;
    times += killed([&] {
      EdgesUntil stream(edges, in_features ? 1000 : moment, true);
      if (in_features) data.rows.features = std::make_shared<FeaturesUntil>(moment - 42);
      write_parts(stream, data, partition, {"test", {}, 1, false}, folder_ / "parts");
    });

    EXPECT_FALSE(fs::exists(folder_ / "parts"));
    for (const auto& entry : fs::directory_iterator(folder_))
      EXPECT_THROW(PartitionedDataset(entry.path()), DataError) << entry.path();
  }
  EXPECT_EQ(times, 16);
}

TEST_F(WriteParts, ForceReplacesPartsAndNothingElse) {
  const Dataset data = written("set", random_edges(50, 100, 1), 50, true, false);
  const Partition partition = parts_of(50, 3);
  write_parts(data, partition, {"old", {}, 1, false}, folder_ / "parts");
  write_parts(data, partition, {"new", {}, 1, true}, folder_ / "parts");
  EXPECT_EQ(PartitionedDataset(folder_ / "parts").method(), "new");
  std::ofstream(folder_ / "parts" / "part-of-my-thesis") << "in the beginning";

  for (const char* name : {"parts", "set"}) {
    const auto before = contents(folder_ / name);
    EXPECT_THROW(write_parts(data, partition, {"newer", {}, 1, true}, folder_ / name), DataError);
    EXPECT_EQ(contents(folder_ / name), before);
  }
  expect_only({"set", "parts"});
}

TEST_F(WriteParts, AStreamThatFailsLeavesNothing) {
  const Partition partition = parts_of(300, 3);
  StreamedDataset data;
  data.vertices = 300;
  for (const int blocks : {0, 5, 30}) {
    EdgesUntil stream(random_edges(300, 1000, 1), blocks, false);
    EXPECT_THROW(write_parts(stream, data, partition, {}, folder_ / "parts"), DataError);
    expect_only({});
  }
  ListedEdges more({{299, 300}});
  EXPECT_THROW(write_parts(more, data, partition, {}, folder_ / "parts"), DataError);
  EXPECT_THROW(write_parts(more, data, parts_of(301, 3), {}, folder_ / "parts"), DataError);
  expect_only({});
}

TEST_F(WriteParts, FilesThatMayNotGrowAreToldInOneLine) {
  written("set", random_edges(400, 4000, 1), 400, true, false);
  const Partition partition = parts_of(400, 3);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  std::set<std::string> told;
  const PartsOptions parts{"test", {}, 1, true};
  const Dataset data = load_dataset(options("set"));
  for (const bool streams : {true, false})
    for (rlim_t most = 1 << 8; most < 1 << 16; most *= 2) {
      rlimit limit = before;
      limit.rlim_cur = most;
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
      try {
        if (streams)
          stream(options("set"), partition, parts, folder_ / "parts");
        else
          write_parts(data, partition, parts, folder_ / "parts");
      } catch (const DataError& error) {
        const std::string words = error.what();
        EXPECT_NE(words.find("File too large"), std::string::npos) << words;
        EXPECT_EQ(words.find('\n'), std::string::npos) << words;
        told.insert(words);
        expect_only({"set"});
      }
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
      fs::remove_all(folder_ / "parts");
    }
  std::signal(SIGXFSZ, handler);
  EXPECT_GE(told.size(), 2U) << "the limits met different files";
}

TEST_F(WriteParts, AFullDiskIsToldInOneLine) {
  written("set", random_edges(400, 20000, 1), 400, true, false);
  fs::create_directory(folder_ / "small");
  if (::mount("none", (folder_ / "small").c_str(), "tmpfs", 0, "size=300k") != 0)
    GTEST_SKIP() << "only root may mount a small disk";
  std::string words;
  try {
    stream(options("set"), parts_of(400, 3), {"test", {}, 1, false}, folder_ / "small" / "parts");
  } catch (const DataError& error) {
    words = error.what();
  }
  const bool nothing_left = fs::is_empty(folder_ / "small");
  ::umount((folder_ / "small").c_str());

  EXPECT_NE(words.find("No space left on device"), std::string::npos) << words;
  EXPECT_TRUE(nothing_left);
}

/// Five million edges that are made as they are read.
class ManyEdges final : public EdgeStream {
 public:
  void rewind() override { next_ = 0; }
  std::span<const Edge> next() override {
    block_.clear();
    for (; block_.size() < kStreamBlock && next_ < 5'000'000; ++next_) {
      const auto i = static_cast<std::uint32_t>(next_);
      block_.push_back({static_cast<Vertex>(i * 2654435761U % kVertices),
                        static_cast<Vertex>((i + 1) * 2246822519U / 8 % kVertices)});
    }
    return block_;
  }
  static constexpr std::uint32_t kVertices = 1 << 18;

 private:
  std::int64_t next_ = 0;
  std::vector<Edge> block_;
};

/// Ten million entries take 40 MB when they are sorted in memory, and as much before that.
TEST_F(WriteParts, MemoryDoesNotGrowWithTheEdges) {
  const testing::PeakMemory peak;
  if (!peak.unknown().empty()) GTEST_SKIP() << peak.unknown();
  ManyEdges edges;
  StreamedDataset data;
  data.vertices = ManyEdges::kVertices;
  data.mirrored = true;
  write_parts(edges, data, parts_of(data.vertices, 4), {"test", {}, 1, false}, folder_ / "parts");
  const std::int64_t used = peak.bytes();

  EXPECT_LE(used, 34 * data.vertices + (24 << 20)) << used;
  EXPECT_GE(used, 16 * data.vertices) << "the peak was not measured";
}

}  // namespace
}  // namespace orrery
