#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/health.h"
#include "net/inproc_connector.h"
#include "net/stream_transport.h"
#include "net/transport.h"

namespace hocket {

// For tests: runs `body` on `world` ranks as threads that share memory and one view of the job's health.
// Returns what each rank threw, empty where it threw nothing.
inline std::vector<std::string> run_ranks(int world,
                                          const std::function<void(std::unique_ptr<Transport>)>& body,
                                          Seconds deadline = Seconds(20)) {
  InprocHub hub;
  Health health;
  std::vector<Rank> members;
  for (Rank rank = 0; rank < world; ++rank) members.push_back(rank);
  std::vector<std::string> errors(members.size());
  std::vector<std::unique_ptr<InprocConnector>> connectors;
  for (const Rank rank : members) connectors.push_back(std::make_unique<InprocConnector>(hub, rank));
  {
    std::vector<std::jthread> threads;
    for (const Rank rank : members) {
      threads.emplace_back([&, rank] {
        const auto index = static_cast<std::size_t>(rank);
        try {
          TransportOptions options;
          options.deadline = deadline;
          options.crowded = true;
          body(std::make_unique<StreamTransport>(*connectors[index], 0, members, rank, health, options));
        } catch (const std::exception& error) {
          errors[index] = error.what();
        }
      });
    }
  }
  return errors;
}

}  // namespace hocket
