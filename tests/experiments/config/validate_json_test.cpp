#include "experiments/config/validate_json.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "experiments/config/plugins.hpp"
#include "experiments/config/schema.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// Calls `visit(name, property)` for every key of the schema, at any depth.
template <class Visit>
void for_each_key(const Json& schema, const std::string& above, const Visit& visit) {
  if (!schema.contains("properties")) return;
  for (const auto& [key, property] : schema["properties"].items()) {
    visit(above + key, property);
    for_each_key(property, above + key + ".", visit);
  }
}

TEST(Schema, UsesOnlyKeywordsThatTheMessagesKnow) {
  const std::vector<std::string> known{"type",          "enum",
                                       "default",       "description",
                                       "properties",    "required",
                                       "minimum",       "maximum",
                                       "minLength",     "minItems",
                                       "items",         "exclusiveMinimum",
                                       "x-when",        "x-later",
                                       "x-without",     "exclusiveMaximum",
                                       "minProperties", "additionalProperties"};

  for_each_key(experiment_schema(), "", [&](const std::string& name, const Json& property) {
    for (const auto& [keyword, unused] : property.items())
      EXPECT_NE(std::find(known.begin(), known.end(), keyword), known.end())
          << name << " uses " << keyword;
  });
}

TEST(Schema, NamesTheMethodsLayersAndStrategiesOfTheTree) {
  const Json schema = Json::parse(kExperimentSchema);

  const Json& all = schema["properties"];
  EXPECT_EQ(with_plugins(schema, partitioners(), layer_types(), strategy_infos()), schema);
  EXPECT_EQ(all["partition"]["properties"]["method"]["enum"].size(), partitioners().size());
  EXPECT_EQ(all["model"]["properties"]["type"]["enum"].size(), layer_types().size() + 2)
      << "ResGCN+ and SGC are no layers";
  EXPECT_EQ(all["strategy"]["properties"]["type"]["enum"].size(), strategy_infos().size());
}

TEST(Schema, EveryDefaultIsAllowed) {
  for_each_key(experiment_schema(), "", [](const std::string& name, const Json& property) {
    if (!property.contains("default") || !property.contains("enum")) return;
    const Json& allowed = property["enum"];
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), property["default"]), allowed.end())
        << name;
  });
}

}  // namespace
}  // namespace orrery
