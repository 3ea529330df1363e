#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "net/clock.h"

namespace hocket {

// The curves of runs that go on, for a page that shows many. A run is read again when it has changed, but for
// at most a tenth of the time. Used by one thread at a time.
class LiveCurves {
 public:
  // {"loss": {"train": [[step, value]...], "raw": …, "test": …}, "accuracy": …} as JSON: "raw" is what
  // "train" is smoothed from. A metric without points is left out; null where there is nothing to read yet.
  std::string of(const std::filesystem::path& run_folder);

 private:
  struct Known {
    std::string version;
    std::string json = "null";
    TimePoint next_read{};
  };
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace hocket
