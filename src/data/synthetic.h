#pragma once

#include "data/source.h"

namespace hocket {

// Data made up on the spot, a function of the seed alone, that a fitting model can learn. The location is a
// shape: mnist, cifar10, imagenet or CxHxW:classes[:samples] (a class is a pattern under noise), text (two
// letters decide the next), sparse (rows with a noisy linear rule) or ctr (numeric and categorical columns,
// clicked or not). Options: samples, seed (0), context (128), features (10000), nonzeros (32), skew (3:
// columns are powers of uniform numbers), buckets (65536). The test part has other samples under the same
// rule.
DataParts open_synthetic(const DataSource& source);

}  // namespace hocket
