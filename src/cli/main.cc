#include "cli/commands.h"
#include "cli/openmp_wait.h"
#include "cli/program.h"
#include "cli/signals.h"

int main(int argc, char** argv) {
  hocket::limit_openmp_spinning(argv);
  hocket::ignore_broken_pipes();
  const hocket::Command commands[] = {
      hocket::train_command(),     //
      hocket::eval_command(),      //
      hocket::compare_command(),   //
      hocket::models_command(),    //
      hocket::data_command(),      //
      hocket::report_command(),    //
      hocket::serve_command(),     //
      hocket::launch_command(),    //
      hocket::jobs_command(),      //
      hocket::plan_command(),      //
      hocket::simulate_command(),  //
      hocket::bench_command(),     //
      hocket::doctor_command(),    //
  };
  return hocket::run_program(commands, {argv + (argc > 0 ? 1 : 0), argv + argc});
}
