#pragma once

namespace hocket {

// Keeps this thread, and all that it starts from now on, to one of `count` equal parts of the cores that it
// may use. Does nothing where there are fewer cores than parts.
void pin_to_part(int index, int count);

// For a thread that does little at a time, and mostly waits: it soon gets the core that it shares with one
// that computes all the time, which would else keep it for milliseconds. Needs Linux 6.12, else does nothing.
void take_short_turns();

}  // namespace hocket
