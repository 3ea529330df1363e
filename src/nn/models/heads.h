#pragma once

#include "nn/builder.h"
#include "nn/model.h"

// The two ends of a model: what it reads and what it is scored by.
namespace hocket {

// The batch's images (N, C, H, W). Throws ConfigError, naming the model, when the data has none.
Value image_input(Builder& b, std::string_view model, const SampleSpec& sample);

// Any dense input as rows (N, width): images, features, numbers.
Value dense_input(Builder& b, std::string_view model, const SampleSpec& sample);

// How many scores a classifier gives for this target: one per class, or one for a yes or no.
std::int64_t score_count(const SampleSpec& sample);

// Sets the outputs "scores", "loss" and "correct" for the target of the data: cross-entropy over classes or
// of a yes or no, squared error for real labels.
void classify(Builder& b, Value scores, const SampleSpec& sample);

// The same with a given loss operator over labels in {0, 1} or real ones.
void score_with(Builder& b, std::string_view loss, Value scores);

}  // namespace hocket
