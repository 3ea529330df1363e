#include "runtime/exchanges.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "net/clock.h"
#include "runtime/exchange_order.h"

namespace hocket {
namespace {

constexpr std::int64_t kUnseen = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::size_t Exchanges::add(const CollectiveKernel& kernel, std::size_t first, std::size_t pieces) {
  for (std::size_t i = first; i < first + pieces; ++i) pieces_.push_back({exchanges_.size(), i, 0, kUnseen});
  exchanges_.push_back({&kernel, first, pieces});
  return exchanges_.size() - 1;
}

void Exchanges::keep_order(std::span<const int> urgencies) {
  is_ordered_ = true;
  busy_ns_ = kUnseen;
  for (Piece& piece : pieces_) piece.urgency = urgencies[piece.exchange];
  std::vector<std::int32_t> as_they_begin(pieces_.size());
  std::iota(as_they_begin.begin(), as_they_begin.end(), 0);
  set_order(as_they_begin);
}

void Exchanges::set_order(std::span<const std::int32_t> order) {
  HOCKET_CHECK(order.size() == pieces_.size(), "an order of {} pieces for {}", order.size(), pieces_.size());
  for (Exchange& exchange : exchanges_) exchange.runs.clear();
  turns_ = 0;
  const Piece* last = nullptr;
  for (const std::int32_t number : order) {
    const Piece& piece = pieces_.at(static_cast<std::size_t>(number));
    Exchange& exchange = exchanges_[piece.exchange];
    const bool follows = last != nullptr && last->exchange == piece.exchange &&
                         last->index + 1 == piece.index && exchange.kernel->joins(piece.index);
    if (follows) {
      ++exchange.runs.back().count;
    } else {
      exchange.runs.push_back({piece.index, 1, turns_++});
    }
    last = &piece;
  }
}

std::int64_t Exchanges::computed_ns() const { return now_ns() - communicator_->exposed_ns(); }

void Exchanges::begin_step() {
  if (!is_ordered_) return;
  first_ticket_ = communicator_->reserve(turns_);
  began_ns_ = computed_ns();
  const std::int64_t busy = communicator_->busy_ns();
  if (seen_steps_ > 0) busy_ns_ = std::min(busy_ns_, busy - busy_before_);
  busy_before_ = busy;
  ++seen_steps_;
}

void Exchanges::start(std::size_t number, Buffers in, Buffers out) {
  Exchange& exchange = exchanges_[number];
  if (!is_ordered_) {
    exchange.ticket = exchange.kernel->start(in, out, exchange.first, exchange.pieces);
    return;
  }
  const std::int64_t ready = computed_ns() - began_ns_;
  for (Piece& piece : pieces_) {
    if (piece.exchange == number) piece.ready_ns = std::min(piece.ready_ns, ready);
  }
  for (const Run& run : exchange.runs) {
    exchange.ticket = first_ticket_ + run.turn;
    exchange.kernel->start(in, out, run.first, run.count, exchange.ticket);
  }
}

void Exchanges::wait(std::size_t number) {
  communicator_->wait(std::exchange(exchanges_[number].ticket, Communicator::Ticket{0}));
}

bool Exchanges::is_done(std::size_t number) const {
  return communicator_->is_done(exchanges_[number].ticket);
}

void Exchanges::wait_for_all() {
  for (std::size_t i = 0; i < exchanges_.size(); ++i) wait(i);
}

std::vector<std::int32_t> Exchanges::plan_order() {
  const auto bytes_of = [&](const Piece& piece) {
    return static_cast<double>(exchanges_[piece.exchange].kernel->bytes_of_piece(piece.index));
  };
  double bytes = 0;
  for (const Piece& piece : pieces_) bytes += bytes_of(piece);
  const double ns_per_byte = static_cast<double>(busy_ns_) / std::max(1.0, bytes);
  std::vector<ExchangeCourse> courses;
  for (Piece& piece : pieces_) {
    courses.push_back({static_cast<double>(std::exchange(piece.ready_ns, kUnseen)),
                       ns_per_byte * bytes_of(piece), piece.urgency});
  }
  busy_ns_ = kUnseen;
  seen_steps_ = 0;
  return order_exchanges(courses);
}

}  // namespace hocket
