// CATGNN: how often workers synchronise when they average models instead of gradients.
#pragma once

#include <cstdint>

namespace orrery::cost {

/// Mini-batches of one worker in an epoch.
///
///   ⌈training_vertices / batch⌉
///
/// Errors    ConfigError if training_vertices < 0 or batch < 1
/// Source    CATGNN section 2.3 (the last batch may be smaller)
std::int64_t batches_of(std::int64_t training_vertices, std::int64_t batch);

/// All-reduces of gradient averaging: one after every mini-batch.
///
///   epochs · batches_per_worker
///
/// Requires  as many batches on every worker; else those with more wait for gradients that never
///           come
/// Errors    ConfigError if epochs < 0 or batches_per_worker < 1
/// Source    CATGNN section 2.3 (its symbol for the batches is lost in the text at hand)
std::int64_t gradient_averagings(std::int64_t epochs, std::int64_t batches_per_worker);

/// All-reduces of model averaging: one after every `interval` epochs, for any number of batches.
///
///   ⌊epochs / interval⌋
///
/// Errors    ConfigError if epochs < 0 or interval < 1
/// Source    CATGNN sections 3 and 5.5
/// Departs   the paper does not say whether training also ends with one; if it does and the
///           interval does not divide the epochs, add it. Its "decreases linearly with the
///           interval" (Figure 11) is 1/interval.
std::int64_t model_averagings(std::int64_t epochs, std::int64_t interval);

/// The factor by which model averaging needs fewer all-reduces.
///
///   batches_per_worker · interval
///
/// Errors    ConfigError if an argument is under 1
/// Source    CATGNN section 3: from the number of mini-batches to at most one per epoch
std::int64_t averaging_saving(std::int64_t batches_per_worker, std::int64_t interval);

/// Words that each worker receives for this many all-reduces of the model or its gradient, in
/// rings.
///
///   averagings · 2·(W − 1)/W · parameters
///
/// Errors    ConfigError if averagings < 0, parameters < 0 or workers < 1
/// Source    ring all-reduce; CATGNN names all_reduce without its algorithm
double averaging_words(std::int64_t averagings, double parameters, std::int64_t workers);

/// Parts that one GPU trains one after the other between two averagings, if GPUs take parts in
/// turn.
///
///   ⌊(parts − 1 − gpu)/gpus⌋ + 1 for gpu < parts, that is ⌊parts/gpus⌋ or ⌈parts/gpus⌉;  else 0
///
/// Errors    ConfigError if parts < 0, gpus < 1 or gpu is not one of them
/// Source    CATGNN section 3.3
std::int64_t parts_on_gpu(std::int64_t parts, std::int64_t gpus, std::int64_t gpu);

}  // namespace orrery::cost
