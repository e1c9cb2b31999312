#include "src/object/source_map.h"

#include <cstring>

#include "pto/object.h"
#include "ptob_generated.h"
#include "src/object/limits.h"
#include "src/support/text.h"

namespace pto::object {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

wire::Location to_wire(const Location& location) {
  return {location.file, location.line, location.column};
}

template <typename Items>
Offset<wire::UnitMap> write_unit(FlatBufferBuilder& builder, const Location& unit, const Items& items) {
  std::vector<wire::Location> locations;
  locations.reserve(items.size());
  for (const auto& item : items) {
    locations.push_back(to_wire(item.location));
  }
  const auto vector = builder.CreateVectorOfStructs(locations);
  const wire::Location location = to_wire(unit);
  return wire::CreateUnitMap(builder, &location, vector);
}

// Reads with one running check: the first thing that is wrong stays in `problem`.
class Reader {
 public:
  Reader(Object& object, size_t bytes) : object_(object), name_bytes_left_(bytes) {}

  std::string run(const wire::SourceMap& map) {
    read_files(map);
    const size_t cores = map.cores() == nullptr ? 0 : map.cores()->size();
    const size_t programs = map.programs() == nullptr ? 0 : map.programs()->size();
    if (cores != object_.cores.size() || programs != object_.programs.size()) {
      return "its source map is of another object";
    }
    for (size_t i = 0; i < cores; ++i) {
      Core& core = object_.cores[i];
      read_unit(*map.cores()->Get(static_cast<flatbuffers::uoffset_t>(i)), core.location, core.code);
    }
    for (size_t i = 0; i < programs; ++i) {
      Program& program = object_.programs[i];
      read_unit(*map.programs()->Get(static_cast<flatbuffers::uoffset_t>(i)), program.location, program.tasks);
    }
    return problem_;
  }

 private:
  void read_files(const wire::SourceMap& map) {
    if (map.files() == nullptr) {
      return;
    }
    if (map.files()->size() > kMostFiles) {
      problem_ = "its source map has too many files";
      return;
    }
    for (const flatbuffers::String* file : *map.files()) {
      const std::string_view name(file->c_str(), file->size());
      if (name.size() > kLongestName || find_invalid_utf8(name) || name.find('\0') != std::string_view::npos) {
        problem_ = "its source map has an invalid file name";
        return;
      }
      // An honest map has every name once, so all of them together are no longer than the map.
      if (name.size() > name_bytes_left_) {
        problem_ = "its source map refers to the same bytes twice";
        return;
      }
      name_bytes_left_ -= name.size();
      object_.source_files.emplace_back(name);
    }
  }

  Location read_location(const wire::Location* location) {
    if (location == nullptr) {
      return {};
    }
    if (location->file() > object_.source_files.size()) {
      problem_ = "its source map has a location in an unknown file";
      return {};
    }
    return {location->file(), location->line(), location->column()};
  }

  template <typename Items>
  void read_unit(const wire::UnitMap& unit, Location& location, Items& items) {
    location = read_location(unit.unit());
    const size_t count = unit.items() == nullptr ? 0 : unit.items()->size();
    if (count != items.size()) {
      problem_ = "its source map is of another object";
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      items[i].location = read_location(unit.items()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    }
  }

  Object& object_;
  size_t name_bytes_left_;
  std::string problem_;
};

}  // namespace

std::vector<uint8_t> write_source_map(const Object& object) {
  FlatBufferBuilder builder;
  std::vector<Offset<flatbuffers::String>> files;
  for (const std::string& file : object.source_files) {
    files.push_back(builder.CreateString(file));
  }
  std::vector<Offset<wire::UnitMap>> cores;
  for (const Core& core : object.cores) {
    cores.push_back(write_unit(builder, core.location, core.code));
  }
  std::vector<Offset<wire::UnitMap>> programs;
  for (const Program& program : object.programs) {
    programs.push_back(write_unit(builder, program.location, program.tasks));
  }
  const auto file_vector = builder.CreateVector(files);
  const auto core_vector = builder.CreateVector(cores);
  const auto program_vector = builder.CreateVector(programs);
  builder.Finish(wire::CreateSourceMap(builder, file_vector, core_vector, program_vector));
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

std::string read_source_map(std::span<const uint8_t> bytes, Object& object) {
  // Scalars are read in place, so the copy is aligned.
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, bytes.size(), kDeepestTable, most_tables(bytes.size()));
  if (!verifier.VerifyBuffer<wire::SourceMap>(nullptr)) {
    return "its source map is damaged";
  }
  return Reader(object, bytes.size()).run(*flatbuffers::GetRoot<wire::SourceMap>(data));
}

}  // namespace pto::object
