// Does a pass keep values? Every entry is evaluated on seeded inputs before and after each pass, as long as it is a graph, a
// kernel or a program of kernels, and the first pass that changes a result is reported.
//
// Both evaluations are exact (doubles), so what may differ is the order of sums and what casts make of that. The budget is
// four units in the last place of the narrowest float type that the entry uses, relative to the largest magnitude of the
// result: f32 5e-7, f16 4e-3, bf16 3e-2. Integers are equal; where floats are cast to them, one element in a hundred may be
// one apart (a sum in another order can fall on the other side of a half). NaN equals NaN.
// Entries with types narrower than f32 are also evaluated with rounding after every operation: a pass must not bring
// infinities and NaNs where there were none.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pto/diagnostics.h"
#include "src/eval/inputs.h"
#include "src/ir/ir.h"

namespace pto::eval {

class PassChecker {
 public:
  explicit PassChecker(DiagnosticSink& sink) : sink_(sink) {}

  // The module at the start.
  void start(const ir::Module& module);
  // The module after a pass. False: the pass changed values, or broke the program; the sink has the error.
  bool observe(std::string_view pass, const ir::Module& module);

 private:
  struct Sample {
    Inputs inputs;
    std::vector<Tensor> exact;    // every tensor after the run
    std::vector<Tensor> rounded;  // empty: not evaluated
  };
  struct Entry {
    std::string name;
    std::vector<std::string> dims;    // names; later levels may list them in another order
    std::vector<Sample> samples;
    bool narrow = false;              // uses a float type narrower than f32
    double budget = 0;                // relative, of floats
    bool casts_to_integer = false;
  };
  // What is wrong with one element.
  struct Difference {
    size_t element = 0;
    double was = 0;
    double is = 0;
  };

  void add_entry(const ir::Module& module, const ir::Function& function);
  Status run(const ir::Module& module, const ir::Function& function, const Entry& entry, const Inputs& inputs,
             Precision precision, std::vector<Tensor>& after) const;
  // False: reported. `keep` false: the entry has left the levels that are checked.
  bool check(std::string_view pass, const ir::Module& module, Entry& entry, bool& keep);
  bool check_sample(std::string_view pass, const ir::Module& module, const ir::Function& function, const Entry& entry,
                    Sample& sample, bool& keep);
  std::optional<Difference> compare(const Entry& entry, const Tensor& was, const Tensor& is) const;
  bool broken(std::string_view pass, Span span, const std::string& name, const std::string& why);

  DiagnosticSink& sink_;
  std::vector<Entry> entries_;
};

}  // namespace pto::eval
