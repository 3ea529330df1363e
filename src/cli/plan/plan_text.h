#pragma once

#include <string>

#include "cli/plan/plan_search.h"

namespace hocket {

// What the result is about, for its first lines.
struct PlanTitle {
  std::string model, data, cluster;
};

std::string plan_as_text(const PlanTitle& title, const MeasuredModel& model, const PlanDemand& demand,
                         const PlanResult& result);
std::string plan_as_json(const PlanTitle& title, const MeasuredModel& model, const PlanDemand& demand,
                         const PlanResult& result);

}  // namespace hocket
