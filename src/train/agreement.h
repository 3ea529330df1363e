#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/options.h"
#include "train/team.h"

namespace hocket {

// What must be the same on all ranks of a run: names and values, as messages show them.
using Claims = std::vector<std::pair<std::string, std::string>>;

Claims claims_of(const TrainOptions& options);

// Compares this rank's claims with those of rank 0. Where any rank has others, all throw: rank 0 a
// ConfigError that names the rank and the first difference, the others FailedElsewhere. The names are the
// same on all ranks.
void require_agreement(Team& team, const Claims& claims);

}  // namespace hocket
