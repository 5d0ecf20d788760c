// Changes inputs as disks, editors, other programs and people of bad will do.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace orrery::fuzz {

using Dice = std::mt19937_64;

/// Changes the input at one to four places: bits, bytes, cuts, copies, words of the format, numbers
/// to numbers at the edges, values to values of another kind, pieces of another input.
void mutate(std::string& input, Dice& dice, const std::vector<std::string>& words,
            const std::vector<std::string>& others, std::size_t most_bytes);

}  // namespace orrery::fuzz
