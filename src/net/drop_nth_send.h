#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "net/transport.h"

namespace hocket {

// For tests: loses the nth message that any rank of a job sends, counted from 1.
class DropNthSend {
 public:
  explicit DropNthSend(int nth) : nth_(nth), left_(nth) {}

  bool drops() { return left_.fetch_sub(1) == 1; }
  int sends() const { return nth_ - left_.load(); }  // So far, the lost one included.

 private:
  int nth_;
  std::atomic<int> left_;
};

// A transport whose messages may get lost.
class LossyTransport final : public Transport {
 public:
  LossyTransport(std::unique_ptr<Transport> transport, DropNthSend& fault)
      : transport_(std::move(transport)), fault_(fault) {}

  Rank rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  std::string_view name() const override { return transport_->name(); }

  Pending send(Rank to, const Label& label, std::span<const std::byte> bytes) override {
    if (fault_.drops()) return {};
    return transport_->send(to, label, bytes);
  }
  Pending recv(Rank from, const Label& label, std::span<std::byte> into) override {
    return transport_->recv(from, label, into);
  }
  Pending recv(Rank from, const Label& label, std::size_t bytes, Sink sink) override {
    return transport_->recv(from, label, bytes, sink);
  }
  bool progress() override { return transport_->progress(); }
  bool is_done(const Pending& pending) const override {
    return pending.peer < 0 || transport_->is_done(pending);
  }
  void wait(const Pending& pending) override {
    if (pending.peer >= 0) transport_->wait(pending);
  }
  std::unique_ptr<Transport> split(std::span<const Rank> members, unsigned channel) override {
    return std::make_unique<LossyTransport>(transport_->split(members, channel), fault_);
  }
  Health& health() override { return transport_->health(); }
  Rank rank_in_job(Rank rank) const override { return transport_->rank_in_job(rank); }
  bool is_crowded() const override { return true; }

 protected:
  void pass_time(Pause&, Rank, const Label&) override {}

 private:
  std::unique_ptr<Transport> transport_;
  DropNthSend& fault_;
};

}  // namespace hocket
