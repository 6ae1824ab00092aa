import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { hostname } from 'node:os';
import type { Client } from './client.js';
import { CairnError, JobLostError, PermanentError, RetryLaterError, ShutdownError, Snooze } from './errors.js';
import { pause } from './transport.js';
import type { Ack, Beat, FailOptions, FetchedJob } from './types.js';

/** What a handler is given besides its job. */
export interface JobContext {
  /** Aborted when the job is cancelled, its lease lost, or the worker's patience at its end. */
  readonly signal: AbortSignal;
  /** Told to the server with the next heartbeat. */
  progress(progress: unknown): void;
  /** Likewise; the next attempt gets the last checkpoint as `job.checkpoint`. */
  checkpoint(checkpoint: unknown): void;
  /** Sends what was told at once. */
  flush(): Promise<void>;
}

/** What it returns is the job's result. What it throws fails the attempt; see errors.ts for more. */
export type Handler<Payload = any, Result = unknown> =
  (job: FetchedJob<Payload>, context: JobContext) => Promise<Result> | Result;

export interface WorkerOptions {
  queues: string[];
  handler: Handler;
  /** How many jobs at once; 10 unless given. */
  concurrency?: number;
  /** Seconds after which a job is given to someone else if this process dies; 60 unless given. */
  leaseSeconds?: number;
  /** How long one request waits for jobs; 20 seconds unless given. */
  waitSeconds?: number;
  /** Made up unless given. */
  workerId?: string;
  hostname?: string;
}

export interface StopOptions {
  /** How long running jobs may take to finish; 30 seconds unless given. The others go back to their queue. */
  timeoutMs?: number;
}

/**
 * - `completed`, `failed`, `lost`: what became of a job.
 * - `error`: a request failed; the worker goes on. Without a listener it is only counted, not thrown.
 */
export interface WorkerEvents {
  completed: [job: FetchedJob, result: unknown];
  failed: [job: FetchedJob, error: unknown, outcome: 'retrying' | 'dead' | 'snoozed'];
  lost: [job: FetchedJob];
  error: [error: unknown];
}

interface Running {
  readonly job: FetchedJob;
  readonly controller: AbortController;
  readonly told: { progress?: unknown; checkpoint?: unknown };
  lost: boolean;
  done: Promise<void>;
}

const PAUSE_AFTER_ERROR_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const MOST_AT_ONCE = 512;

/**
 * Takes jobs from queues and runs a handler on each.
 *
 *     const worker = new Worker(client, { queues: ['mail'], concurrency: 20, handler: async (job, { signal }) => {
 *       return await send(job.payload, { signal });
 *     } });
 *     worker.start();
 *     process.once('SIGTERM', () => worker.stop());
 *
 * A job belongs to this worker by a lease, renewed at a third of its length while the handler runs. The
 * server refuses whatever arrives under a lease that has passed on, so a handler that was away too long
 * cannot finish someone else's run.
 */
export class Worker extends EventEmitter<WorkerEvents> {
  readonly workerId: string;
  readonly #client: Client;
  readonly #options: Required<Omit<WorkerOptions, 'workerId'>>;
  readonly #running = new Map<string, Running>();
  readonly #fetching = new AbortController();
  #loop: Promise<void> | undefined;
  #beating: NodeJS.Timeout | undefined;
  #stopped: Promise<void> | undefined;
  #slotFree: (() => void) | undefined;
  #acks: { ack: Ack; settle: (failure: string | undefined) => void; fail: (error: unknown) => void }[] = [];
  #acking = false;

