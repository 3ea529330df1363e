#include "net/control_message.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

const Member kMember{"host", "10.0.0.1", 4711, "boot/4026531840", 42};

std::vector<ControlMessage> one_of_each() {
  return {Join{4, kMember},     Welcome{{kMember, kMember}, kMember}, Rejected{"why"}, Beat{}, Goodbye{},
          Failed{{2, "rank 2"}}};
}

TEST(ControlMessage, ReadsBackWhatWasWritten) {
  for (const ControlMessage& message : one_of_each()) {
    const ControlMessage back = decode(encode(message));
    EXPECT_EQ(back.index(), message.index());
    EXPECT_EQ(encode(back), encode(message));
  }
  const auto welcome = std::get<Welcome>(decode(encode(Welcome{{kMember}, kMember})));
  EXPECT_EQ(welcome.members[0].port, 4711);
  EXPECT_EQ(welcome.coordinator.host_id, kMember.host_id);
}

TEST(ControlMessage, RefusesEveryTruncationAndAnyMore) {
  for (const ControlMessage& message : one_of_each()) {
    std::vector<std::byte> bytes = encode(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(decode(std::span(bytes).first(size)), NetError);
    }
    bytes.push_back({});
    EXPECT_THROW(decode(bytes), NetError);
  }
}

TEST(ControlMessage, BelievesNoCountBeyondItsBytes) {
  const std::byte bytes[] = {std::byte{1}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                             std::byte{0xff}};
  EXPECT_THROW(decode(bytes), NetError);
}

}  // namespace
}  // namespace hocket
