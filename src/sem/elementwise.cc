// Elementwise instructions on one and two tiles.
#include "src/sem/exec.h"
#include "src/sem/planes.h"

namespace pto::sem {
namespace {

void unary(const Args& args, UnaryOp op) {
  const TileView& dst = args.tiles[0];
  const TileView& src = args.tiles[1];
  const Valid domain = clamp(clamp(dst.valid, dst.desc), src.desc);
  Plane planes[] = {plane_of(dst), plane_of(src)};
  for_grid(domain, planes, [&](const Grid& grid) { unary_kernel(op, dst.desc.dtype, grid); });
}

void binary(const Args& args, BinaryOp op) {
  const TileView& dst = args.tiles[0];
  const Valid domain = clamp(clamp(clamp(dst.valid, dst.desc), args.tiles[1].desc), args.tiles[2].desc);
  Plane planes[] = {plane_of(dst), plane_of(args.tiles[1]), plane_of(args.tiles[2])};
  for_grid(domain, planes, [&](const Grid& grid) { binary_kernel(op, dst.desc.dtype, grid); });
}

}  // namespace

void exec_TAdd(const Args& args) {
  binary(args, BinaryOp::Add);
}
void exec_TSub(const Args& args) {
  binary(args, BinaryOp::Sub);
}
void exec_TMul(const Args& args) {
  binary(args, BinaryOp::Mul);
}
void exec_TDiv(const Args& args) {
  binary(args, BinaryOp::Div);
}
void exec_TMax(const Args& args) {
  binary(args, BinaryOp::Max);
}
void exec_TMin(const Args& args) {
  binary(args, BinaryOp::Min);
}

void exec_TAbs(const Args& args) {
  unary(args, UnaryOp::Abs);
}
void exec_TNeg(const Args& args) {
  unary(args, UnaryOp::Neg);
}
void exec_TExp(const Args& args) {
  unary(args, UnaryOp::Exp);
}
void exec_TLog(const Args& args) {
  unary(args, UnaryOp::Log);
}
void exec_TSqrt(const Args& args) {
  unary(args, UnaryOp::Sqrt);
}
void exec_TRsqrt(const Args& args) {
  unary(args, UnaryOp::Rsqrt);
}
void exec_TRecip(const Args& args) {
  unary(args, UnaryOp::Recip);
}
void exec_TRelu(const Args& args) {
  unary(args, UnaryOp::Relu);
}

}  // namespace pto::sem
