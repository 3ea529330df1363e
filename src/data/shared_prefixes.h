#pragma once

#include <cstdint>
#include <vector>

#include "data/sparse_dataset.h"

namespace hocket {

// Lets rows that begin like the whole row before them, as the impressions of one user do, keep what follows
// alone: afterwards row i is the entries of prefixes[i] and then its own. Where that would save no memory,
// nothing changes and there are no prefixes. Used once, before the rows are read.
std::vector<SharedPrefix> share_prefixes(SparseRows& rows);

}  // namespace hocket
