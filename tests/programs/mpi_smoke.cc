// Under mpirun: every way of every collective against the serial result, in the whole world and in its
// halves, or what ranks that call different things hear.
//   mpi_smoke collectives|disagree TRANSPORT
#include <iostream>

#include "base/error.h"
#include "collective/group.h"
#include "collective/group_cases.h"
#include "net/mpi_plugin.h"
#include "net/world.h"

namespace hocket {
namespace {

void exchange_words(MpiPlugin& mpi) {
  const std::string mine(static_cast<std::size_t>(mpi.rank()) * 1000, static_cast<char>('a' + mpi.rank()));
  const auto all = mpi.exchange(std::as_bytes(std::span(mine)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::vector<std::byte> want(rank * 1000, static_cast<std::byte>('a' + rank));
    if (all[rank] != want) throw Error("rank {} did not get the bytes of rank {}", mpi.rank(), rank);
  }
}

void run_everything(Group& world) {
  run_cases(world, sample_of_cases(world.size()));
  std::vector<float> large(3'000'017, 1.0F);  // Many pieces.
  world.all_reduce(std::span(large), Reduction::sum, Algorithm::ring);
  for (const float value : large) {
    if (value != static_cast<float>(world.size())) throw Error("the large sum has an element {}", value);
  }
  if (world.size() < 4) return;
  const bool lower = world.rank() < world.size() / 2;
  std::vector<Rank> members;
  for (Rank rank = 0; rank < world.size(); ++rank) {
    if ((rank < world.size() / 2) == lower) members.push_back(rank);
  }
  Group half(world.transport().split(members, lower ? 1 : 2),
             options_for_cases(static_cast<int>(members.size())));
  run_cases(half, sample_of_cases(half.size()));
}

// Rank 1 calls something else. Every rank that notices says what both called.
void disagree(Group& world) {
  std::vector<float> data(20'000);
  const std::size_t count = world.rank() == 1 ? 19'999 : 20'000;
  world.all_reduce(std::span(data).first(count), Reduction::sum, Algorithm::ring);
}

void run(const std::string& what, TransportKind transport) {
  WorldOptions options;
  options.transport = transport;
  options.deadline = Seconds(30);
  auto membership = join_job();
  if (membership->mpi() == nullptr) throw ConfigError("this program is started by mpirun");
  MpiPlugin& mpi = *membership->mpi();
  exchange_words(mpi);
  World world(std::move(membership), options);
  Group group(world.open(), options_for_cases(mpi.size()));
  if (what == "disagree") {
    disagree(group);
  } else {
    run_everything(group);
  }
  if (group.rank() == 0) {
    std::cout << "all collectives are right over " << group.transport().name() << " with " << mpi.library()
              << " and " << group.size() << " ranks\n";
  }
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  try {
    if (argc != 3) return 2;
    hocket::run(argv[1], *hocket::find_transport_kind(argv[2]));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
