#pragma once

#include <string>

#include "cli/arguments.h"
#include "train/options.h"

namespace hocket {

// Starts the nodes of a run with a parameter server, each as this command line anew, and waits for the end of
// the recorder, whose exit code it returns. A worker that dies is started again up to options.restarts times,
// and then missed; the coordinator is always, and a server where its ranges have replicas. Where they have
// none, or no worker is left, all nodes end, and start anew from the newest checkpoint as often as
// options.restarts allows. `options` are with_servers(); their run folder is `folder`.
int launch_nodes(const TrainOptions& options, const Arguments& arguments, const std::string& folder);

}  // namespace hocket
