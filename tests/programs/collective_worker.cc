// A rank that carries out random collectives, the same on every rank, until it is told to stop or something
// fails.
//   collective_worker TRANSPORT SEED SECONDS
// Prints "started" when the job has met, "failed: …" with the time of the steady clock when a collective
// failed (exit code 4), "done N" after SECONDS (exit code 0).

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/error.h"
#include "collective/group.h"
#include "net/world.h"

namespace {

using namespace hocket;

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

double now() { return Seconds(Clock::now().time_since_epoch()).count(); }

// A collective that this group can carry out, drawn from `random`.
Operation draw(std::mt19937_64& random, Group& group, std::span<std::byte> memory) {
  const auto pick = [&](auto choices) { return choices[random() % choices.size()]; };
  for (;;) {
    Operation operation;
    operation.collective = pick(all_collectives());
    operation.algorithm = pick(all_algorithms());
    operation.root = static_cast<Rank>(random() % static_cast<unsigned>(group.size()));
    operation.count = random() % 3 == 0 ? random() % 64 : random() % 60'000;
    operation.data = memory.data();
    operation.input = memory.data() + memory.size() / 2;
    const Call call{operation.collective, operation.algorithm, group.size(), operation.count, operation.root};
    const bool needs_memory = operation.algorithm == Algorithm::direct && !group.transport().shared_memory();
    if (operation.algorithm != Algorithm::automatic && supports(call) && !needs_memory) return operation;
  }
}

// Whether everyone goes on: rank 0's watch decides.
bool goes_on(Group& group, TimePoint end) {
  int more = Clock::now() < end ? 1 : 0;
  group.broadcast(std::span(&more, 1), 0);
  return more != 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    WorldOptions options;
    options.transport = *find_transport_kind(argv[1]);
    options.deadline = Seconds(20);
    World world(join_job(), options);
    Group group(world.open());
    const auto memory = group.allocate(std::size_t{1} << 20);
    std::mt19937_64 random(std::strtoull(argv[2], nullptr, 10));
    const TimePoint end = after(Seconds(std::strtod(argv[3], nullptr)));
    say("started");
    try {
      std::int64_t operations = 0;
      for (; operations % 16 != 0 || goes_on(group, end); ++operations)
        group.run(draw(random, group, memory));
      say(fmt::format("done {}", operations));
      return 0;
    } catch (const NetError& error) {
      say(fmt::format("failed: {:.6f} {}", now(), error.what()));
      return 4;
    }
  } catch (const std::exception& error) {
    say(fmt::format("failed: {:.6f} {}", now(), error.what()));
    return 4;
  }
}
