// Under mpirun: every way of every collective over MPI against the serial result, in the whole world and in
// its halves, and what ranks that call different things hear.
#include <cstdlib>
#include <iostream>

#include "base/error.h"
#include "collective/group.h"
#include "collective/group_cases.h"
#include "net/mpi_plugin.h"
#include "net/mpi_transport.h"

namespace hocket {
namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) throw ConfigError("{} is not set: this program is started by mpirun", variable);
  return std::atoi(text);
}

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

int run(const std::string& what) {
  const auto mpi = start_mpi(number_in("OMPI_COMM_WORLD_RANK"), number_in("OMPI_COMM_WORLD_SIZE"));
  exchange_words(*mpi);
  Health health;
  TransportOptions options;
  options.crowded = true;
  options.deadline = Seconds(30);
  Group world(mpi_transport(*mpi, health, options), options_for_cases(mpi->size()));
  if (what == "disagree") {
    disagree(world);
  } else {
    run_everything(world);
  }
  if (world.rank() == 0) {
    std::cout << "all collectives are right over " << mpi->library() << " with " << world.size()
              << " ranks\n";
  }
  return 0;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  try {
    return hocket::run(argc > 1 ? argv[1] : "collectives");
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
