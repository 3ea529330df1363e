#include <algorithm>
#include <cstdint>
#include <vector>

#include "net/lane.h"

namespace hocket {
namespace {

// Gives what the fuzzer made, a few bytes at a time, and then says that the peer has left.
class FuzzStream final : public Stream {
 public:
  explicit FuzzStream(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t write_some(std::span<const std::byte> bytes) override { return bytes.size(); }
  std::size_t read_some(std::span<std::byte> into) override {
    if (bytes_.empty()) throw StreamClosed("the end");
    const std::size_t n = std::min({into.size(), bytes_.size(), std::size_t{37}});
    std::copy_n(bytes_.begin(), n, into.begin());
    bytes_ = bytes_.subspan(n);
    return n;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace
}  // namespace hocket

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  Lane lane(std::make_unique<FuzzStream>(std::as_bytes(std::span(data, size))), 7);
  std::vector<std::byte> into(100);
  std::size_t taken = 0;
  const auto take = [](void* context, std::size_t, std::span<const std::byte> bytes) {
    *static_cast<std::size_t*>(context) += bytes.size();
  };
  lane.recv(0, {{1}}, {into.data(), {}, into.size(), 0}, {});
  lane.recv(1, {{2}}, {nullptr, {take, &taken}, 1000, 0}, {});
  try {
    while (!lane.is_idle()) lane.advance_recv([](const Label&) { return std::string("a message"); });
  } catch (const StreamClosed&) {
  } catch (const FrameMismatch&) {
  }
  return 0;
}
