// The source map of an object: file names and locations, as a buffer of their own inside the object's. Internal to
// src/object.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pto/object.h"

namespace pto::object {

// Its length is a multiple of 8, so that it doesn't move what is before it in the file.
std::vector<uint8_t> write_source_map(const Object& object);

// Fills in the locations of an object that was read without them. What is wrong with the map; empty: nothing.
std::string read_source_map(std::span<const uint8_t> bytes, Object& object);

}  // namespace pto::object
