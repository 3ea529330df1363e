#include "collective/plan.h"

#include <utility>

#include "collective/blocks.h"

namespace hocket {

namespace {

std::vector<Pull> pulls_of(const Call& call, Rank me) {
  const Blocks blocks = data_blocks(call, me);
  std::vector<Pull> pulls;
  const auto pull = [&](Rank from, std::size_t offset, Range range) {
    if (range.size > 0) pulls.push_back({from, offset, range});
  };
  const auto pull_from_all = [&] {
    for (int step = 1; step < call.world; ++step) {
      const Rank from = (me + step) % call.world;
      pull(from, blocks[from].offset, blocks[from]);
    }
  };
  switch (call.collective) {
    case Collective::broadcast:
      if (me != call.root) pull(call.root, 0, {0, call.count});
      break;
    case Collective::scatter:
      if (me != call.root) pull(call.root, blocks[me].offset, blocks[me]);
      break;
    case Collective::gather:
      if (me == call.root) pull_from_all();
      break;
    case Collective::all_gather: pull_from_all(); break;
    case Collective::all_to_all:
      for (int step = 0; step < call.world; ++step) {
        const Rank from = (me + step) % call.world;
        pull(from, input_blocks(call, from)[me].offset, blocks[from]);
      }
      break;
    default: break;
  }
  return pulls;
}

}  // namespace

Plan::Plan(Call the_call, Rank me)
    : call(std::move(the_call)),
      schedule(schedule_of(call, me)),
      mine(data_blocks(call, me)[me]),
      input_count(call.collective == Collective::all_to_all ? input_blocks(call, me).count() : 0),
      pulls(pulls_of(call, me)) {}

}  // namespace hocket
