#include "train/balance.h"

#include <algorithm>

#include "base/error.h"
#include "sync/discipline.h"

namespace hocket {
namespace {

constexpr std::int64_t kFirst = 3;    // Steps until speeds are compared,
constexpr std::int64_t kEvery = 20;   // and from then on. Before that, a step is more than its computation.
constexpr double kWorthwhile = 0.03;  // Of the time of a step: less is noise.
constexpr std::int64_t kChunks = 8;   // Of an even share, where shares are balanced.

// Of the slowest rank, in chunks of a rank with speed 1.
double time_of(std::span<const double> speeds, std::span<const std::int64_t> shares) {
  double longest = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    longest = std::max(longest, static_cast<double>(shares[i]) / speeds[i]);
  return longest;
}

}  // namespace

TrainOptions with_chunks(TrainOptions options, const Team& team) {
  if (!options.balance || team.is_alone()) return options;
  const auto refuse = [](bool is_given, const char* what) {
    if (is_given)
      throw ConfigError("{} does not go with --balance, as all ranks meet in it for each chunk", what);
  };
  if (Discipline::parse(options.sync).kind != DisciplineKind::allreduce)
    throw ConfigError("--balance does not go with --sync {}", options.sync);
  refuse(team.mesh().size_of("dp") != team.size(), "a mesh with tp");
  refuse(options.schedule.starts_with("pipedream"), "--schedule pipedream");
  refuse(options.zero > 0, "--zero");
  refuse(options.factors, "--factors");
  refuse(options.sync_batch_norm, "--sync-batch-norm");
  const std::int64_t share = options.batch / team.size();
  if (share == 0) throw ConfigError("--balance: a batch of {} for {} workers", options.batch, team.size());
  if (options.micro_batches == 1)
    options.micro_batches = static_cast<int>(std::clamp<std::int64_t>(share, 1, kChunks));
  return options;
}

// Each chunk goes to the rank that would be done with it first, which leaves no better way to divide them.
std::vector<std::int64_t> shares_by_speed(std::span<const double> speeds, std::int64_t chunks) {
  std::vector<std::int64_t> shares(speeds.size(), 1);
  for (auto left = chunks - static_cast<std::int64_t>(speeds.size()); left > 0; --left) {
    std::size_t best = 0;
    const auto done = [&](std::size_t i) { return static_cast<double>(shares[i] + 1) / speeds[i]; };
    for (std::size_t i = 1; i < speeds.size(); ++i) {
      if (done(i) < done(best)) best = i;
    }
    ++shares[best];
  }
  return shares;
}

Balance::Balance(int ranks, std::int64_t chunks) : chunks_(chunks) {
  HOCKET_CHECK(chunks >= ranks, "{} chunks for {} ranks", chunks, ranks);
  shares_ = shares_by_speed(std::vector<double>(static_cast<std::size_t>(ranks), 1.0), chunks);
}

void Balance::add(std::int64_t samples, double seconds) {
  samples_ += samples;
  seconds_ += seconds;
}

bool Balance::is_due(std::int64_t step) const { return step == kFirst || step % kEvery == 0; }

double Balance::speed() const { return seconds_ > 0 ? static_cast<double>(samples_) / seconds_ : 0; }

bool Balance::decide(std::span<const double> speeds) {
  samples_ = 0;
  seconds_ = 0;
  if (std::any_of(speeds.begin(), speeds.end(), [](double speed) { return !(speed > 0); })) return false;
  std::vector<std::int64_t> better = shares_by_speed(speeds, chunks_);
  if (time_of(speeds, better) > (1 - kWorthwhile) * time_of(speeds, shares_)) return false;
  shares_ = std::move(better);
  return true;
}

}  // namespace hocket
