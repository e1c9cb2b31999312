// Event ids by interval: an id is used again when whoever waited for it is known to be through; in a loop also from one
// iteration to the next.
// Internal to insert-sync.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/passes/block/sync_order.h"

namespace pto::passes {

// Something that takes ids of a pair of pipes from its first set to its last wait: a flag, or an item with flags
// inside.
struct IdUse {
  isa::Pipe src = isa::Pipe::S;
  isa::Pipe dst = isa::Pipe::S;
  Point first_set = 0;
  Point last_wait = 0;
  int first_item = 0;  // a flag back to `src` that is to come before it waits before this item
  int last_item = 0;   // a flag back to `src` that is to come after it is set after this item
  int64_t ids = 1;
};
inline IdUse id_use(const Flag& flag) {
  return {flag.src, flag.dst, flag.set(), flag.wait(), flag.set_after, flag.wait_before, 1};
}

class IdColouring {
 public:
  using Pair = std::pair<isa::Pipe, isa::Pipe>;
  using Ids = std::map<Pair, int64_t>;
  // Each pair of pipes may use the ids from where `begins` says (else 0) to `limit`.
  IdColouring(RegionOrder& order, Ids begins, int64_t limit, bool loop)
      : order_(order), begins_(std::move(begins)), ends_(begins_), limit_(limit), loop_(loop) {}
  // The first id of the use, or -1 if there is none left. May add flags to the order, with ids, that make an id free.
  int64_t place(const IdUse& use) { return place(use, 0); }
  // Flags that begin before an item and don't end before it are gone.
  void forget_across(int item);
  // One behind the last id that was used, by pair.
  const Ids& ends() const { return ends_; }

 private:
  enum class State : uint8_t { Free, NeedsFlag, Taken };

  int64_t place(const IdUse& use, int depth);
  State between(const IdUse& before, const IdUse& after) const;
  State state_of(const IdUse& use, int64_t id, std::vector<std::pair<IdUse, IdUse>>& gaps) const;
  bool comes_round(const IdUse& last, const IdUse& first) const;
  bool add_back(const IdUse& before, const IdUse& after, int depth);
  void enter(const IdUse& use, int64_t first_id);

  RegionOrder& order_;
  Ids begins_;
  Ids ends_;
  int64_t limit_;
  bool loop_;
  std::map<Pair, std::vector<std::map<Point, IdUse>>> used_;  // by id and first set
};

}  // namespace pto::passes
