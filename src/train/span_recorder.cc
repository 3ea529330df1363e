#include "train/span_recorder.h"

#include <chrono>

namespace hocket {
namespace {

Timeline::Time steady_time(std::int64_t nanoseconds) {
  return Timeline::Time(
      std::chrono::duration_cast<Timeline::Time::duration>(std::chrono::nanoseconds(nanoseconds)));
}

}  // namespace

SpanRecorder::SpanRecorder(Communicator* communicator) : communicator_(communicator) {
  const auto add = [&](Activity activity, std::string name, SpanKind kind) {
    activities_[static_cast<std::size_t>(activity)] = timeline_.add_name(std::move(name), kind);
  };
  add(Activity::data, "next batch", SpanKind::data);
  add(Activity::forward, "forward", SpanKind::compute);
  add(Activity::backward, "backward", SpanKind::compute);
  add(Activity::emulate, "slower (emulated)", SpanKind::compute);
  add(Activity::communicate, "agree to go on", SpanKind::wait);
  add(Activity::update, "update", SpanKind::compute);
  add(Activity::evaluate, "evaluate", SpanKind::eval);
  add(Activity::checkpoint, "checkpoint", SpanKind::checkpoint);
  training_thread_ = timeline_.add_thread("training");
  if (communicator != nullptr) follow(*communicator);
}

void SpanRecorder::follow(Communicator& communicator) {
  for (const Collective collective : all_collectives()) {
    collectives_[static_cast<std::size_t>(collective)] =
        timeline_.add_name(std::string(name_of(collective)), SpanKind::communication);
  }
  waiting_ = timeline_.add_name("wait for communication", SpanKind::wait);
  communication_ = timeline_.add_thread("communication");
  communicator.set_observers(
      [this](const Operation& operation, std::int64_t start, std::int64_t end) {
        timeline_.record(collectives_[static_cast<std::size_t>(operation.collective)], communication_,
                         steady_time(start), steady_time(end), operation.count * operation.element_bytes());
      },
      [this](std::int64_t start, std::int64_t end) {
        timeline_.record(waiting_, training_thread_, steady_time(start), steady_time(end));
      });
}

SpanRecorder::~SpanRecorder() {
  if (communicator_ != nullptr) communicator_->set_observers({}, {});
}

void SpanRecorder::record(Activity activity, std::int64_t start, std::int64_t end) {
  timeline_.record(activities_[static_cast<std::size_t>(activity)], training_thread_, steady_time(start),
                   steady_time(end));
}

}  // namespace hocket
