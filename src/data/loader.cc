#include "data/loader.h"

#include <pthread.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

void check_options(const DataInfo& info, const LoaderOptions& options) {
  if (info.size == 0) throw DataError("data {} has no samples", info.name);
  if (options.batch < 1) throw ConfigError("a batch of {} samples: expected at least 1", options.batch);
  if (options.drop_last && info.size < options.batch) {
    throw ConfigError("data {} has {} samples: not one full batch of {}", info.name, info.size,
                      options.batch);
  }
  HOCKET_CHECK(options.ranks > 0 && options.rank >= 0 && options.rank < options.ranks, "rank {} of {}",
               options.rank, options.ranks);
  HOCKET_CHECK(options.kept > 0 && options.ahead > 0, "a ring of {} + {} batches", options.kept,
               options.ahead);
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderOptions& options) : dataset_(dataset), options_(options) {
  check_options(dataset.info(), options);
  position_ = wrapped(options.start);
  for (int i = 0; i < options.kept + options.ahead; ++i)
    ring_.push_back(make_batch(dataset.info(), capacity()));
  indices_.reserve(static_cast<std::size_t>(capacity()));
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

std::int64_t Loader::capacity() const {
  return std::max(options_.rows, (options_.batch + options_.ranks - 1) / options_.ranks);
}

std::int64_t Loader::batches_per_epoch() const {
  const std::int64_t size = dataset_.info().size;
  return options_.drop_last ? size / options_.batch : (size + options_.batch - 1) / options_.batch;
}

// The same place, or the start of the next epoch where `at` leaves no batch in its own.
DataPosition Loader::wrapped(DataPosition at) const {
  const std::int64_t left = dataset_.info().size - at.sample;
  return left < (options_.drop_last ? options_.batch : 1) ? DataPosition{at.epoch + 1, 0} : at;
}

// Gathers this rank's share of the batch that begins at `at`, and returns where the next one begins.
DataPosition Loader::fill(Batch& batch, DataPosition at) {
  const std::int64_t size = dataset_.info().size;
  const SampleRange whole{at.sample, std::min(options_.batch, size - at.sample)};
  const SampleRange share = weights_.empty() ? rank_share(whole, options_.rank, options_.ranks)
                                             : weighted_share(whole, weights_, options_.rank);
  HOCKET_CHECK(share.count <= capacity(), "a share of {} samples in {} rows", share.count, capacity());
  indices_.resize(static_cast<std::size_t>(share.count));
  if (options_.shuffle) {
    SampleOrder(size, options_.seed, at.epoch).copy(share.first, indices_);
  } else {
    std::iota(indices_.begin(), indices_.end(), share.first);
  }
  dataset_.gather(indices_, at.epoch, batch.fields);
  const auto weight = batch.weight.values<float>();
  std::fill(weight.begin(), weight.begin() + share.count, 1.0F);
  std::fill(weight.begin() + share.count, weight.end(), 0.0F);
  batch.count = share.count;
  batch.global_count = whole.count;
  batch.epoch = at.epoch;
  batch.first = at.sample;
  batch.offset = share.first - whole.first;
  return wrapped({at.epoch, at.sample + whole.count});
}

void Loader::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "hocket-loader");
  DataPosition at = wrapped(options_.start);
  std::exception_ptr failure;
  for (std::int64_t turn = 0; failure == nullptr; ++turn) {
    {
      std::unique_lock lock(mutex_);
      const auto is_free = [&] { return turn - released_ < static_cast<std::int64_t>(ring_.size()); };
      if (!changed_.wait(lock, stop, is_free)) return;
      if (!next_weights_.empty() && turn >= next_from_) weights_ = std::exchange(next_weights_, {});
    }
    try {
      at = fill(ring_[static_cast<std::size_t>(turn) % ring_.size()], at);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    ready_ += failure == nullptr ? 1 : 0;
    changed_.notify_all();
  }
}

// The ring is full at most: that many batches from the one that the caller has may be gathered already.
void Loader::set_shares(std::vector<std::int64_t> weights) {
  const std::lock_guard lock(mutex_);
  next_weights_ = std::move(weights);
  next_from_ = std::max<std::int64_t>(0, taken_ - 1) + static_cast<std::int64_t>(ring_.size());
}

const Batch& Loader::next() {
  std::unique_lock lock(mutex_);
  // The oldest batch that the caller has is free again.
  released_ = std::max<std::int64_t>(released_, taken_ + 1 - options_.kept);
  changed_.notify_all();
  while (ready_ == taken_ && failure_ == nullptr) changed_.wait(lock);
  if (ready_ == taken_) std::rethrow_exception(failure_);
  const Batch& batch = ring_[static_cast<std::size_t>(taken_++) % ring_.size()];
  position_ = wrapped({batch.epoch, batch.first + batch.global_count});
  return batch;
}

}  // namespace hocket
