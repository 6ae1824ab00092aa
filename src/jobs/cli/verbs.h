#pragma once

#include "house/verb.h"

// The command line's verbs for the queue. Each asks a running server over HTTP.
namespace cairn::jobs {

house::Verb JobsVerb();       // cairn jobs ACTION …
house::Verb QueuesVerb();     // cairn queues [ACTION …]
house::Verb WorkersVerb();    // cairn workers
house::Verb SchedulesVerb();  // cairn schedules [ACTION …]

// `cairn bench jobs`: how fast a running server takes and hands out jobs, over HTTP, from where
// this is run. Jobs are added; fetched and acknowledged; then both at once, each kind of work in a
// queue of its own that is deleted afterwards. Nobody else's queue is touched. Fails if a job was
// lost or done twice.
house::Verb BenchVerb();

}  // namespace cairn::jobs
