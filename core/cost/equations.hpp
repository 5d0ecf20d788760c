// The list of the papers' equations, each with its source, its terms and an example that its own
// function computes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::cost {

/// A symbol of an equation with its value in the example.
struct Term {
  std::string symbol, meaning;
  double value = 0;
  std::string unit;  ///< "s", "bytes", "words"; empty: no unit
};

/// One equation: one function of core/cost.
struct Equation {
  std::string_view function;  ///< its name there
  std::string_view paper;     ///< "granndis", "mg-gcn", "cagnet", "deal", "catgnn"
  std::string source;         ///< "GraNNDis Eq. 3"
  std::string title, formula;
  std::vector<Term> terms;    ///< inputs of the example
  std::vector<Term> results;  ///< results of the function
};

/// All equations, paper by paper, in the order of the headers. The function that represents the
/// equation computes each example anew.
std::vector<Equation> equations();

/// The equations of one paper.
///
/// Errors    ConfigError naming the papers
std::vector<Equation> equations_of(std::string_view paper);

// Each paper has a file of its own.
std::vector<Equation> equations_of_cagnet();
std::vector<Equation> equations_of_catgnn();
std::vector<Equation> equations_of_deal();
std::vector<Equation> equations_of_granndis();
std::vector<Equation> equations_of_mggcn();

}  // namespace orrery::cost
