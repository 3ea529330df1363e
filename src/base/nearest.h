#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hocket {

// The candidate that is the fewest edits away from `word`, or an empty view when none is close.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// "; did you mean X?" for the nearest candidate, or nothing: the end of an error message.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace hocket
