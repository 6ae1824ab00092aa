import type { Duration, Job } from './types.js';

/** An answer of the server that says no. `code` is the server's, such as `LEASE_LOST`. */
export class CairnError extends Error {
  override readonly name: string = 'CairnError';

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** How long to wait before trying again, if the server said so. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

/** No answer came: the server could not be reached, or the connection ended first. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** A job that was waited for has ended otherwise than by completing. */
export class JobFailedError extends Error {
  override readonly name = 'JobFailedError';

  constructor(readonly job: Job) {
    super(`job ${job.id} is ${job.state}${job.errors?.length ? `: ${job.errors.at(-1)!.error}` : ''}`);
  }
}

/** The job did not end within the time it was waited for. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError';
}

// --- What a worker's handler throws ----------------------------------------------------------------

/** Fails the job for good: no retries, whatever the job has left. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

/** Fails the attempt; the next one comes after `delay` instead of the job's own backoff. */
export class RetryLaterError extends Error {
  override readonly name = 'RetryLaterError';

  constructor(message: string, readonly delay: Duration) {
    super(message);
  }
}

/** Puts the job back for `delay`. The attempt does not count. */
export class Snooze extends Error {
  override readonly name = 'Snooze';

  constructor(readonly delay: Duration) {
    super('snoozed');
  }
}

// --- Why a handler's signal is aborted ------------------------------------------------------------

/** The job was cancelled, or its lease belongs to someone else now: what the handler does is not wanted. */
export class JobLostError extends Error {
  override readonly name = 'JobLostError';
}

/** The worker is stopping and has run out of patience; the job goes back to its queue. */
export class ShutdownError extends Error {
  override readonly name = 'ShutdownError';
}
