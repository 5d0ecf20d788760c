// CATGNN's equations with an example: 1,000 training vertices a worker, 30 parts on 4 GPUs.
#include "core/cost/catgnn.hpp"
#include "core/cost/equations.hpp"

namespace orrery::cost {

std::vector<Equation> equations_of_catgnn() {
  constexpr std::string_view paper = "catgnn";
  constexpr std::int64_t vertices = 1000, batch = 64, epochs = 200, interval = 5, workers = 4,
                         parts = 30, gpu = 1, parameters = 100000;
  const std::int64_t batches = batches_of(vertices, batch),
                     averagings = model_averagings(epochs, interval);
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const Term e{"epochs", "", real(epochs), ""}, i{"interval", "epochs", real(interval), ""},
      b{"batches", "of a worker in an epoch", real(batches), ""};

  return {
      {"batches_of",
       paper,
       "CATGNN 2.3",
       "Mini-batches of a worker in an epoch",
       "batches = ceil(vertices/batch)",
       {{"vertices", "that train", real(vertices), ""}, {"batch", "vertices", real(batch), ""}},
       {{"batches", "in an epoch", real(batches), ""}}},
      {"gradient_averagings",
       paper,
       "CATGNN 2.3",
       "All-reduces of gradient averaging",
       "epochs batches",
       {e, b},
       {{"all-reduces", "of the run", real(gradient_averagings(epochs, batches)), ""}}},
      {"model_averagings",
       paper,
       "CATGNN 3 and 5.5",
       "All-reduces of model averaging",
       "floor(epochs/interval)",
       {e, i},
       {{"all-reduces", "of the run", real(averagings), ""}}},
      {"averaging_saving",
       paper,
       "CATGNN 3",
       "How many times fewer all-reduces",
       "batches interval",
       {b, i},
       {{"saving", "", real(averaging_saving(batches, interval)), "times"}}},
      {"averaging_words",
       paper,
       "ring all-reduce (CATGNN names no algorithm)",
       "Volume of the all-reduces",
       "averagings 2 (W - 1)/W parameters",
       {{"averagings", "", real(averagings), ""},
        {"W", "workers", real(workers), ""},
        {"parameters", "of the model", real(parameters), ""}},
       {{"words", "received by a worker", averaging_words(averagings, real(parameters), workers),
         "words"}}},
      {"parts_on_gpu",
       paper,
       "CATGNN 3.3",
       "Parts that a GPU trains one after the other",
       "floor((parts - 1 - gpu)/gpus) + 1",
       {{"parts", "", real(parts), ""},
        {"gpus", "", real(workers), ""},
        {"gpu", "from 0", real(gpu), ""}},
       {{"parts", "of this GPU", real(parts_on_gpu(parts, workers, gpu)), ""}}},
  };
}

}  // namespace orrery::cost
