#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "src/driver/driver.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const char* no_color = std::getenv("NO_COLOR");
  const pto::driver::Terminal terminal{::isatty(STDERR_FILENO) == 1, no_color != nullptr && *no_color != '\0'};
  return pto::driver::run_ptoc(args, std::cout, std::cerr, terminal);
}
