#pragma once

#include "jobs/operations/actions.h"
#include "jobs/operations/batches.h"
#include "jobs/operations/enqueue.h"
#include "jobs/operations/fetch.h"
#include "jobs/operations/lease.h"
#include "jobs/operations/queues.h"
#include "jobs/operations/registry.h"

// What can be done with jobs: all of it, for the doors.
//
//   enqueue.h   new jobs                            lease.h     ack, fail, heartbeat, snooze
//   fetch.h     jobs for a worker                   actions.h   one job: look, cancel, hold, move…
//   batches.h   batches that jobs join              queues.h    queues: list, pause, configure…
//   registry.h  the workers that were heard of
//
// Each function is one step inside a transaction: it checks first and writes afterwards, so a
// refusal (refusal.h) has changed nothing. Document, index, due row, counts, unique lock, slot,
// batch, chain, dependants and event change together, whichever way a job takes.
//
// Each needs the scopes of a Held (ids.h), made from the request by the function beside it. An
// operation that finds out that it needs more sets Held::wants_everything and fails with
// kWouldBlock; the caller runs it again with Held::Everything(). store_access.h does so for
// coroutines.
