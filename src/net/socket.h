#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/clock.h"
#include "net/file_descriptor.h"

// The seam to the operating system's sockets. All of them are nonblocking, closed on exec and never raise
// SIGPIPE. Addresses are numeric, IPv4 or IPv6.
namespace hocket {

struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};
std::string to_string(const Endpoint& endpoint);          // "10.0.0.1:29500", "[::1]:29500".
Endpoint parse_endpoint(std::string_view host_and_port);  // The host may be a name. Throws ConfigError.

// The numeric addresses of a host. Throws NetError when there are none.
std::vector<std::string> resolve(const std::string& host);
// The address of this machine from which packets to `address` leave. Throws NetError when there is no route.
std::string local_address_towards(const std::string& address);
bool is_local_address(const std::string& address);  // Whether an interface of this machine has it.
bool is_loopback(const std::string& address);

// Throws NetError that says why, as in "address already in use". Port 0 picks a free one.
FileDescriptor listen_at(const Endpoint& endpoint);
// Keeps a free port of the address, while it lives, for those who listen_at() it: nobody else is given it,
// also not as the near end of a call, which could then reach itself. Throws NetError.
FileDescriptor reserve_port(const std::string& address);
// Throws NetError when refused, unreachable or late.
FileDescriptor connect_to(const Endpoint& endpoint, TimePoint deadline);
FileDescriptor accept_from(int listening);  // None when nobody waits.

Endpoint local_endpoint(int socket);
Endpoint remote_endpoint(int socket);
// Whether both ends are in this network namespace: then they have one address, or loopback addresses.
bool is_within_host(int socket);
// For many small messages and, within a host, no pacing (which bbr would do) and room for what a sender has
// ready while this end is busy.
void tune(int socket);

// What can be moved now, 0 when nothing. Throw StreamClosed.
std::size_t send_some(int socket, std::span<const std::byte> bytes);
std::size_t receive_some(int socket, std::span<std::byte> into);
// The same with several pieces, one after the other, at most kMostPieces.
inline constexpr std::size_t kMostPieces = 4;
std::size_t send_pieces(int socket, std::span<const std::span<const std::byte>> pieces);
std::size_t receive_pieces(int socket, std::span<const std::span<std::byte>> pieces);
// poll(2) for one descriptor; false at the deadline.
bool wait_for(int fd, short events, TimePoint deadline);
int milliseconds_until(TimePoint deadline);  // For poll(2), rounded up.

// Equal for processes that share a kernel and a network namespace.
std::string this_host_id();
std::string this_host_name();

}  // namespace hocket
