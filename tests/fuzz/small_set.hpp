// A generated data set that seeds are made of.
#pragma once

#include "core/graph/read/load.hpp"

namespace orrery::fuzz {

/// Twelve vertices with four features each, of three classes.
inline Dataset small_set() {
  DatasetOptions options;
  options.generator = "communities";
  options.generate_vertices = 12;
  options.generate_edges = 20;
  options.generate_classes = 3;
  options.generate_features = 4;
  return load_dataset(options);
}

/// Vertices of three types, and eight relations.
inline Dataset small_typed_set() {
  DatasetOptions options;
  options.generator = "typed-communities";
  options.generate_vertices = 20;
  options.generate_edges = 20;
  options.generate_classes = 2;
  options.generate_features = 2;
  return load_dataset(options);
}

}  // namespace orrery::fuzz
