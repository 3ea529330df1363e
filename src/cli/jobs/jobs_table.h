#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hocket {

// What `hocket jobs list` prints of {"jobs": [...], "machines": [...]}.
std::string jobs_table(const nlohmann::json& all);

}  // namespace hocket
