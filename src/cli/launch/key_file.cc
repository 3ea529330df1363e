#include "cli/launch/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "net/file_descriptor.h"
#include "net/job_key.h"

namespace hocket {
namespace {

std::string first_bytes(int fd) {
  std::string text;
  char byte = 0;
  while (text.size() < 2 * kKeyBytes && ::read(fd, &byte, 1) == 1) text += byte;
  return text;
}

}  // namespace

JobKey read_key_file(const std::string& path) {
  const FileDescriptor file(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) throw ConfigError("launch: --key-file {}: {}", path, std::strerror(errno));
  struct stat status = {};
  if (path != "-" && ::fstat(file.get(), &status) == 0 && (status.st_mode & 077) != 0) {
    throw ConfigError("launch: --key-file {}: others can read it; chmod 600 it", path);
  }
  const auto key = key_from_hex(first_bytes(file.get()));
  if (!key) throw ConfigError("launch: --key-file {}: expected {} hexadecimal digits", path, 2 * kKeyBytes);
  return *key;
}

}  // namespace hocket
