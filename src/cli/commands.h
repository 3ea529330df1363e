#pragma once

#include "cli/command.h"

// The subcommands of the program, one source file each.
namespace hocket {

Command train_command();
Command eval_command();
Command compare_command();
Command models_command();
Command data_command();
Command report_command();
Command serve_command();
Command doctor_command();
Command plan_command();
Command simulate_command();
Command bench_command();
Command launch_command();
Command jobs_command();

}  // namespace hocket
