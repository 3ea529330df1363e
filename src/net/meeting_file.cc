#include "net/meeting_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "net/file_descriptor.h"
#include "net/job_key.h"
#include "net/wire.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxBytes = 512;

std::string folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') return std::string(runtime) + "/hocket";
  return fmt::format("/tmp/hocket-{}", ::geteuid());
}

// Makes the folder when it is not there. A folder that others could have made or can look into is refused.
void check_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw NetError("cannot make {}: {}", path, std::strerror(errno));
  }
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & 077) != 0) {
    throw ConfigError("{} must be a folder of this user with mode 0700, to keep job keys in", path);
  }
}

std::string path_of(const std::string& meeting_name) {
  const JobKey hash = derived_key({}, meeting_name);
  return fmt::format("{}/{}", folder(), to_hex(std::span(hash).first(16)));
}

}  // namespace

MeetingFile::MeetingFile(const std::string& meeting_name, const MeetingPlace& place)
    : path_(path_of(meeting_name)) {
  check_folder(folder());
  WireWriter out;
  out.put_bytes(place.key);
  out.put_text(place.coordinator.address);
  out.put(place.coordinator.port);
  const std::string draft = fmt::format("{}.{}", path_, ::getpid());
  const FileDescriptor file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const auto size = static_cast<ssize_t>(out.bytes().size());
  if (!file.is_open() || ::write(file.get(), out.bytes().data(), out.bytes().size()) != size ||
      ::rename(draft.c_str(), path_.c_str()) != 0) {
    throw NetError("cannot leave the job key in {}: {}", path_, std::strerror(errno));
  }
}

MeetingFile::~MeetingFile() { ::unlink(path_.c_str()); }

std::optional<MeetingPlace> MeetingFile::find(const std::string& meeting_name) {
  const FileDescriptor file(::open(path_of(meeting_name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  check_folder(folder());
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    throw ConfigError("{} can be read by others: it is no place for a job key", path_of(meeting_name));
  }
  std::byte bytes[kMaxBytes];
  const auto size = ::read(file.get(), bytes, sizeof(bytes));
  if (size < 0) return std::nullopt;
  WireReader in{std::span(bytes).first(static_cast<std::size_t>(size))};
  MeetingPlace place;
  const auto key = in.get_bytes(place.key.size());
  place.coordinator.address = in.get_text();
  place.coordinator.port = in.get<std::uint16_t>();
  if (!in.is_good()) return std::nullopt;
  std::copy(key.begin(), key.end(), place.key.begin());
  return place;
}

}  // namespace hocket