  constructor(client: Client, options: WorkerOptions) {
    super();
    if (options.queues.length === 0) throw new TypeError('a worker needs at least one queue');
    this.#client = client;
    this.#options = {
      concurrency: 10, leaseSeconds: 60, waitSeconds: 20, hostname: hostname(), ...options,
    };
    this.workerId = options.workerId ?? `${this.#options.hostname}-${process.pid}-${randomUUID().slice(0, 8)}`;
    // An emitter without a listener for 'error' throws; a worker outlives a request that failed.
    this.on('error', () => {});
  }

  /** The jobs that run now. */
  get active(): number {
    return this.#running.size;
  }

  start(): void {
    if (this.#loop) throw new Error('the worker was started before');
    this.#loop = this.#fetchUntilStopped();
    this.#beating = setInterval(() => void this.#beat(), (this.#options.leaseSeconds * 1000) / 3);
  }

  /** Takes no more jobs, and returns when those that run have finished or were given back. */
  stop(options: StopOptions = {}): Promise<void> {
    this.#stopped ??= this.#stop(options.timeoutMs ?? 30_000);
    return this.#stopped;
  }

  async #stop(timeoutMs: number): Promise<void> {
    this.#fetching.abort(new ShutdownError('the worker stops'));
    this.#slotFree?.();
    await this.#loop;
    const all = () => Promise.all([...this.#running.values()].map(({ done }) => done));
    const patience = new AbortController();
    const late = pause(timeoutMs, patience.signal).then(() => this.#giveBack(), () => {});
    await Promise.race([all(), late.then(() => undefined)]);
    patience.abort();
    clearInterval(this.#beating);
  }

  /** Ends every handler and puts its job back where it came from, the attempt not counted. */
  async #giveBack(): Promise<void> {
    await Promise.all([...this.#running.values()].map(async (running) => {
      running.lost = true;  // whatever the handler still says is not told to the server
      running.controller.abort(new ShutdownError('the worker stops'));
      this.#running.delete(running.job.jobId);
      try {
        await this.#client.snooze(running.job.jobId, running.job.leaseToken, 0);
      } catch (error) {
        this.emit('error', error);  // the lease will lapse
      }
    }));
  }

  // --- Taking jobs --------------------------------------------------------------------------------

  async #fetchUntilStopped(): Promise<void> {
    const { signal } = this.#fetching;
    let failures = 0;
    while (!signal.aborted) {
      const free = this.#options.concurrency - this.#running.size;
      if (free <= 0) {
        await new Promise<void>((resolve) => { this.#slotFree = resolve; });
        continue;
      }
      try {
        const jobs = await this.#client.fetchJobs({
          queues: this.#options.queues,
          workerId: this.workerId,
          hostname: this.#options.hostname,
          count: Math.min(free, MOST_AT_ONCE),
          leaseDuration: this.#options.leaseSeconds,
          wait: this.#options.waitSeconds,
        }, signal);
        failures = 0;
        for (const job of jobs) this.#begin(job);
      } catch (error) {
        if (signal.aborted) return;
        this.emit('error', error);
        const ms = Math.min(LONGEST_PAUSE_MS, PAUSE_AFTER_ERROR_MS * 2 ** failures++);
        await pause(ms, signal).catch(() => {});
      }
    }
  }

  #begin(job: FetchedJob): void {
    const running: Running = {
      job, controller: new AbortController(), told: {}, lost: false, done: Promise.resolve(),
    };
    this.#running.set(job.jobId, running);
    running.done = this.#run(running).finally(() => {
      this.#running.delete(job.jobId);
      this.#slotFree?.();
    });
  }

  // --- Running one --------------------------------------------------------------------------------

  async #run(running: Running): Promise<void> {
    const { job } = running;
    const context: JobContext = {
      signal: running.controller.signal,
      progress: (progress) => { running.told.progress = progress; },
      checkpoint: (checkpoint) => { running.told.checkpoint = checkpoint; },
      flush: () => this.#beatFor([running]),
    };
    let result: unknown;
    try {
      result = await this.#options.handler(job, context);
    } catch (error) {
      return this.#tellFailure(running, error);
    }
    await this.#tell(running, async () => {
      // What the handler told last must not be lost because it was quick.
      if (running.told.progress !== undefined || running.told.checkpoint !== undefined) {
        await this.#beatFor([running]);
        if (running.lost) return;
      }
      const failure = await this.#ack({
        jobId: job.jobId, leaseToken: job.leaseToken, ...(result === undefined ? {} : { result }),
      });
      if (failure === undefined) this.emit('completed', job, result);
      else this.#lose(running);
    });
  }

  async #tellFailure(running: Running, error: unknown): Promise<void> {
    const { job } = running;
    await this.#tell(running, async () => {
      if (error instanceof Snooze) {
        await this.#client.snooze(job.jobId, job.leaseToken, error.delay);
        this.emit('failed', job, error, 'snoozed');
        return;
      }
      const options: FailOptions = {};
      if (error instanceof Error && error.stack) options.backtrace = error.stack;
      if (error instanceof PermanentError) options.retryable = false;
      if (error instanceof RetryLaterError) options.delay = error.delay;
      const message = error instanceof Error ? error.message || error.name : String(error);
      const { status } = await this.#client.fail(job.jobId, job.leaseToken, message, options);
      this.emit('failed', job, error, status);
    });
  }

  /** Tells the server something about a job that is still this worker's. */
  async #tell(running: Running, telling: () => Promise<void>): Promise<void> {
    if (running.lost) return;
    try {
      await telling();
    } catch (error) {
      if (error instanceof CairnError && (error.status === 409 || error.status === 404)) this.#lose(running);
      else this.emit('error', error);  // the lease will lapse
    }
  }

  #lose(running: Running): void {
    if (running.lost) return;
    running.lost = true;
    running.controller.abort(new JobLostError(`job ${running.job.jobId} is no longer this worker's`));
    this.emit('lost', running.job);
  }

  /** Acks that come while one request is under way go together in the next. */
  #ack(ack: Ack): Promise<string | undefined> {
    return new Promise((settle, fail) => {
      this.#acks.push({ ack, settle, fail });
      if (!this.#acking) void this.#sendAcks();
    });
  }

  async #sendAcks(): Promise<void> {
    this.#acking = true;
    while (this.#acks.length > 0) {
      const waiting = this.#acks.splice(0, MOST_AT_ONCE);
      try {
        const failures = await this.#client.ack(waiting.map(({ ack }) => ack));
        const byId = new Map(failures.map(({ jobId, code }) => [jobId, code]));
        for (const { ack, settle } of waiting) settle(byId.get(ack.jobId));
      } catch (error) {
        for (const { fail } of waiting) fail(error);
      }
    }
    this.#acking = false;
  }

  // --- Heartbeats ---------------------------------------------------------------------------------

  async #beat(): Promise<void> {
    if (this.#running.size === 0) return;
    try {
      await this.#beatFor([...this.#running.values()]);
    } catch (error) {
      this.emit('error', error);
    }
  }

  async #beatFor(jobs: Running[]): Promise<void> {
    const beats = new Map<string, Beat>();
    for (const { job, told, lost } of jobs) {
      if (lost) continue;
      beats.set(job.jobId, { leaseToken: job.leaseToken, ...told });
      delete told.progress;
      delete told.checkpoint;
    }
    if (beats.size === 0) return;
    let answers;
    try {
      answers = await this.#client.heartbeat(beats);
    } catch (error) {
      // What was to be told is told with the next one, unless there is something newer by then.
      for (const { job, told } of jobs) {
        const { leaseToken: _, ...untold } = beats.get(job.jobId) ?? { leaseToken: '' };
        Object.assign(told, { ...untold, ...told });
      }
      throw error;
    }
    for (const running of jobs) {
      if (answers.get(running.job.jobId)?.status === 'cancel') this.#lose(running);
    }
  }
}
