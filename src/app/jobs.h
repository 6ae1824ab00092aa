#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/api_client.h"
#include "app/settings.h"
#include "app/terminal.h"

namespace cairn::app {

struct JobsOptions {
  std::string action;                  // one of JobsActions()
  std::vector<std::string> arguments;  // what it is about
  ServerChoice server;
  bool json = false;
  // enqueue
  std::string priority;
  std::string unique_key;
  std::string delay;
  std::string scheduled_at;
  std::vector<std::string> tags;  // NAME=VALUE
  int64_t max_retries = -1;       // as the queue has it
  int64_t wait_seconds = 0;       // for the job to end
  // hold
  std::string reason;
  // list, bulk
  std::string queue;
  std::string states;  // a,b
  std::string filter;  // JSON
  std::string cursor;
  std::string to_queue;  // bulk move
  int64_t limit = 50;
};
const std::vector<std::string>& JobsActions();
// What the help says about the actions.
std::string JobsActionsHelp();
// `cairn jobs ACTION …` against a running server. Returns an exit code.
int Jobs(const Config& config, const JobsOptions& options, const Terminal& terminal);

struct QueuesOptions {
  std::string action = "list";
  std::vector<std::string> arguments;
  ServerChoice server;
  bool json = false;
  int64_t wait_seconds = 30;  // drain
};
const std::vector<std::string>& QueuesActions();
std::string QueuesActionsHelp();
// `cairn queues [ACTION …]`.
int Queues(const Config& config, const QueuesOptions& options, const Terminal& terminal);

struct WorkersOptions {
  ServerChoice server;
  bool json = false;
};
// `cairn workers`.
int Workers(const Config& config, const WorkersOptions& options, const Terminal& terminal);

}  // namespace cairn::app
