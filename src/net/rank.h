#pragma once

namespace hocket {

using Rank = int;  // A process of a job, counted from 0; inside a group, counted in the group's order.

}  // namespace hocket
