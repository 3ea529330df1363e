#pragma once

#include <span>
#include <vector>

#include "ps/payload.h"

// Payloads from and to the elements in them.
namespace hocket {

template <typename T = double>
Payload payload(const std::vector<T>& values) {
  return Payload::copy_of(std::as_bytes(std::span(values)));
}

template <typename T>
std::vector<T> elements(const Payload& payload) {
  const std::span<const T> values = payload.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace hocket
