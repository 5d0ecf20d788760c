#include "core/cost/equations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "core/base/error.hpp"

namespace orrery::cost {
namespace {

namespace fs = std::filesystem;

/// The functions that the headers of the papers declare: lines that begin with a type and a name.
std::multiset<std::string> declared() {
  const std::regex function(R"(^[A-Za-z][\w:]* ([a-z]\w*)\(.*)");
  std::multiset<std::string> names;
  for (const char* header : {"cagnet", "catgnn", "deal", "granndis", "mggcn"}) {
    std::ifstream file(fs::path(ORRERY_SOURCES) / "core/cost" / (std::string(header) + ".hpp"));
    EXPECT_TRUE(file.good()) << header;
    std::smatch match;
    for (std::string line; std::getline(file, line);)
      if (std::regex_match(line, match, function)) names.insert(match[1]);
  }
  return names;
}

TEST(Equations, AreAllPublicFunctionsOfTheHeadersEachOnce) {
  std::multiset<std::string> listed;
  for (const Equation& equation : equations()) listed.insert(std::string(equation.function));

  EXPECT_EQ(listed, declared());
  EXPECT_GT(listed.size(), 40U);
}

TEST(Equations, StateTheirSourceAndAFiniteExample) {
  for (const Equation& equation : equations()) {
    EXPECT_FALSE(equation.source.empty() || equation.title.empty() || equation.formula.empty())
        << equation.function;
    EXPECT_FALSE(equation.terms.empty() || equation.results.empty()) << equation.function;
    for (const auto* list : {&equation.terms, &equation.results})
      for (const Term& term : *list) {
        EXPECT_FALSE(term.symbol.empty()) << equation.function;
        EXPECT_TRUE(std::isfinite(term.value)) << equation.function << " " << term.symbol;
      }
  }
}

/// A result, and the terms it is made of.
struct Example {
  std::map<std::string, double> terms;
  double result = 0;
  double at(const std::string& symbol) const { return terms.at(symbol); }
};

Example example_of(std::string_view function) {
  for (const Equation& equation : equations())
    if (equation.function == function) {
      Example example;
      for (const Term& term : equation.terms) example.terms[term.symbol] = term.value;
      example.result = equation.results.front().value;
      return example;
    }
  throw Error("no such equation");
}

/// The printed formulas once more, from the printed terms alone.
TEST(Equations, MakeTheirResultsOfTheTermsTheyShow) {
  const Example eq3 = example_of("previous_seconds");
  const double gpus = eq3.at("Ns") * eq3.at("Ng");
  EXPECT_NEAR(
      eq3.result,
      eq3.at("V") / (gpus * eq3.at("C")) + eq3.at("E") / gpus *
                                               ((eq3.at("Ng") - 1) / gpus / eq3.at("B_internal") +
                                                (1 - 1 / eq3.at("Ns")) / eq3.at("B_external")),
      1e-12 * eq3.result);

  const Example eq7 = example_of("preload_break_even");
  EXPECT_NEAR(eq7.result, (eq7.at("g") - 1) / eq7.at("D"), 1e-12);

  const Example mggcn = example_of("spmm_1d_seconds");
  EXPECT_NEAR(mggcn.result, mggcn.at("nd") / (mggcn.at("links") * mggcn.at("l")), 1e-12);

  const Example halves = example_of("spmm_15d_seconds");
  const double tile = halves.at("nd") * halves.at("c") / halves.at("P"), c = halves.at("c");
  EXPECT_NEAR(halves.result,
              halves.at("P") / (c * c) * tile / (halves.at("B") * halves.at("l")) +
                  2 * (c - 1) / c * tile / (halves.at("R") * halves.at("l")),
              1e-12);

  const Example fetch = example_of("spmm_fetch_words");
  EXPECT_NEAR(fetch.result, (fetch.at("P") - 1) * fetch.at("N") / fetch.at("P") * fetch.at("u"),
              1e-6 * fetch.result);

  const Example words = example_of("averaging_words");
  EXPECT_NEAR(
      words.result,
      words.at("averagings") * 2 * (words.at("W") - 1) / words.at("W") * words.at("parameters"),
      1e-6);
}

TEST(Equations, OfAPaperThatIsNoneNameThePapers) {
  EXPECT_EQ(equations_of("granndis").size(), 12U);
  try {
    equations_of("pipegcn");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("found 'pipegcn', expected one of granndis, mg-gcn, cagnet, deal, catgnn"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace orrery::cost
