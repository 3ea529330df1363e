#include "net/socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/error.h"
#include "net/stream.h"

namespace hocket {
namespace {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = sizeof(storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses look_up(const std::string& host, const std::string& port, int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) throw NetError("cannot find the address of host '{}': {}", host, ::gai_strerror(code));
  return {found, &::freeaddrinfo};
}

SocketAddress to_socket_address(const Endpoint& endpoint) {
  const Addresses found =
      look_up(endpoint.address, std::to_string(endpoint.port), AI_NUMERICHOST | AI_NUMERICSERV);
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.size = found->ai_addrlen;
  return result;
}

Endpoint to_endpoint(const sockaddr* address, socklen_t size) {
  if (address->sa_family == AF_UNIX) return {"local", 0};
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "0";
  ::getnameinfo(address, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, static_cast<std::uint16_t>(std::atoi(port))};
}

FileDescriptor new_socket(int family, int type) {
  FileDescriptor socket(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) throw NetError("cannot make a socket: {}", std::strerror(errno));
  return socket;
}

NetError cannot_listen_at(const Endpoint& endpoint) {
  return NetError("cannot listen at {}: {}", to_string(endpoint), std::strerror(errno));
}

// Shares its port with other such sockets until one of them listens.
FileDescriptor bound_to(const Endpoint& endpoint) {
  const SocketAddress address = to_socket_address(endpoint);
  FileDescriptor socket = new_socket(address.storage.ss_family, SOCK_STREAM);
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(socket.get(), address.get(), address.size) != 0) throw cannot_listen_at(endpoint);
  return socket;
}

// Pieces as the kernel wants them.
struct Vectors {
  iovec each[kMostPieces];
  msghdr message = {};

  template <typename Byte>
  explicit Vectors(std::span<const std::span<Byte>> pieces) {
    HOCKET_CHECK(pieces.size() <= kMostPieces, "{} pieces", pieces.size());
    for (const auto& piece : pieces) {
      each[message.msg_iovlen++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    message.msg_iov = each;
  }
};

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", endpoint.address, is_v6 ? "]" : "", endpoint.port);
}

Endpoint parse_endpoint(std::string_view host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  Endpoint endpoint;
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : host_and_port.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size() || colon == 0) {
    throw ConfigError("'{}' is not an address of the form HOST:PORT", host_and_port);
  }
  std::string_view host = host_and_port.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  endpoint.address = host;
  return endpoint;
}

std::vector<std::string> resolve(const std::string& host) {
  const Addresses found = look_up(host, "0", AI_NUMERICSERV);
  std::vector<std::string> addresses;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    addresses.push_back(to_endpoint(each->ai_addr, each->ai_addrlen).address);
  }
  return addresses;
}

std::string local_address_towards(const std::string& address) {
  const SocketAddress remote = to_socket_address({address, 9});
  const FileDescriptor socket = new_socket(remote.storage.ss_family, SOCK_DGRAM);
  if (::connect(socket.get(), remote.get(), remote.size) != 0) {
    throw NetError("no route to {}: {}", address, std::strerror(errno));
  }
  return local_endpoint(socket.get()).address;
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

bool is_local_address(const std::string& address) {
  if (is_loopback(address)) return true;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (to_endpoint(each->ifa_addr, size).address == address) return true;
  }
  return false;
}

FileDescriptor listen_at(const Endpoint& endpoint) {
  FileDescriptor socket = bound_to(endpoint);
  if (::listen(socket.get(), 1024) != 0) throw cannot_listen_at(endpoint);
  return socket;
}

FileDescriptor reserve_port(const std::string& address) { return bound_to({address, 0}); }

FileDescriptor connect_to(const Endpoint& endpoint, TimePoint deadline) {
  const SocketAddress address = to_socket_address(endpoint);
  FileDescriptor socket = new_socket(address.storage.ss_family, SOCK_STREAM);
  int error = ::connect(socket.get(), address.get(), address.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof(error);
    if (!wait_for(socket.get(), POLLOUT, deadline)) {
      error = ETIMEDOUT;
    } else if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = errno;
    }
  }
  if (error != 0) throw NetError("cannot connect to {}: {}", to_string(endpoint), std::strerror(error));
  tune(socket.get());
  return socket;
}

FileDescriptor accept_from(int listening) {
  FileDescriptor socket(::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) tune(socket.get());
  return socket;
}

Endpoint local_endpoint(int socket) {
  SocketAddress address;
  if (::getsockname(socket, address.get(), &address.size) != 0) return {};
  return to_endpoint(address.get(), address.size);
}

Endpoint remote_endpoint(int socket) {
  SocketAddress address;
  if (::getpeername(socket, address.get(), &address.size) != 0) return {"a peer that has gone", 0};
  return to_endpoint(address.get(), address.size);
}

bool is_within_host(int socket) {
  const std::string here = local_endpoint(socket).address;
  const std::string there = remote_endpoint(socket).address;
  return here == there || (is_loopback(here) && is_loopback(there));
}

void tune(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  if (!is_within_host(socket)) return;
  const int room = 4 << 20;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
  for (const std::string_view name : {"reno", "cubic"}) {
    const auto size = static_cast<socklen_t>(name.size());
    if (::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), size) == 0) return;
  }
}

std::size_t send_some(int socket, std::span<const std::byte> bytes) {
  return send_pieces(socket, {&bytes, 1});
}

std::size_t receive_some(int socket, std::span<std::byte> into) {
  return into.empty() ? 0 : receive_pieces(socket, {&into, 1});
}

std::size_t send_pieces(int socket, std::span<const std::span<const std::byte>> pieces) {
  Vectors vectors(pieces);
  while (true) {
    const auto moved = ::sendmsg(socket, &vectors.message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved >= 0) return static_cast<std::size_t>(moved);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) throw StreamClosed(std::strerror(errno));
  }
}

std::size_t receive_pieces(int socket, std::span<const std::span<std::byte>> pieces) {
  Vectors vectors(pieces);
  while (true) {
    const auto moved = ::recvmsg(socket, &vectors.message, MSG_DONTWAIT);
    if (moved > 0) return static_cast<std::size_t>(moved);
    if (moved == 0) throw StreamClosed("peer closed the connection");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) throw StreamClosed(std::strerror(errno));
  }
}

int milliseconds_until(TimePoint deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 1 << 30));
}

bool wait_for(int fd, short events, TimePoint deadline) {
  pollfd poll_for = {fd, events, 0};
  while (true) {
    const int ready = ::poll(&poll_for, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (Clock::now() >= deadline) return false;
  }
}

std::string this_host_id() {
  struct stat status = {};
  ::stat("/proc/self/ns/net", &status);
  return fmt::format("{}/{}", first_line("/proc/sys/kernel/random/boot_id"), status.st_ino);
}

std::string this_host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace hocket
