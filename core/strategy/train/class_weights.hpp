// How much the loss of a training vertex counts by its class.
#pragma once

#include <vector>

#include "core/strategy/strategy.hpp"

namespace orrery {

/// One weight for each class, scaled so that the weights of all training vertices add up to their
/// number: the loss stays a mean over them, as that of PyTorch's CrossEntropyLoss(weight=w) is.
/// With n vertices, n_c of class c: w_c · n / Σ_d n_d·w_d, where balanced classes have w_c = 1 /
/// n_c, and 0 if no vertex of the class trains. Empty: all count alike. All are 1 if the graph is
/// given by its statistics: nothing is computed with them.
///
/// Errors    ConfigError: several labels per vertex; another number of classes; parts in a folder,
///           which do not say how many train of each class; no vertex with a weight above 0
std::vector<float> class_weights(const Problem& problem);

}  // namespace orrery
