// How fast does MPI sum f32 vectors over its ranks, in place and from one buffer to another? A JSON line a
// size and way.
//
//   mpirun -n 2 bench_mpi_all_reduce BYTES,… SECONDS
#include <mpi.h>

#include <functional>

#include "peer_figures.h"

namespace {

int rank_of_this() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

double agree(double number) {
  MPI_Bcast(&number, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return number;
}

void check_sum(const std::vector<float>& sum) {
  int world = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (sum.front() == static_cast<float>(world) && sum.back() == static_cast<float>(world)) return;
  fmt::print(stderr, "MPI_Allreduce: wrong sum\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void measure(const hocket::LoopBudget& budget, std::size_t bytes, bool in_place) {
  std::vector<float> from(std::max<std::size_t>(1, bytes / sizeof(float)), 1.0F);
  std::vector<float> to(from);
  const void* input = in_place ? MPI_IN_PLACE : from.data();
  const auto all_reduce = [&] {
    MPI_Allreduce(input, to.data(), static_cast<int>(to.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  all_reduce();
  check_sum(to);
  from.assign(from.size(), 0.0F);
  to.assign(to.size(), 0.0F);
  auto seconds = hocket::timed_loop(budget, all_reduce, agree);
  if (rank_of_this() == 0) {
    hocket::print_figures(in_place ? "in_place" : "two_buffers", bytes, std::move(seconds));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_mpi_all_reduce BYTES,... SECONDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const hocket::PeerArguments arguments = hocket::parse_peer_arguments(argv[1], argv[2]);
  for (const std::size_t bytes : arguments.bytes) {
    for (const bool in_place : {true, false}) measure(arguments.budget, bytes, in_place);
  }
  MPI_Finalize();
}
