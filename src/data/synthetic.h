#pragma once

#include "data/source.h"

namespace hocket {

// Data made up on the spot, a function of the seed alone, that a fitting model can learn. The location is a
// shape:
//   mnist, cifar10, imagenet, or CxHxW:classes[:samples]   images: the blurred pattern of a class under noise
//   text                                                    a language where two symbols decide the next
//   sparse                                                  sparse rows with a noisy linear rule
//   ctr                                                     numeric and categorical columns, clicked or not
// Options: samples, seed (0); context (128) of text; features (10000) and nonzeros (32) of sparse; buckets
// (65536) of ctr. The test part has other samples under the same rule.
DataParts open_synthetic(const DataSource& source);

}  // namespace hocket
