#pragma once

#include <optional>

#include "data/loader.h"
#include "train/peer_sync.h"
#include "train/session.h"

namespace hocket {

// The batches of one worker, in the order of the run. Used by one thread; what it is given must outlive it.
class BatchFeed {
 public:
  // `given`: as the data were opened.
  BatchFeed(const TrainOptions& given, const TrainOptions& options, const Team& team, SessionData& data);

  // `rows`: that a batch has at least. `kept`: batches that are in use at once.
  void begin_at(const DataPosition& position, std::int64_t rows, int kept);

  // Whether next() replaces the data by what their files say now: then nobody may refer to the old ones.
  bool reads_again() const { return reads_again_ && has_read_; }
  const Batch& next();  // This worker's part of the next batch, valid until `kept` further calls.
  std::int64_t pass();  // Leaves the next batch to others; its samples.
  DataPosition position() const { return position_; }  // Of the batch after the last.

  void set_shares(const std::vector<std::int64_t>& weights) { loader_->set_shares(weights); }

 private:
  void open();

  const TrainOptions& given_;
  const TrainOptions& options_;
  const WorkerPlace place_;
  SessionData& data_;
  const bool reads_again_;  // For each batch;
  bool has_read_ = false;   // for the first they have just been opened.
  std::int64_t rows_ = 0;
  int kept_ = 1;
  DataPosition position_;
  std::optional<Loader> loader_;
};

}  // namespace hocket
