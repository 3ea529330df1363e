#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "net/health.h"
#include "net/inproc_connector.h"
#include "net/job_connector.h"
#include "net/job_key.h"
#include "net/stream_transport.h"
#include "net/tcp_connector.h"
#include "net/transport.h"

namespace hocket {

// By what the ranks of a test talk. `hosts`: every two ranks believe to be on one host, so that they use
// shared memory with their neighbour and TLS with the others.
enum class Medium { inproc, shm, tcp, hosts };

inline const char* name_of(Medium medium) {
  switch (medium) {
    case Medium::inproc: return "inproc";
    case Medium::shm: return "shm";
    case Medium::tcp: return "tcp";
    case Medium::hosts: break;
  }
  return "hosts";
}

// For tests: a job whose ranks are threads of this process, with one view of its health.
class TestJob {
 public:
  TestJob(int world, Medium medium) : medium_(medium), jobs_(static_cast<std::size_t>(world)) {
    if (medium == Medium::inproc) {
      make_inproc();
      return;
    }
    const JobKey key = random_key();
    const Log quiet = [](std::string_view) {};
    std::vector<Listener> listeners;
    std::vector<Member> members;
    for (Rank rank = 0; rank < world; ++rank) {
      listeners.emplace_back(listen_at({"127.0.0.1", 0}), key, ListenerOptions{.rank = rank}, quiet);
      const std::string host = std::to_string(medium == Medium::hosts ? rank / 2 : 0);
      members.push_back({"host", "127.0.0.1", listeners.back().endpoint().port, host, 1});
    }
    for (std::size_t r = 0; r < jobs_.size(); ++r) {
      jobs_[r] = {job_id(key), key, static_cast<Rank>(r), members, false};
      tcp_.push_back(
          std::make_unique<TcpConnector>(jobs_[r], health_, std::move(listeners[r]), TcpOptions{}, quiet));
      if (medium == Medium::tcp) continue;
      connectors_.push_back(std::make_unique<JobConnector>(jobs_[r], health_, *tcp_[r]));
    }
  }

  Health& health() { return health_; }
  Connector& connector(Rank rank) {
    const auto r = static_cast<std::size_t>(rank);
    return medium_ == Medium::tcp ? *tcp_[r] : *connectors_[r];
  }
  std::unique_ptr<Transport> transport(Rank rank, Seconds deadline, LinkLedger* emulation = nullptr) {
    TransportOptions options;
    options.emulation = emulation;
    options.name = name_of(medium_);
    options.deadline = deadline;
    options.crowded = true;
    std::vector<Rank> members;
    for (Rank member = 0; member < static_cast<int>(jobs_.size()); ++member) members.push_back(member);
    return std::make_unique<StreamTransport>(connector(rank), 0, members, rank, health_, options);
  }

 private:
  void make_inproc() {
    for (Rank rank = 0; rank < static_cast<int>(jobs_.size()); ++rank) {
      connectors_.push_back(std::make_unique<InprocConnector>(hub_, rank));
    }
  }

  Medium medium_;
  InprocHub hub_;
  Health health_;
  std::vector<Job> jobs_;
  std::vector<std::unique_ptr<TcpConnector>> tcp_;
  std::vector<std::unique_ptr<Connector>> connectors_;
};

// A message whose elements count from `from` on.
inline std::vector<int> numbered(int from, std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

// Runs `body` on every rank. Returns what each rank threw, empty where it threw nothing.
inline std::vector<std::string> run_ranks(int world,
                                          const std::function<void(std::unique_ptr<Transport>)>& body,
                                          Medium medium = Medium::inproc, Seconds deadline = Seconds(20),
                                          LinkLedger* emulation = nullptr) {
  TestJob job(world, medium);
  std::vector<std::string> errors(static_cast<std::size_t>(world));
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(job.transport(rank, deadline, emulation));
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  threads.clear();
  return errors;
}

}  // namespace hocket
