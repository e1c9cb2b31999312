// Typed indices. Everything that refers to something refers by `Id<Tag>`: no pointers between nodes, so cloning is a
// copy and iteration order is insertion order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace pto {

template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(uint32_t index) : index_(index) {}
  constexpr uint32_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kNone; }
  friend constexpr bool operator==(Id a, Id b) { return a.index_ == b.index_; }
  friend constexpr bool operator!=(Id a, Id b) { return a.index_ != b.index_; }
  friend constexpr bool operator<(Id a, Id b) { return a.index_ < b.index_; }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t index_ = kNone;
};

// A vector keyed by one kind of id: `ops[op_id]`. Elements are appended, never moved.
template <typename IdT, typename T>
class IdVector {
 public:
  IdT add(T value) {
    items_.push_back(std::move(value));
    return IdT(static_cast<uint32_t>(items_.size() - 1));
  }
  T& operator[](IdT id) { return items_.at(id.index()); }
  const T& operator[](IdT id) const { return items_.at(id.index()); }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }

 private:
  std::vector<T> items_;
};

}  // namespace pto
