#include "jobs/coordinator_thread.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "jobs/job_clock.h"

namespace hocket {
namespace {

constexpr double kTick = 0.1;  // Seconds.

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

class CoordinatorThread::Yield {
 public:
  explicit Yield(CoordinatorThread& owner) : owner_(owner), began_(Clock::now()) { owner_.mutex_.unlock(); }
  ~Yield() {
    const Seconds took = Clock::now() - began_;
    if (took >= owner_.slow_write_)
      owner_.log_(fmt::format("the queue took {:.1f} s to write", took.count()));
    owner_.mutex_.lock();
  }
  Yield(const Yield&) = delete;
  Yield& operator=(const Yield&) = delete;

 private:
  CoordinatorThread& owner_;
  TimePoint began_;
};

void CoordinatorThread::YieldingStore::save(const JobRecord& record) {
  const Yield yield(owner_);
  store_.save(record);
}

void CoordinatorThread::YieldingStore::save(int index, const ClusterMachine& machine) {
  const Yield yield(owner_);
  store_.save(index, machine);
}

CoordinatorThread::CoordinatorThread(JobStore& store, const JobCoordinatorOptions& options, Log log,
                                     Answer answer, Seconds slow_write)
    : log_(std::move(log)),
      answer_(std::move(answer)),
      slow_write_(slow_write),
      store_(*this, store),
      coordinator_(store_, options, *this, log_) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  ::pthread_setname_np(thread_.native_handle(), "hocket-jobs");
}

CoordinatorThread::~CoordinatorThread() {
  thread_.request_stop();
  thread_.join();
}

void CoordinatorThread::hear(LineNumber line, HeardOnLine what) {
  {
    const std::lock_guard lock(mutex_);
    heard_.emplace_back(line, std::move(what));
  }
  has_heard_.notify_one();
}

std::string CoordinatorThread::ask(const std::string& question) {
  const std::lock_guard lock(mutex_);
  return answer_(coordinator_, question);
}

std::vector<SaidOnLine> CoordinatorThread::take_said() {
  wake_.clear();
  const std::lock_guard lock(mutex_);
  return std::exchange(said_, {});
}

void CoordinatorThread::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  Seconds pause{0};
  while (!stop.stop_requested()) {
    has_heard_.wait_for(lock, stop, pause, [&] { return !heard_.empty(); });
    for (const auto& [line, what] : std::exchange(heard_, {})) handle(line, what);
    pause = decide();
  }
}

// Returns for how long nothing needs to be decided if nothing is heard.
Seconds CoordinatorThread::decide() {
  try {
    const double now = seconds_since_1970();
    const double wake = coordinator_.decide(now).value_or(now + kTick);
    trouble_.clear();
    return Seconds(std::clamp(wake - seconds_since_1970(), 0.0, kTick));
  } catch (const std::exception& error) {
    say_once(error.what());
    return Seconds(kTick);
  }
}

void CoordinatorThread::handle(LineNumber line, const HeardOnLine& what) {
  if (const auto* request = std::get_if<ClientRequest>(&what))
    return say(line, bytes_of(answer_(coordinator_, request->text)));
  if (std::holds_alternative<LineClosed>(what)) return leave(line);
  try {
    if (const auto* agent = std::get_if<AgentArrives>(&what)) return welcome(line, *agent);
    const auto machine = machines_.find(line);
    if (machine == machines_.end()) return;
    if (const auto* rate = std::get_if<AttemptRate>(&what))
      return coordinator_.on_rate(machine->second, *rate);
    coordinator_.on_ended(machine->second, std::get<AttemptEnded>(what), seconds_since_1970());
  } catch (const std::exception& error) {  // The agent tells again when it comes back.
    say_once(error.what());
    close(line);
  }
}

void CoordinatorThread::welcome(LineNumber line, const AgentArrives& agent) {
  const int machine = coordinator_.machine_of(agent);
  std::erase_if(machines_, [&](const auto& each) { return each.second == machine; });  // An older line.
  machines_[line] = machine;
  coordinator_.on_arrival(machine, agent, seconds_since_1970());
  log_(fmt::format("machine {} is here with {} slots and {} running jobs", agent.name, agent.slots,
                   agent.running.size()));
}

void CoordinatorThread::close(LineNumber line) {
  leave(line);
  say(line, {});
}

void CoordinatorThread::leave(LineNumber line) {
  const auto found = machines_.find(line);
  if (found == machines_.end()) return;
  const int machine = found->second;
  machines_.erase(found);
  coordinator_.on_departure(machine);
  log_(fmt::format("machine {} is away", coordinator_.machines()[static_cast<std::size_t>(machine)].name));
}

void CoordinatorThread::send(int machine, const JobMessage& message) {
  for (const auto& [line, index] : machines_) {
    if (index == machine) say(line, encode(message));
  }
}

void CoordinatorThread::say(LineNumber line, std::vector<std::byte> bytes) {
  said_.push_back({line, std::move(bytes)});
  wake_.signal();
}

void CoordinatorThread::say_once(const std::string& trouble) {
  if (trouble != trouble_) log_(trouble);
  trouble_ = trouble;
}

}  // namespace hocket
