// Compiles a kernel in this process: the same as the command line `ptoc`, as a function.
#include <cstdio>
#include <iostream>

#include "pto/compiler.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: compile_here SOURCE OBJECT\n");
    return 2;
  }
  return pto::driver::run_ptoc({argv[1], "-o", argv[2], "--target=a5"}, std::cout, std::cerr);
}
