#include "net/socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.h"
#include "net/clock.h"

namespace hocket {
namespace {

// Whether somebody who has not been told of the port can have it.
bool is_free(const Endpoint& endpoint) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(endpoint.port);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

TEST(ReservedPort, IsForThoseWhoListenThereOneAfterTheOther) {
  const FileDescriptor port = reserve_port("127.0.0.1");
  const Endpoint endpoint = local_endpoint(port.get());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(is_free(endpoint));
    EXPECT_THROW(connect_to(endpoint, after(Seconds(5))), NetError);  // Nobody listens yet.
    const FileDescriptor listening = listen_at(endpoint);
    const FileDescriptor call = connect_to(endpoint, after(Seconds(5)));
    EXPECT_EQ(remote_endpoint(call.get()).port, endpoint.port);
    EXPECT_THROW(listen_at(endpoint), NetError);
  }
}

}  // namespace
}  // namespace hocket
