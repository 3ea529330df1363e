#pragma once

#include <filesystem>

#include "data/source.h"

namespace hocket {

// The four IDX files of MNIST's packing in a folder, each plain or gzip; the test pair may be absent.
// Options: classes (10).
DataParts open_mnist(const DataSource& source);

// Fashion-MNIST as Debian's package dataset-fashion-mnist installs it, or from the folder that the
// environment variable HOCKET_FASHION_MNIST names.
DataParts open_fashion_mnist(const DataSource& source);

}  // namespace hocket
