/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Milliseconds, or the server's own notation: `"250ms"`, `"5s"`, `"1h30m"`. */
export type Duration = number | string;

export type JobState =
  | 'pending' | 'active' | 'scheduled' | 'retrying' | 'held'
  | 'completed' | 'dead' | 'cancelled';

export const TERMINAL_STATES: ReadonlySet<JobState> = new Set(['completed', 'dead', 'cancelled']);

export type Priority = 'critical' | 'high' | 'normal';
export type Backoff = 'none' | 'fixed' | 'linear' | 'exponential';

export interface ChainStep {
  queue: string;
  payload?: unknown;
}

/** How a job is to be run. What is left out is the queue's, or the server's, default. */
export interface JobOptions {
  priority?: Priority;
  /** Only one live job of the queue may have this key. */
  uniqueKey?: string;
  /** How long the key is held at most, in seconds. */
  uniquePeriod?: number;
  /** What happens when the key is taken. */
  uniqueMode?: 'reject' | 'replace' | 'debounce';
  /** Retries after the first run. */
  maxRetries?: number;
  retryBackoff?: Backoff;
  retryBaseDelay?: Duration;
  retryMaxDelay?: Duration;
  /** Up to so much less, at random: spreads the retries of jobs that failed together. */
  retryJitterPercent?: number;
  scheduledAt?: Date | string;
  delay?: Duration;
  /** A job that has not begun by then is dead. */
  expireAfter?: Duration;
  /** How long one attempt may take. */
  timeout?: Duration;
  tags?: Record<string, string>;
  parentId?: string;
  dependsOn?: string[];
  onDependencyFailure?: 'fail' | 'ignore' | 'hold';
  chain?: { steps: ChainStep[]; onFailure?: ChainStep; onExit?: ChainStep };
  /** A batch that is open. */
  batchId?: string;
  /** Jobs that share this key share a limit on how many run at once. */
  concurrencyKey?: string;
  /** Jobs that share this key share a rate limit. */
  rateKey?: string;
  /** Groups of one queue take turns. */
  group?: string;
  checkpoint?: unknown;
  /** The same key within a day is the same job. The client makes one up unless it is given. */
  idempotencyKey?: string;
}

export interface EnqueueRequest extends JobOptions {
  queue: string;
  payload?: unknown;
}

export interface EnqueueResult {
  jobId: string;
  status: 'pending' | 'scheduled' | 'held' | 'duplicate';
  /** The unique key was taken: `jobId` is the job that has it. */
  uniqueExisting: boolean;
}

export interface JobError {
  attempt: number;
  error: string;
  backtrace?: string;
  createdAt: string;
}

export interface Job<Payload = any, Result = any> {
  id: string;
  queue: string;
  state: JobState;
  payload: Payload;
  priority: number;
  attempt: number;
  maxRetries: number;
  result?: Result;
  progress?: any;
  checkpoint?: any;
  tags?: Record<string, string>;
  errors?: JobError[];
  uniqueKey?: string;
  batchId?: string;
  workerId?: string;
  hostname?: string;
  parentId?: string;
  chainId?: string;
  chainStep?: number;
  holdReason?: string;
  traceparent?: string;
  leaseExpiresAt?: string;
  scheduledAt?: string;
  expireAt?: string;
  createdAt: string;
  startedAt?: string;
  completedAt?: string;
  failedAt?: string;
  [more: string]: unknown;
}

/** A job as a worker gets it: with the lease that entitles to finish it. */
export interface FetchedJob<Payload = any> {
  jobId: string;
  queue: string;
  payload: Payload;
  attempt: number;
  maxRetries: number;
  /** Seconds. */
  leaseDuration: number;
  leaseToken: string;
  checkpoint?: any;
  tags?: Record<string, string>;
  /** W3C trace context of whoever enqueued the job. */
  traceparent?: string;
}

export interface FetchRequest {
  queues: string[];
  workerId: string;
  hostname?: string;
  /** Up to 512. */
  count?: number;
  /** Seconds until the job is given to someone else, unless a heartbeat comes. */
  leaseDuration?: number;
  /** Seconds to wait for a job. */
  wait?: number;
}

export interface Ack {
  jobId: string;
  leaseToken: string;
  result?: unknown;
}

export interface AckFailure {
  jobId: string;
  code: string;
  error: string;
}

export interface FailOptions {
  backtrace?: string;
  /** false: the job is dead at once. */
  retryable?: boolean;
  /** Until the next attempt, instead of the job's own backoff. */
  delay?: Duration;
}

export interface FailResult {
  status: 'retrying' | 'dead';
  nextAttemptAt?: string;
  attemptsRemaining: number;
}

export interface Beat {
  leaseToken: string;
  progress?: unknown;
  checkpoint?: unknown;
}

export interface BeatResult {
  status: 'ok' | 'cancel';
  code?: string;
}

export interface Batch {
  id: string;
  total: number;
  pending: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  sealed: boolean;
  callbackQueue?: string;
  /** Nanoseconds since 1970. */
  createdNs: number;
  [more: string]: unknown;
}

export interface QueueInfo {
  name: string;
  paused: boolean;
  maxConcurrency?: number;
  rateLimit?: number;
  rateWindowMs?: number;
  pending: number;
  active: number;
  held: number;
  completed: number;
  dead: number;
  scheduled: number;
  retrying: number;
  oldestPendingAt?: string;
  createdAt: string;
  [more: string]: unknown;
}

export interface WorkerInfo {
  id: string;
  hostname: string;
  queues: string[];
  lastHeartbeat: string;
  startedAt: string;
}

export interface JobEvent {
  seq: number;
  type: string;
  jobId: string;
  queue: string;
  /** Milliseconds since 1970. */
  at: number;
  data?: any;
}

export interface EventFilter {
  queues?: string[];
  jobIds?: string[];
  types?: string[];
}

/** What POST /api/v1/jobs/search takes; the server's documentation lists every field. */
export interface SearchFilter {
  queue?: string;
  state?: JobState[];
  tags?: Record<string, string>;
  sort?: 'created_at' | 'priority' | 'started_at' | 'completed_at' | 'attempt';
  order?: 'asc' | 'desc';
  limit?: number;
  cursor?: string;
  [field: string]: unknown;
}

export interface SearchResult {
  jobs: Job[];
  total: number;
  cursor?: string;
  hasMore: boolean;
}
