#include "cli/bench/peer_process.h"

#include <gtest/gtest.h>

#include <iostream>

#include "base/error.h"

namespace hocket {
namespace {

constexpr int kSoon = 60;

TEST(PeerProcess, AnswersEveryLine) {
  PeerProcess peer(usable_processors(), [] { serve_steps([](int steps) { return 0.5 * steps; }); });
  for (const int steps : {1, 7}) {
    peer.send(std::to_string(steps));
    EXPECT_DOUBLE_EQ(std::stod(peer.receive(kSoon).value()), 0.5 * steps);
  }
}

TEST(PeerProcess, GivesNothingOnceTheChildHasEnded) {
  PeerProcess peer(usable_processors(), [] { std::cout << "last words\n"; });
  EXPECT_EQ(peer.receive(kSoon), "last words");
  EXPECT_EQ(peer.receive(kSoon), std::nullopt);
}

TEST(PeerProcess, PinsTheChild) {
  const int last = usable_processors().back();
  PeerProcess peer({last}, [] {
    for (const int processor : usable_processors()) std::cout << processor << ' ';
    std::cout << '\n';
  });
  EXPECT_EQ(peer.receive(kSoon), std::to_string(last) + ' ');
}

}  // namespace
}  // namespace hocket
