// What the evaluators compute with: tensors and single elements as doubles. Integers of up to 53 bits are exact; the
// evaluators are oracles for small inputs, and wider values do not occur there.
#pragma once

#include <cstdint>
#include <vector>

#include "pto/dtype.h"
#include "src/ir/ir.h"

namespace pto::eval {

// Exact: floating point results stay doubles, only casts and scalar operands are rounded to their element type; two ways
// to compute the same thing agree to about 1e-15. Rounded: every result is rounded to its element type, as on the machine.
enum class Precision : uint8_t { Exact, Rounded };

struct Tensor {
  DType dtype = DType::None;
  std::vector<int64_t> dims;
  std::vector<double> data;      // row-major
  std::vector<uint8_t> written;  // 0: nothing wrote the element; empty: all are written
  bool is_written(size_t index) const { return written.empty() || written[index] != 0; }
};

// Elements of a shape; -1 if it has a negative dim or more than 2^40 of them.
int64_t element_count(const std::vector<int64_t>& dims);
// Nothing of it is written.
Tensor unwritten_tensor(DType dtype, std::vector<int64_t> dims);

// Toward zero; the nearest limit of what does not fit, 0 of NaN.
int64_t to_integer(double value);
// The value of `dtype` nearest to a float; integers modulo 2^bits.
double on_grid(DType dtype, double value);
double wrapped(DType dtype, int64_t value);

// One element of the ops that have one rule for all levels. Any NaN makes max and min NaN; integers wrap; integer quotients
// truncate toward zero, by zero they are 0.
double unary_element(ir::OpKind kind, DType dtype, double x);
double binary_element(ir::OpKind kind, DType dtype, double a, double b);
bool compare_element(isa::Cmp cmp, double a, double b);
double cast_element(DType to, DType from, double value, isa::Round round);
double pad_element(isa::Pad pad, DType dtype);
// Sum, ReduceMax, ReduceMin: start from reduce_start, combine with every element in any order.
double reduce_start(ir::OpKind kind, DType dtype);
double reduce_element(ir::OpKind kind, DType dtype, double so_far, double x);

}  // namespace pto::eval
