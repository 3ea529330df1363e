#pragma once

#include <string>

#include "bindings/hocket.h"
#include "net/join.h"

namespace hocket {

hocket_unique_id encode(const MeetingPlace& place);
MeetingPlace decode(const hocket_unique_id& id);  // Throws ConfigError when it is no id.

// Hosts the coordinator of a new job in this process, whose ranks say themselves how many they are. Throws
// NetError when nobody can listen at `address`. Thread-safe, as is the other.
hocket_unique_id host_meeting(const std::string& address);
void end_meeting(const hocket_unique_id& id);  // Throws ConfigError when it is not hosted here.

// The address of this host that leads to the outside, or loopback where nothing does.
std::string address_to_the_outside();

}  // namespace hocket
