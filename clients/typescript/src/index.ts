export { BatchAdmin, Client, QueueAdmin, type WaitOptions } from './client.js';
export {
  CairnError, JobFailedError, JobLostError, PermanentError, RetryLaterError, ShutdownError, Snooze,
  UnreachableError, WaitTimeoutError,
} from './errors.js';
export type { EventOptions } from './events.js';
export type { TransportOptions } from './transport.js';
export * from './types.js';
export {
  Worker, type Handler, type JobContext, type StopOptions, type WorkerEvents, type WorkerOptions,
} from './worker.js';
