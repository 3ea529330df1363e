#include "cli/jobs/scheduler_place.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "cli/launch/key_file.h"
#include "net/call.h"

namespace hocket {

JobKey SchedulerPlace::key() const {
  if (!std::filesystem::exists(key_file()))
    throw ConfigError("jobs: {} is not the folder of a scheduler; hocket jobs serve --dir makes one",
                      folder.string());
  return read_key_file(key_file());
}

Endpoint SchedulerPlace::address() const {
  std::string text = server;
  if (text.empty()) {
    std::ifstream file(address_file());
    std::getline(file, text);
    if (text.empty())
      throw ConfigError("jobs: {}: no scheduler has been here; start hocket jobs serve", folder.string());
  }
  Endpoint endpoint = parse_endpoint(text);
  endpoint.address = resolve(endpoint.address).front();
  return endpoint;
}

SchedulerPlace place_of(const Arguments& arguments) {
  if (!arguments.has("dir"))
    throw ConfigError("jobs {}: whose? Give --dir, the folder of hocket jobs serve",
                      arguments.words().front());
  return place_at(arguments.text("dir"), arguments);
}

SchedulerPlace place_at(const std::string& folder, const Arguments& arguments) {
  SchedulerPlace place;
  place.folder = std::filesystem::absolute(folder).lexically_normal();
  place.server = arguments.text("server");
  place.plaintext = arguments.has("plaintext");
  return place;
}

FramedStream call_scheduler(const SchedulerPlace& place, Purpose purpose, TimePoint deadline) {
  const JobKey key = place.key();
  const Endpoint endpoint = place.address();
  Hello hello;
  hello.purpose = purpose;
  try {
    return FramedStream(call(endpoint, key, hello, place.plaintext, deadline));
  } catch (const NetError& error) {
    throw NetError("jobs: the scheduler of {} does not answer at {}: {}", place.folder.string(),
                   to_string(endpoint), error.what());
  } catch (const std::runtime_error& refused) {
    throw NetError("jobs: what listens at {} is not the scheduler of {}: {}", to_string(endpoint),
                   place.folder.string(), refused.what());
  }
}

FileDescriptor lock_file(const std::filesystem::path& file, std::string_view who, Seconds patience) {
  FileDescriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.is_open()) throw Error("jobs: {}: {}", file.string(), std::strerror(errno));
  const TimePoint deadline = after(patience);
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (Clock::now() >= deadline) throw ConfigError("jobs: {} runs already: it holds {}", who, file.string());
    std::this_thread::sleep_for(Seconds(0.05));
  }
  return lock;
}

}  // namespace hocket
