#pragma once

#include "nn/builder.h"
#include "nn/model.h"

// The built-in models as graph builders: each adds its forward graph and sets the outputs that build_model()
// promises.
namespace hocket {

void build_mlp(Builder& b, const SpecOptions& options, const SampleSpec& sample);
void build_lenet(Builder& b, const SpecOptions& options, const SampleSpec& sample);
void build_alexnet(Builder& b, const SpecOptions& options, const SampleSpec& sample);
void build_resnet(Builder& b, const SpecOptions& options, const SampleSpec& sample);
void build_gpt(Builder& b, const SpecOptions& options, const SampleSpec& sample);
void build_linreg(Builder& b, const SpecOptions& options, const SampleSpec& sample);
void build_logreg(Builder& b, const SpecOptions& options, const SampleSpec& sample);
void build_svm(Builder& b, const SpecOptions& options, const SampleSpec& sample);
void build_deepfm(Builder& b, const SpecOptions& options, const SampleSpec& sample);

}  // namespace hocket
