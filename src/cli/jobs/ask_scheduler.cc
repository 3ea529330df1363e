#include "cli/jobs/ask_scheduler.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/jobs/client_requests.h"

namespace hocket {
namespace {

using Json = nlohmann::json;

constexpr Seconds kDiskPatience{120.0};  // A change is answered once it is on disk.

Json checked(Json answer) {
  if (!answer.contains("error")) return answer;
  const auto why = answer.at("error").get<std::string>();
  if (answer.at("exit_code").get<int>() == kUsage) throw ConfigError("{}", why);
  throw Error("{}", why);
}

}  // namespace

Json ask_scheduler(const SchedulerPlace& place, const Json& request, Seconds patience) {
  FramedStream stream = call_scheduler(place, Purpose::control, after(patience));
  const std::string text = request.dump(-1, ' ', false, Json::error_handler_t::replace);
  const TimePoint deadline = after(is_question(text) ? patience : kDiskPatience);
  stream.send(std::as_bytes(std::span(text)));
  while (true) {
    try {
      stream.progress();
      if (const auto bytes = stream.receive()) {
        const auto* begin = reinterpret_cast<const char*>(bytes->data());
        return checked(Json::parse(begin, begin + bytes->size()));
      }
    } catch (const StreamClosed&) {
      throw NetError("jobs: the scheduler of {} went away while it was asked", place.folder.string());
    }
    const pollfd poll = stream.to_poll();
    if (!wait_for(poll.fd, poll.events, deadline))
      throw NetError("jobs: the scheduler of {} does not answer", place.folder.string());
  }
}

}  // namespace hocket
