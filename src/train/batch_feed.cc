#include "train/batch_feed.h"

#include <algorithm>

namespace hocket {

namespace {

bool never_caches(const Discipline& discipline) {
  return discipline.kind == DisciplineKind::mapreduce && !discipline.caches;
}

}  // namespace

BatchFeed::BatchFeed(const TrainOptions& given, const TrainOptions& options, const Team& team,
                     SessionData& data)
    : given_(given),
      options_(options),
      place_(place_of_worker(options, team)),
      data_(data),
      reads_again_(has_peers(options, team) && never_caches(Discipline::parse(options.sync))) {}

void BatchFeed::begin_at(const DataPosition& position, std::int64_t rows, int kept) {
  position_ = position;
  rows_ = rows;
  kept_ = kept;
  if (!place_.is_driver) open();
}

void BatchFeed::open() {
  LoaderOptions loading;
  loading.batch = options_.batch;
  loading.seed = options_.seed;
  loading.start = position_;
  loading.rank = place_.share.index;
  loading.ranks = place_.share.count;
  loading.rows = rows_;
  loading.kept = kept_;
  loader_.emplace(*data_.train, loading);
}

const Batch& BatchFeed::next() {
  if (reads_again()) {
    loader_.reset();
    data_ = open_session_data(given_);
    open();
  }
  has_read_ = true;
  const Batch& batch = loader_->next();
  position_ = loader_->position();
  return batch;
}

std::int64_t BatchFeed::pass() {
  const std::int64_t left = data_.train->info().size - position_.sample;
  const std::int64_t samples = std::min(left, options_.batch);
  position_ = samples == left ? DataPosition{position_.epoch + 1, 0}
                              : DataPosition{position_.epoch, position_.sample + samples};
  return samples;
}

}  // namespace hocket
