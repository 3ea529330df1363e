// Trains a built-in model from C++ and follows it: what `hocket train` does, without the program.
#include <atomic>
#include <cstdio>

#include "base/error.h"
#include "train/trainer.h"

namespace {

class Printer final : public hocket::TrainObserver {
  void on_eval(const hocket::EvalRecord& record) override {
    std::printf("step %ld: test loss %.4f, accuracy %.1f %%\n", static_cast<long>(record.step), record.loss,
                100 * record.accuracy.value_or(0));
  }
  void on_warning(const std::string& line) override { std::printf("warning: %s\n", line.c_str()); }
};

}  // namespace

int main() {
  hocket::TrainOptions options;
  options.model = "mlp,hidden=64";
  options.data = "synthetic:mnist,samples=4000";
  options.epochs = 2;
  options.out = "";  // No run folder, so no checkpoints.

  try {
    Printer printer;
    const std::atomic<bool> stop{false};  // Another thread or a signal may set it.
    hocket::Team alone;                   // hocket::Team::join() would be the ranks of a job.
    const hocket::TrainResult result = hocket::train(options, printer, stop, alone);
    std::printf("%ld parameters, hash %s\n", static_cast<long>(result.parameters),
                result.parameter_hash.c_str());
    return result.test && result.test->accuracy.value_or(0) > 0.9 ? 0 : 1;
  } catch (const hocket::Error& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 1;
  }
}
