#pragma once

namespace hocket {

// Starts the program anew with OpenMP's threads told to sleep soon, unless the user has said how they shall
// wait. By default they spin for milliseconds at the end of each parallel region; where another process wants
// the core, that makes two threads many times slower than one. libgomp reads the setting before main(), hence
// the new start.
void limit_openmp_spinning(char** argv);

}  // namespace hocket
