#pragma once

namespace hocket {

// Keeps this thread, and all that it starts from now on, to one of `count` equal parts of the cores that it
// may use. Does nothing where there are fewer cores than parts.
void pin_to_part(int index, int count);

}  // namespace hocket
