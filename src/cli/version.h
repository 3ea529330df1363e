#pragma once

namespace hocket {

// Of the whole project, as CMakeLists.txt declares it.
extern const char* const kVersion;

}  // namespace hocket
