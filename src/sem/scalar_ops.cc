// Elementwise instructions on a tile and a scalar. The scalar is rounded to the element type first.
#include <utility>

#include "src/sem/exec.h"
#include "src/sem/planes.h"
#include "src/sem/scalar_value.h"

namespace pto::sem {
namespace {

enum class ScalarSide : uint8_t { Left, Right };

void with_scalar(const Args& args, BinaryOp op, ScalarSide side) {
  const TileView& dst = args.tiles[0];
  const TileView& src = args.tiles[1];
  const uint64_t bits = scalar_bits(args, dst.desc.dtype);
  const Valid domain = clamp(clamp(dst.valid, dst.desc), src.desc);
  Plane planes[] = {plane_of(dst), plane_of(src), splat_of(bits, dst.desc.dtype)};
  if (side == ScalarSide::Left) {
    std::swap(planes[1], planes[2]);
  }
  for_grid(domain, planes, [&](const Grid& grid) { binary_kernel(op, dst.desc.dtype, grid); });
}

}  // namespace

void exec_TAdds(const Args& args) {
  with_scalar(args, BinaryOp::Add, ScalarSide::Right);
}
void exec_TSubs(const Args& args) {
  with_scalar(args, BinaryOp::Sub, ScalarSide::Right);
}
void exec_TMuls(const Args& args) {
  with_scalar(args, BinaryOp::Mul, ScalarSide::Right);
}
void exec_TDivs(const Args& args) {
  with_scalar(args, BinaryOp::Div, ScalarSide::Right);
}
void exec_TMaxs(const Args& args) {
  with_scalar(args, BinaryOp::Max, ScalarSide::Right);
}
void exec_TMins(const Args& args) {
  with_scalar(args, BinaryOp::Min, ScalarSide::Right);
}
void exec_TRsubs(const Args& args) {
  with_scalar(args, BinaryOp::Sub, ScalarSide::Left);
}
void exec_TRdivs(const Args& args) {
  with_scalar(args, BinaryOp::Div, ScalarSide::Left);
}

}  // namespace pto::sem
