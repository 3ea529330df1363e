// Uses the installed libraries from outside the tree.
#include <iostream>

#include "base/error.h"

int main() {
  try {
    throw hocket::ConfigError("consumer works");
  } catch (const hocket::Error& error) {
    std::cout << error.what() << '\n';
  }
}
