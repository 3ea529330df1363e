// How fast does Gloo sum f32 vectors over its ranks, in place, by one of its algorithms over TCP? Starts the
// ranks itself. A JSON line a size.
//
//   bench_gloo_all_reduce RANKS ALGORITHM BYTES,… SECONDS
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "peer_figures.h"

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

Context connect(int rank, int ranks, const std::string& folder) {
  gloo::rendezvous::FileStore store(folder);
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.1";
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  context->connectFullMesh(store, device);
  return context;
}

void all_reduce_by_options(const Context& context, float* data, std::size_t count,
                           gloo::AllreduceOptions::Algorithm algorithm) {
  gloo::AllreduceOptions options(context);
  options.setOutput(data, count);
  options.setAlgorithm(algorithm);
  options.setReduceFunction(
      [](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<float>(c, a, b, n); });
  gloo::allreduce(options);
}

// One all-reduce of `data`, prepared; empty when the algorithm cannot do it.
std::function<void()> prepare(const std::string& name, const Context& context, std::vector<float>& data) {
  using Options = gloo::AllreduceOptions::Algorithm;
  float* const first = data.data();
  const std::size_t count = data.size();
  const std::vector<float*> buffers{first};
  const auto run = [](auto algorithm) { return [algorithm] { algorithm->run(); }; };
  if (name == "ring") return [=] { all_reduce_by_options(context, first, count, Options::RING); };
  if (name == "bcube") return [=] { all_reduce_by_options(context, first, count, Options::BCUBE); };
  if (name == "halving_doubling") {
    return run(std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, buffers, count));
  }
  if (name == "ring_chunked") {
    return run(std::make_shared<gloo::AllreduceRingChunked<float>>(context, buffers, count));
  }
  if (name != "old_bcube") throw std::runtime_error("gloo has no algorithm " + name);
  if (count < static_cast<std::size_t>(context->size)) return {};
  return run(std::make_shared<gloo::AllreduceBcube<float>>(context, buffers, count));
}

double agree(const Context& context, double number) {
  auto word = static_cast<float>(context->rank == 0 ? number : 0);
  all_reduce_by_options(context, &word, 1, gloo::AllreduceOptions::Algorithm::RING);
  return word;
}

void measure(const Context& context, const std::string& algorithm, std::size_t bytes,
             const hocket::LoopBudget& budget) {
  std::vector<float> data(std::max<std::size_t>(1, bytes / sizeof(float)), 1.0F);
  const std::function<void()> all_reduce = prepare(algorithm, context, data);
  if (!all_reduce) return;
  all_reduce();
  const auto sum = static_cast<float>(context->size);
  if (data.front() != sum || data.back() != sum) throw std::runtime_error(algorithm + ": wrong sum");
  data.assign(data.size(), 0.0F);
  auto seconds =
      hocket::timed_loop(budget, all_reduce, [&](double number) { return agree(context, number); });
  if (context->rank == 0) hocket::print_figures(algorithm, bytes, std::move(seconds));
}

int run_rank(int rank, int ranks, const std::string& folder, const std::string& algorithm,
             const hocket::PeerArguments& arguments) {
  try {
    const Context context = connect(rank, ranks, folder);
    for (const std::size_t bytes : arguments.bytes) measure(context, algorithm, bytes, arguments.budget);
    agree(context, 0);  // Nobody closes connections while others still use them.
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_gloo_all_reduce: rank {}: {}\n", rank, error.what());
    return 1;
  }
}

std::string make_folder() {
  std::string name = std::filesystem::temp_directory_path() / "hocket-gloo-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  return name;
}

int run_ranks(int ranks, const std::string& algorithm, const hocket::PeerArguments& arguments) {
  const std::string folder = make_folder();
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(run_rank(rank, ranks, folder, algorithm, arguments));
  }
  int worst = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) worst = 1;
  }
  std::filesystem::remove_all(folder);
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: bench_gloo_all_reduce RANKS ALGORITHM BYTES,... SECONDS\n");
    return 2;
  }
  return run_ranks(std::stoi(argv[1]), argv[2], hocket::parse_peer_arguments(argv[3], argv[4]));
}
