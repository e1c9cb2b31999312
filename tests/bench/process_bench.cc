// Time and memory of a whole process: `process_bench RUNS PROGRAM ARGUMENTS...`, one line of JSON. A small program of its
// own because the peak memory that the system reports for a child starts at its parent's.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

struct Sample {
  double seconds = 0;
  long kilobytes = 0;
  int exit_code = 0;
};

Sample run_once(char** command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t pid = 0;
  Sample sample;
  sample.exit_code = posix_spawn(&pid, command[0], &actions, nullptr, command, environ) == 0 ? 0 : 127;
  posix_spawn_file_actions_destroy(&actions);
  if (sample.exit_code == 0) {
    int status = 0;
    rusage usage{};
    wait4(pid, &status, 0, &usage);
    sample.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    sample.kilobytes = usage.ru_maxrss;
  }
  sample.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return sample;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: process_bench RUNS PROGRAM ARGUMENTS...\n");
    return 2;
  }
  // The best time: what the program needs; the rest is what else the machine did.
  Sample best;
  for (int run = 0; run < std::atoi(argv[1]); ++run) {
    const Sample sample = run_once(argv + 2);
    if (sample.exit_code != 0) {
      return sample.exit_code;
    }
    best.seconds = run == 0 ? sample.seconds : std::min(best.seconds, sample.seconds);
    best.kilobytes = std::max(best.kilobytes, sample.kilobytes);
  }
  std::printf("{\"seconds\": %.6f, \"kilobytes\": %ld}\n", best.seconds, best.kilobytes);
  return 0;
}
