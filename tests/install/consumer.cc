// Uses the installed libraries from outside: includes as inside the tree, one call that needs the linked code.
#include <iostream>

#include "base/error.h"

int main() {
  try {
    throw hocket::ConfigError("consumer works");
  } catch (const hocket::Error& error) {
    std::cout << error.what() << '\n';
  }
}
