#include "net/inproc_connector.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "net/board.h"

namespace hocket {

namespace {

constexpr std::size_t kRingBytes = std::size_t{1} << 16;
constexpr std::align_val_t kLine{64};

using Memory = std::unique_ptr<std::byte, void (*)(std::byte*)>;

Memory zeroed(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(bytes, kLine));
  std::memset(memory, 0, bytes);
  return {memory, [](std::byte* old) { ::operator delete(old, kLine); }};
}

// Threads of one process: every address is a place, and is the same for all.
class ProcessMemory final : public SharedMemory {
 public:
  explicit ProcessMemory(std::shared_ptr<InprocChannel> channel, std::span<std::byte> board)
      : channel_(std::move(channel)), board_(board) {}

  std::span<std::byte> board() override { return board_; }
  std::optional<std::uint64_t> place_of(const void* data, std::size_t) const override {
    return reinterpret_cast<std::uint64_t>(data);
  }
  std::byte* at(Rank, std::uint64_t place) const override { return reinterpret_cast<std::byte*>(place); }
  std::span<std::byte> allocate(std::size_t bytes) override;

 private:
  std::shared_ptr<InprocChannel> channel_;
  std::span<std::byte> board_;
};

}  // namespace

struct InprocChannel {
  explicit InprocChannel(std::size_t size) : members(size), board(zeroed(kBoardBytes)) {
    for (std::size_t i = 0; i < size * size; ++i) rings.push_back(zeroed(Ring::bytes_for(kRingBytes)));
  }
  Ring ring(std::size_t from, std::size_t to) const {
    return {{rings[from * members + to].get(), Ring::bytes_for(kRingBytes)}, kRingBytes};
  }

  std::size_t members;
  Memory board;
  std::vector<Memory> rings;
  std::mutex mutex;            // Guards
  std::vector<Memory> blocks;  // what members have allocated, which others may use for longer than they do.
};

std::span<std::byte> ProcessMemory::allocate(std::size_t bytes) {
  const std::lock_guard lock(channel_->mutex);
  channel_->blocks.push_back(zeroed(std::max<std::size_t>((bytes + 63) / 64 * 64, 64)));
  return {channel_->blocks.back().get(), bytes};
}

std::shared_ptr<InprocChannel> InprocHub::channel(unsigned channel, std::span<const Rank> members) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<InprocChannel>& found = channels_[{channel, members.front()}];
  if (!found) found = std::make_shared<InprocChannel>(members.size());
  return found;
}

std::vector<std::vector<std::unique_ptr<Stream>>> InprocConnector::connect(unsigned channel,
                                                                           std::span<const Rank> members) {
  const auto rings = hub_.channel(channel, members);
  const auto me = static_cast<std::size_t>(std::find(members.begin(), members.end(), me_) - members.begin());
  HOCKET_CHECK(me < members.size(), "rank {} is not a member of channel {}", me_, channel);
  std::vector<std::vector<std::unique_ptr<Stream>>> streams(members.size());
  for (std::size_t peer = 0; peer < members.size(); ++peer) {
    if (peer == me) continue;
    streams[peer].push_back(
        std::make_unique<RingStream>(rings->ring(me, peer), rings->ring(peer, me), rings));
  }
  return streams;
}

std::unique_ptr<SharedMemory> InprocConnector::share(unsigned channel, std::span<const Rank> members) {
  auto rings = hub_.channel(channel, members);
  std::byte* board = rings->board.get();
  return std::make_unique<ProcessMemory>(std::move(rings), std::span(board, kBoardBytes));
}

}  // namespace hocket
