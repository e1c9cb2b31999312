// The second-level cache in front of the HBM, as far as it decides who waits for whom: which lines of global memory are in
// it. Lines are replaced in the order they came in. No sets, no ways, no dirty bits.
#pragma once

#include <cstdint>
#include <vector>

namespace pto::runtime {

class L2 {
 public:
  // `capacity` 0: no cache, everything moves to or from the HBM. `footprint`: bytes of global memory of the run.
  L2(int64_t capacity, int64_t footprint);

  // Bytes that the HBM has to move for a copy of `rows` rows of `row_bytes` bytes, `stride` bytes apart.
  int64_t read(int64_t address, int64_t rows, int64_t stride, int64_t row_bytes);
  // A written line stays in the cache. It costs HBM bandwidth only where the run's memory is larger than the cache, and
  // then at once: somebody pays for writing back a line to make room.
  int64_t write(int64_t address, int64_t rows, int64_t stride, int64_t row_bytes);

 private:
  int64_t touch(int64_t address, int64_t rows, int64_t stride, int64_t row_bytes);
  uint32_t walk(int64_t address, int64_t rows, int64_t stride, int64_t row_bytes);
  uint32_t make_room(int64_t lines);
  void renumber();
  bool is_in(uint32_t stamp, uint32_t clock) const {
    return stamp != 0 && static_cast<int64_t>(clock - stamp) < lines_;
  }

  // A window whose lines have all been in the cache, and the stamp of the oldest: while that one is in, all are, and
  // copying the window changes nothing. Saves the walk over lines that many cores read again and again.
  struct Seen {
    int64_t address = 0;
    int64_t rows = 0;
    int64_t stride = 0;
    int64_t row_bytes = 0;
    uint32_t oldest = 0;
  };
  Seen& seen(int64_t address);

  bool enabled_ = false;
  bool everything_fits_ = false;
  int line_shift_ = 9;  // 512 bytes; more where the footprint would make the table too large
  int64_t lines_ = 0;   // that fit
  uint32_t clock_ = 0;  // lines brought in so far
  std::vector<uint32_t> stamps_;  // by line of global memory: the clock when it came in; 0: never
  std::vector<Seen> seen_;        // by a hash of the address
};

}  // namespace pto::runtime
