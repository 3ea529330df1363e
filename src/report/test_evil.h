#pragma once

namespace hocket {

// Text that breaks out of a page that takes it as it is.
constexpr const char* kEvil = "</script><script>alert(1)</script><!-- \"'&";

}  // namespace hocket
