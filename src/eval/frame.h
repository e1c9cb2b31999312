// What evaluating a function of any level has in common: arguments in, an outcome out, limits on work and memory, the values
// of symbols. Nothing here reports to a sink: callers decide what an outcome means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/eval/value.h"
#include "src/ir/ir.h"

namespace pto::eval {

enum class Outcome : uint8_t {
  Ok,
  Fault,       // the program did something wrong: an index out of range, a read of what nothing wrote
  Limit,       // it needs more work or memory than allowed
  Unsupported  // it runs a core
};

struct Status {
  Outcome outcome = Outcome::Ok;
  std::string text;
  Span span;
  bool ok() const { return outcome == Outcome::Ok; }
};

struct Options {
  Precision precision = Precision::Exact;
  int64_t max_work = int64_t{1} << 27;      // element operations
  int64_t max_elements = int64_t{1} << 23;  // of all values that are alive at a time
};

// In the order of the function's dims, of its scalar parameters, of its tensor parameters. Results are written in place.
struct Arguments {
  std::vector<int64_t> dims;
  std::vector<double> scalars;
  std::vector<Tensor*> tensors;
  int64_t block_index = 0;
  int64_t block_count = 1;
};

// One evaluation, with all functions that are called on the way.
struct Session {
  const ir::Module& module;
  Options options;
  Status status;
  int64_t work = 0;
  int64_t elements = 0;
  int depth = 0;
};

// Runs `function`, of any kind but a core. False: session.status says why.
bool evaluate(Session& session, const ir::Function& function, const Arguments& arguments);
// The same as one call.
Status evaluate(const ir::Module& module, const ir::Function& function, const Arguments& arguments,
                const Options& options);

// The callee's dims, read off the shapes of its tensor arguments (dims that stand alone in a shape); nullopt: one does not
// follow. Null tensors give nothing.
std::optional<std::vector<int64_t>> solve_dims(const ir::Function& callee, const std::vector<const Tensor*>& tensors);

// A function while it runs.
class Frame {
 public:
  Frame(Session& session, const ir::Function& function, const Arguments& arguments)
      : session_(session), function_(function), arguments_(arguments) {}
  ~Frame() { release(held_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

 protected:

  // Symbols of dims and scalars; shapes of tensor arguments are checked against the parameters'.
  bool bind();
  void set(SymId sym, int64_t value);
  // The symbol of a Let gets its value.
  bool let(const ir::Op& op);
  bool fail(Outcome outcome, Span span, std::string text);
  bool fault(Span span, std::string text) { return fail(Outcome::Fault, span, std::move(text)); }
  bool spend(int64_t work, Span span);
  // Counts memory; the frame gives back what it holds when it ends.
  bool hold(int64_t elements, Span span);
  void release(int64_t elements) {
    session_.elements -= elements;
    held_ -= elements;
  }

  std::optional<int64_t> integer(ExprId expr, Span span);
  // A scalar operand for elements of `dtype`, on its grid.
  std::optional<double> scalar(ExprId expr, DType dtype, Span span);
  std::optional<std::vector<int64_t>> shape(const std::vector<ExprId>& dims, Span span);
  // A result: rounded to its element type if that is asked for.
  double settle(DType dtype, double value) const {
    return session_.options.precision == Precision::Rounded ? on_grid(dtype, value) : value;
  }
  std::string name_of(ir::ValueId value) const;

  Session& session_;
  const ir::Function& function_;
  const Arguments& arguments_;

 private:
  ExprEnv env() const { return {ints_, floats_, arguments_.block_index, arguments_.block_count}; }
  std::vector<int64_t> ints_;
  int64_t held_ = 0;
  std::vector<double> floats_;  // integer symbols too: an index may stand in float arithmetic
};

std::string shape_text(const std::vector<int64_t>& dims);
std::string spelling(ir::OpKind kind);  // in backticks

}  // namespace pto::eval
