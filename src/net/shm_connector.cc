#include "net/shm_connector.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "net/board.h"
#include "net/pause.h"
#include "net/shm_arenas.h"

namespace hocket {

namespace {

// Channels of the exchange that serve one of ours have the highest bit set.
constexpr unsigned kExchange = 0x80000000U;
constexpr Seconds kPatience{30};

// How a rank tells its peers where its memory is.
struct Invitation {
  std::int64_t pid;
  std::int64_t rings_fd;
  std::uint64_t rings_bytes;
  std::int64_t arena_fd;
  std::uint64_t arena_bytes;
};

std::size_t ring_capacity(std::size_t members) {
  return std::clamp<std::size_t>(std::bit_floor((std::size_t{4} << 20) / members), std::size_t{1} << 14,
                                 std::size_t{1} << 18);
}

// A member's memory: the board (only the first member's is used), then the rings of what it receives, by
// sender.
std::size_t memory_bytes(std::size_t members) {
  return kBoardBytes + members * Ring::bytes_for(ring_capacity(members));
}

Ring ring_in(std::span<std::byte> memory, std::size_t members, std::size_t sender) {
  const std::size_t bytes = Ring::bytes_for(ring_capacity(members));
  return {memory.subspan(kBoardBytes + sender * bytes, bytes), ring_capacity(members)};
}

// Moves all of `bytes` with `move_some`, which a stream's write_some or read_some is.
template <typename Bytes, typename MoveSome>
void move_all(std::span<Bytes> bytes, Rank peer, Health& health, const MoveSome& move_some) {
  Pause pause(true);
  while (!bytes.empty()) {
    const std::size_t n = move_some(bytes);
    bytes = bytes.subspan(n);
    if (n > 0) continue;
    if (health.failed()) throw NetError("cannot share memory with rank {}: {}", peer, health.failure().what);
    if (pause.waited() > kPatience)
      throw NetError("rank {} did not share its memory in {} s", peer, kPatience.count());
    const Seconds rest = pause.once();
    if (rest > Seconds(0)) ::usleep(100);
  }
}

template <typename Message>
void tell(Stream& stream, Rank peer, Health& health, const Message& message) {
  move_all(std::as_bytes(std::span(&message, 1)), peer, health,
           [&](auto rest) { return stream.write_some(rest); });
}

template <typename Message>
Message hear(Stream& stream, Rank peer, Health& health) {
  Message message;
  move_all(std::as_writable_bytes(std::span(&message, 1)), peer, health,
           [&](auto rest) { return stream.read_some(rest); });
  return message;
}

// A group's board, and the arenas of its members.
class ArenaMemory final : public SharedMemory {
 public:
  ArenaMemory(std::shared_ptr<ShmArenas> arenas, std::shared_ptr<MappedMemory> board,
              std::span<const Rank> members)
      : arenas_(std::move(arenas)), board_(std::move(board)) {
    for (const Rank member : members) bases_.push_back(arenas_->of(member));
  }

  std::span<std::byte> board() override { return board_->bytes().first(kBoardBytes); }
  std::optional<std::uint64_t> place_of(const void* data, std::size_t bytes) const override {
    return arenas_->place_of(data, bytes);
  }
  std::byte* at(Rank owner, std::uint64_t place) const override {
    return bases_[static_cast<std::size_t>(owner)].data() + place;
  }
  std::span<std::byte> allocate(std::size_t bytes) override { return arenas_->allocate(bytes); }

 private:
  std::shared_ptr<ShmArenas> arenas_;
  std::shared_ptr<MappedMemory> board_;
  std::vector<std::span<std::byte>> bases_;
};

}  // namespace

// The memory of all members of a channel, in their order.
struct ShmConnector::Channel {
  std::vector<std::shared_ptr<MappedMemory>> memory;
};

ShmConnector::ShmConnector(Connector& exchange, Rank me, Health& health, std::size_t arena_bytes)
    : exchange_(exchange), me_(me), health_(health), arenas_(std::make_shared<ShmArenas>(me, arena_bytes)) {}

ShmConnector::~ShmConnector() = default;

std::size_t ShmConnector::default_arena_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::vector<std::vector<std::unique_ptr<Stream>>> ShmConnector::connect(unsigned channel,
                                                                        std::span<const Rank> members) {
  const std::size_t size = members.size();
  const auto me = static_cast<std::size_t>(std::find(members.begin(), members.end(), me_) - members.begin());
  HOCKET_CHECK(me < size, "rank {} is not a member of channel {}", me_, channel);
  auto exchange = exchange_.connect(channel | kExchange, members);

  const auto shared = std::make_shared<Channel>();
  shared->memory.resize(size);
  shared->memory[me] = std::make_shared<MappedMemory>(MappedMemory::create(memory_bytes(size)));
  const Invitation mine{::getpid(), shared->memory[me]->fd(), memory_bytes(size), arenas_->mine().fd(),
                        arenas_->mine().bytes().size()};
  const auto for_each_peer = [&](const auto& body) {
    for (std::size_t peer = 0; peer < size; ++peer) {
      if (peer != me) body(peer, *exchange[peer].front(), members[peer]);
    }
  };
  for_each_peer([&](std::size_t, Stream& stream, Rank rank) { tell(stream, rank, health_, mine); });
  for_each_peer([&](std::size_t peer, Stream& stream, Rank rank) {
    const auto theirs = hear<Invitation>(stream, rank, health_);
    if (theirs.rings_bytes != memory_bytes(size))
      throw NetError("rank {} shares memory of another size", rank);
    const auto pid = static_cast<int>(theirs.pid);
    shared->memory[peer] = std::make_shared<MappedMemory>(
        MappedMemory::open(pid, static_cast<int>(theirs.rings_fd), theirs.rings_bytes));
    if (!arenas_->has(rank)) {
      arenas_->add(rank, MappedMemory::open(pid, static_cast<int>(theirs.arena_fd), theirs.arena_bytes));
    }
  });
  // Everybody has what it needs when all have said so.
  for_each_peer([&](std::size_t, Stream& stream, Rank rank) { tell(stream, rank, health_, std::byte{1}); });
  for_each_peer([&](std::size_t, Stream& stream, Rank rank) { hear<std::byte>(stream, rank, health_); });
  shared->memory[me]->close_fd();

  std::vector<std::vector<std::unique_ptr<Stream>>> streams(size);
  for_each_peer([&](std::size_t peer, Stream&, Rank) {
    streams[peer].push_back(std::make_unique<RingStream>(ring_in(shared->memory[peer]->bytes(), size, me),
                                                         ring_in(shared->memory[me]->bytes(), size, peer),
                                                         shared));
  });
  const std::lock_guard lock(mutex_);
  channels_[channel] = shared;
  return streams;
}

std::unique_ptr<SharedMemory> ShmConnector::share(unsigned channel, std::span<const Rank> members) {
  const std::lock_guard lock(mutex_);
  const auto shared = channels_.extract(channel);
  HOCKET_CHECK(!shared.empty(), "channel {} is not connected", channel);
  return std::make_unique<ArenaMemory>(arenas_, shared.mapped()->memory.front(), members);
}

}  // namespace hocket
