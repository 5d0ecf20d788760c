// Headers that nearly every test of experiments/ includes.
#include "experiments/pch/experiments_pch.hpp"
#include "tests/pch/tests_pch.hpp"
