#include "runtime/stage_links.h"

#include <chrono>

#include "base/error.h"

namespace hocket {
namespace {

constexpr std::chrono::microseconds kPause{100};

std::string stage_text(const Label& label) {
  const auto& [route, number, bytes, kind] = label.words;
  return fmt::format("message {} of pipeline channel {} from stage {} to stage {}, {} bytes", number, kind,
                     route >> 32, route & 0xffffffffU, bytes);
}

Label label_of(int channel, int from, int to, std::uint64_t number, std::size_t bytes) {
  return {{static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to), number, bytes,
           static_cast<std::uint64_t>(channel)}};
}

}  // namespace

StageLinks::StageLinks(std::vector<std::unique_ptr<Transport>> channels) : channels_(std::move(channels)) {
  for (const auto& channel : channels_) {
    const auto size = static_cast<std::size_t>(channel->size());
    counts_.push_back({std::vector<std::uint64_t>(size, 0), std::vector<std::uint64_t>(size, 0)});
    channel->set_label_text(stage_text);
  }
  behind_ = std::jthread([this](const std::stop_token& stop) { push_behind(stop); });
}

StageLinks::~StageLinks() = default;

void StageLinks::push_behind(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (posted_.wait(lock, stop, [this] { return !left_.empty(); })) {
    move_all();
    std::erase_if(left_, [this](const Message& message) { return has_arrived(message); });
    lock.unlock();
    std::this_thread::sleep_for(kPause);
    lock.lock();
  }
}

StageLinks::Message StageLinks::send(int to, int channel, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  Transport& transport = *channels_[static_cast<std::size_t>(channel)];
  const std::uint64_t number =
      counts_[static_cast<std::size_t>(channel)].sent[static_cast<std::size_t>(to)]++;
  const Label label = label_of(channel, transport.rank(), to, number, bytes.size());
  const Message message{channel, transport.send(to, label, bytes), label};
  transport.progress();
  if (has_arrived(message)) return {};
  left_.push_back(message);
  posted_.notify_one();
  return message;
}

StageLinks::Message StageLinks::receive(int from, int channel, std::span<std::byte> into) {
  const std::lock_guard lock(mutex_);
  Transport& transport = *channels_[static_cast<std::size_t>(channel)];
  const std::uint64_t number =
      counts_[static_cast<std::size_t>(channel)].received[static_cast<std::size_t>(from)]++;
  transport.begin_round();
  const Label label = label_of(channel, from, transport.rank(), number, into.size());
  return {channel, transport.recv(from, label, into), label};
}

bool StageLinks::has_arrived(const Message& message) const {
  return message.channel < 0 ||
         channels_[static_cast<std::size_t>(message.channel)]->is_done(message.pending);
}

bool StageLinks::is_done(const Message& message) const {
  const std::lock_guard lock(mutex_);
  return has_arrived(message);
}

// While this rank waits for one message, others must move: the peer may wait for them.
void StageLinks::wait(Message& message) {
  if (message.channel < 0) return;
  const std::lock_guard lock(mutex_);
  Transport& transport = *channels_[static_cast<std::size_t>(message.channel)];
  transport.wait_until(message.pending.peer, message.label, [&] {
    move_all();
    return has_arrived(message);
  });
  message.channel = -1;
}

void StageLinks::progress() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) move_all();
}

void StageLinks::move_all() {
  for (const auto& channel : channels_) channel->progress();
}

Traffic StageLinks::traffic() const {
  const std::lock_guard lock(mutex_);
  Traffic all;
  for (const auto& channel : channels_) {
    all.messages_sent += channel->traffic().messages_sent;
    all.bytes_sent += channel->traffic().bytes_sent;
    all.messages_received += channel->traffic().messages_received;
    all.bytes_received += channel->traffic().bytes_received;
  }
  return all;
}

}  // namespace hocket
