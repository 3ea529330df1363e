#pragma once

#include <optional>
#include <string>

#include "net/join.h"

namespace hocket {

// How ranks on one host that foreign launchers started learn the job key: rank 0 leaves it, with the
// coordinator's address, in a file that only this user can read, named after what all ranks know.
class MeetingFile {
 public:
  // Throws ConfigError when the user's folder is not safe, and NetError when it cannot be written.
  MeetingFile(const std::string& meeting_name, const MeetingPlace& place);
  ~MeetingFile();  // Removes it.
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;

  // What is there now; it may be left over from a job that died.
  static std::optional<MeetingPlace> find(const std::string& meeting_name);

 private:
  std::string path_;
};

}  // namespace hocket
