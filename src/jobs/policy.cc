#include "jobs/policy.h"

#include <array>

#include "base/error.h"
#include "base/nearest.h"

namespace hocket {
namespace {

constexpr std::array kPolicies = {
    Policy{"fifo", "first come, first served, with backfill", decide_fifo},
    Policy{"sjf", "the shortest job first, by known or estimated length", decide_sjf},
    Policy{"fair", "owners get equal shares of the slots", decide_fair},
    Policy{"slots", "jobs take turns, a time slot each", decide_slots},
    Policy{"las", "the job that has had least first, in queues (Tiresias)", decide_las},
    Policy{"pack", "jobs share slots where that pays (Gandiva)", decide_pack},
};

}  // namespace

std::span<const Policy> all_policies() { return kPolicies; }

const Policy& find_policy(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Policy& policy : kPolicies) {
    if (policy.name == name) return policy;
    names.emplace_back(policy.name);
  }
  const std::string hint = did_you_mean(name, names);
  throw ConfigError("jobs: there is no policy {}{}", name,
                    hint.empty() ? "; there is: fifo, sjf, fair, slots, las, pack" : hint);
}

}  // namespace hocket
