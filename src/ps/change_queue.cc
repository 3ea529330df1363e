#include "ps/change_queue.h"

namespace hocket {

std::optional<NodeId> head_of(const View& view, RangeId range) {
  const auto at = static_cast<std::size_t>(range);
  if (range < 0 || at >= view.chains.size() || view.chains[at].servers.empty()) return std::nullopt;
  return server_node(view.chains[at].servers.front());
}

void ChangeQueue::send(const View& view, std::int32_t incarnation, TimePoint now) {
  if (is_empty()) return;
  resending_.start(now);
  transmit(view, incarnation);
}

void ChangeQueue::send_if_due(const View& view, std::int32_t incarnation, TimePoint now) {
  if (is_empty() || !resending_.is_due(now)) return;
  resending_.again(now);
  transmit(view, incarnation);
}

void ChangeQueue::transmit(const View& view, std::int32_t incarnation) {
  const std::optional<NodeId> head = head_of(view, range_);
  if (!head || incarnation < 0) return;
  out_->send(*head, ChangeRequest{range_, view.epoch, client_, {incarnation, number_}, waiting_.front()});
}

bool ChangeQueue::on_done(const ChangeDone& done, std::int32_t incarnation) {
  if (is_empty() || done.sequence != Sequence{incarnation, number_}) return false;
  waiting_.pop_front();
  ++number_;
  return true;
}

}  // namespace hocket
