#include "core/graph/files/npy.hpp"

#include "tests/graph/files.hpp"

namespace orrery {
namespace {

using testing::HasSubstr;

class NpyTest : public FilesTest {
 protected:
  std::string error_of(const std::string& name) const {
    return data_error([&] { NpyArray(file(name)).values<std::int32_t>({2, 3}); });
  }
};

TEST_F(NpyTest, WhatIsWrittenIsRead) {
  write_npy<float>("a.npy", {2, 2}, {1, 2, 3, 4.5F});
  write_npy<std::uint8_t>("b.npy", {3}, {0, 255, 7});

  const NpyArray a(file("a.npy")), b(file("b.npy"));

  EXPECT_EQ(a.shape(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_THAT(a.values<float>({-1, 2}), testing::ElementsAre(1, 2, 3, 4.5F));
  EXPECT_THAT(b.values<std::uint8_t>({3}), testing::ElementsAre(0, 255, 7));
}

TEST_F(NpyTest, VersionTwoHasLongerHeader) {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(128 - 12 - 1, ' ');
  header += '\n';
  write("v2.npy", std::string("\x93NUMPY\x02\x00\x74\x00\x00\x00", 12) + header +
                      std::string("\x05\x00\x00\x00\x06\x00\x00\x00", 8));

  const NpyArray array(file("v2.npy"));

  EXPECT_THAT(array.values<std::int32_t>({2}), testing::ElementsAre(5, 6));
}

TEST_F(NpyTest, FileShorterThanItsHeaderSaysNamesBytes) {
  write_npy<std::int32_t>("a.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  cut("a.npy", 6);

  EXPECT_THAT(error_of("a.npy"), HasSubstr("a.npy:byte 146: expected 24 bytes of data for [2, 3] "
                                           "of type <i4, found 18 (the file is cut short)"));
}

TEST_F(NpyTest, FileLongerThanItsHeaderSaysIsError) {
  const std::string path = write_npy<std::int32_t>("a.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  write("a.npy", read("a.npy") + "x");

  EXPECT_THAT(error_of("a.npy"), HasSubstr("found 25 (the file is too long)"));
}

TEST_F(NpyTest, HeaderCutInTheMiddleIsError) {
  write_npy<std::int32_t>("a.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  cut("a.npy", 24 + 100);

  EXPECT_THAT(
      error_of("a.npy"),
      HasSubstr("a.npy:byte 28: expected a header of 128 bytes, found the end of the file"));
}

TEST_F(NpyTest, WrongTypeOrShapeNamesBoth) {
  write_npy<float>("type.npy", {2, 3}, std::vector<float>(6));
  write_npy<std::int32_t>("shape.npy", {3, 2}, std::vector<std::int32_t>(6));

  EXPECT_THAT(error_of("type.npy"),
              HasSubstr("type.npy:byte 10: expected elements of type '<i4', found '<f4'; "
                        "array.astype(\"int32\") in NumPy makes them"));
  EXPECT_THAT(error_of("shape.npy"),
              HasSubstr("shape.npy:byte 10: expected shape [2, 3], found [3, 2]; array.T.copy() in "
                        "NumPy exchanges rows and columns"));
  write_npy<std::int32_t>("shape.npy", {4, 2}, std::vector<std::int32_t>(8));
  EXPECT_THAT(error_of("shape.npy"), testing::EndsWith("expected shape [2, 3], found [4, 2]"));
}

TEST_F(NpyTest, TheTypeThatIsExpectedHasItsNameInNumPy) {
  write_npy<std::int32_t>("a.npy", {1}, {1});
  const NpyArray array(file("a.npy"));

  EXPECT_THAT(data_error([&] { array.values<float>({1}); }), HasSubstr("astype(\"float32\")"));
  EXPECT_THAT(data_error([&] { array.values<std::int64_t>({1}); }), HasSubstr("astype(\"int64\")"));
  EXPECT_THAT(data_error([&] { array.values<std::uint8_t>({1}); }), HasSubstr("astype(\"uint8\")"));
}

TEST_F(NpyTest, OtherFilesAreNoArrays) {
  write("text.npy", "1 2 3 4 5 6 7 8");
  write("empty.npy", "");

  EXPECT_THAT(
      error_of("text.npy"),
      HasSubstr("text.npy:byte 0: expected the header of a .npy file, found something else"));
  EXPECT_THAT(error_of("empty.npy"), HasSubstr("found an empty file"));
  EXPECT_THAT(error_of("missing.npy"),
              HasSubstr("missing.npy: expected a readable file, found: No such file"));
}

TEST_F(NpyTest, FortranOrderIsError) {
  write_npy<std::int32_t>("a.npy", {2, 3}, std::vector<std::int32_t>(6));
  std::string bytes = read("a.npy");
  bytes.replace(bytes.find("False"), 5, "True ");
  write("a.npy", bytes);

  EXPECT_THAT(error_of("a.npy"), HasSubstr("expected C order (fortran_order False), as "
                                           "numpy.ascontiguousarray(array) makes it"));
}

TEST_F(NpyTest, ElementsBetweenMultiplesOfTheirSizeAreAnError) {
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }";
  write("a.npy", std::string("\x93NUMPY\x01\x00\x75\x00", 10) + header +
                     std::string(117 - header.size(), ' ') + std::string(24, '\0'));

  EXPECT_THAT(error_of("a.npy"), HasSubstr("a.npy:byte 127: expected elements that begin"));
}

/// Headers that NumPy refuses too, each with the length that is right for the bytes.
TEST_F(NpyTest, AHeaderThatIsNotAsNumPyWritesItIsError) {
  for (const char* header :
       {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, -3), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2., 3), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': ('2', '3'), }",
        "{'descr': '<i4', 'fortran_order': Falsehood, 'shape': (2, 3), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), 'shape': (6,), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), 'fortran_order': True}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), } x",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<i4', 'shape': (2, 3), }", "{'descr': '<i4' 'fortran_order': False}"}) {
    std::string text = header;
    text.resize(117, ' ');
    write("a.npy",
          std::string("\x93NUMPY\x01\x00\x76\x00", 10) + text + "\n" + std::string(24, '\0'));

    EXPECT_THAT(error_of("a.npy"), HasSubstr("a.npy:byte 10: expected ")) << header;
  }
}

}  // namespace
}  // namespace orrery
