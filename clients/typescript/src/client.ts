import { randomUUID } from 'node:crypto';
import { JobFailedError, WaitTimeoutError } from './errors.js';
import { followEvents, type EventOptions } from './events.js';
import { Transport, type TransportOptions } from './transport.js';
import {
  TERMINAL_STATES,
  type Ack, type AckFailure, type Batch, type Beat, type BeatResult, type Duration, type EnqueueRequest,
  type EnqueueResult, type FailOptions, type FailResult, type FetchedJob, type FetchRequest, type Job,
  type JobEvent, type JobOptions, type QueueInfo, type SearchFilter, type SearchResult, type WorkerInfo,
} from './types.js';
import { durationText, fromWire, toWire } from './wire.js';

export interface WaitOptions {
  /** How long to wait; for ever unless given. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

// One request waits this long at most, so that proxies in between do not lose patience.
const LONGEST_WAIT_S = 30;

/**
 * One server, as producers and operators use it. Safe to share: it keeps no state but its settings.
 *
 *     const client = new Client({ url: 'http://127.0.0.1:8080' });
 *     const { jobId } = await client.enqueue('mail', { to: 'ann@example.org' }, { maxRetries: 5 });
 *     const result = await client.result(jobId, { timeoutMs: 60_000 });
 */
export class Client {
  readonly queues: QueueAdmin;
  readonly batches: BatchAdmin;
  readonly #transport: Transport;

  constructor(options: TransportOptions = {}) {
    this.#transport = new Transport(options);
    this.queues = new QueueAdmin(this.#transport);
    this.batches = new BatchAdmin(this.#transport);
  }

  // --- Producing ----------------------------------------------------------------------------------

  /**
   * Adds a job. It is sent again when no answer came, always under one idempotency key, so it is there
   * once.
   */
  async enqueue(queue: string, payload: unknown = {}, options: JobOptions = {}): Promise<EnqueueResult> {
    const body = toWire({ idempotencyKey: randomUUID(), ...options, queue, payload });
    return fromWire(await this.#transport.request('POST', '/enqueue', { body, repeatable: true }));
  }

  /** Adds all of them or, if one is refused, none. With `batch`, they form one. */
  async enqueueBatch(
    jobs: EnqueueRequest[],
    options: { batch?: { callbackQueue?: string; callbackPayload?: unknown }; idempotencyKey?: string } = {},
  ): Promise<{ jobIds: string[]; batchId?: string }> {
    const body = {
      idempotency_key: options.idempotencyKey ?? randomUUID(),
      jobs: jobs.map(toWire),
      ...(options.batch ? { batch: toWire(options.batch) } : {}),
    };
    return fromWire(await this.#transport.request('POST', '/enqueue/batch', { body, repeatable: true }));
  }

  // --- Looking ------------------------------------------------------------------------------------

  async get<Payload = any, Result = any>(jobId: string): Promise<Job<Payload, Result>> {
    return fromWire(await this.#get(`/jobs/${encodeURIComponent(jobId)}`));
  }

  /** Those of the jobs that exist. */
  async getMany(jobIds: string[]): Promise<Job[]> {
    const body = { job_ids: jobIds };
    const answer = await this.#transport.request('POST', '/jobs/bulk-get', { body, repeatable: true });
    return fromWire<{ jobs: Job[] }>(answer).jobs;
  }

  async search(filter: SearchFilter = {}): Promise<SearchResult> {
    const body = toWire(filter);
    return fromWire(await this.#transport.request('POST', '/jobs/search', { body, repeatable: true }));
  }

  /** The job once it has ended, however that was. Throws WaitTimeoutError if it does not in time. */
  async wait(jobId: string, options: WaitOptions = {}): Promise<Job> {
    const deadline = options.timeoutMs === undefined ? Infinity : Date.now() + options.timeoutMs;
    while (true) {
      const left = Math.max(0, Math.ceil((deadline - Date.now()) / 1000));
      const timeout = Math.min(LONGEST_WAIT_S, left);
      const job = fromWire<Job>(
        await this.#transport.request('GET', `/jobs/${encodeURIComponent(jobId)}/wait`, {
          query: { timeout }, waitMs: timeout * 1000, signal: options.signal, repeatable: true,
        }));
      if (TERMINAL_STATES.has(job.state)) return job;
      if (Date.now() >= deadline) throw new WaitTimeoutError(`job ${jobId} is still ${job.state}`);
    }
  }

  /** What the job's handler returned. Throws JobFailedError if the job ended otherwise. */
  async result<Result = any>(jobId: string, options: WaitOptions = {}): Promise<Result> {
    const job = await this.wait(jobId, options);
    if (job.state !== 'completed') throw new JobFailedError(job);
    return job.result as Result;
  }

  /** `for await (const event of client.events({ queues: ['mail'] })) …` */
  events(options: EventOptions = {}): AsyncGenerator<JobEvent> {
    return followEvents(this.#transport, options);
  }

  async workers(): Promise<WorkerInfo[]> {
    const rows = fromWire<(Omit<WorkerInfo, 'queues'> & { queues: string })[]>(await this.#get('/workers'));
    return rows.map((row) => ({ ...row, queues: JSON.parse(row.queues) as string[] }));
  }

  // --- Changing -----------------------------------------------------------------------------------

  /** `cancelling` if a worker has it: the worker hears of it at its next heartbeat. */
  async cancel(jobId: string): Promise<'cancelled' | 'cancelling'> {
    return (await this.#act(jobId, 'cancel')).status;
  }
  /** Runs a job that has ended once more, from its first attempt. */
  async retry(jobId: string): Promise<void> {
    await this.#act(jobId, 'retry');
  }
  async hold(jobId: string, reason?: string): Promise<void> {
    await this.#act(jobId, 'hold', reason === undefined ? undefined : { reason });
  }
  async approve(jobId: string): Promise<void> {
    await this.#act(jobId, 'approve');
  }
  async reject(jobId: string): Promise<void> {
    await this.#act(jobId, 'reject');
  }
  async move(jobId: string, queue: string): Promise<void> {
    await this.#act(jobId, 'move', { queue });
  }
  async delete(jobId: string): Promise<void> {
    await this.#transport.request('DELETE', `/jobs/${encodeURIComponent(jobId)}`);
  }

  // --- Working: what Worker is made of, for those who need it otherwise ------------------------------

  /** Waits until there is something, `wait` seconds at most. */
  async fetchJobs(request: FetchRequest, signal?: AbortSignal): Promise<FetchedJob[]> {
    const waitMs = (request.wait ?? 0) * 1000;
    const answer = await this.#transport.request('POST', '/fetch/batch', {
      body: toWire({ count: 1, wait: 0, ...request }), signal, waitMs,
    });
    return fromWire<{ jobs: FetchedJob[] }>(answer).jobs;
  }

  /** Completes jobs; those whose lease is lost are named in the answer, and unchanged. */
  async ack(acks: Ack[]): Promise<AckFailure[]> {
    const body = { acks: acks.map(toWire) };
    const answer = await this.#transport.request('POST', '/ack/batch', { body, repeatable: true });
    return fromWire<{ errors?: AckFailure[] }>(answer).errors ?? [];
  }

  async fail(jobId: string, leaseToken: string, error: string, options: FailOptions = {}): Promise<FailResult> {
    const body = toWire({ leaseToken, error, ...options });
    return fromWire(
      await this.#transport.request('POST', `/fail/${encodeURIComponent(jobId)}`, { body }));
  }

  async snooze(jobId: string, leaseToken: string, delay: Duration): Promise<void> {
    const body = { lease_token: leaseToken, delay: durationText(delay) };
    await this.#transport.request('POST', `/snooze/${encodeURIComponent(jobId)}`, { body });
  }

  /** Renews leases by their own length. */
  async heartbeat(beats: Map<string, Beat>, signal?: AbortSignal): Promise<Map<string, BeatResult>> {
    const jobs: Record<string, unknown> = {};
    for (const [jobId, beat] of beats) jobs[jobId] = toWire(beat);
    const answer = await this.#transport.request('POST', '/heartbeat', {
      body: { jobs }, signal, repeatable: true,
    });
    return new Map(Object.entries(answer.jobs as Record<string, BeatResult>));
  }

  #get(path: string): Promise<any> {
    return this.#transport.request('GET', path, { repeatable: true });
  }
  #act(jobId: string, action: string, body?: unknown): Promise<any> {
    return this.#transport.request('POST', `/jobs/${encodeURIComponent(jobId)}/${action}`,
                                   body === undefined ? {} : { body });
  }
}

/** `client.queues`: what operators do to queues. */
export class QueueAdmin {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(): Promise<QueueInfo[]> {
    return fromWire(await this.#transport.request('GET', '/queues', { repeatable: true }));
  }
  /** Nothing is given out any more; jobs can still be added. */
  pause(queue: string): Promise<void> {
    return this.#act(queue, 'pause');
  }
  resume(queue: string): Promise<void> {
    return this.#act(queue, 'resume');
  }
  /** Pauses, and waits until nothing runs any more; false if something still does after `timeoutS`. */
  async drain(queue: string, timeoutS = 30): Promise<boolean> {
    const answer = await this.#transport.request('POST', `/queues/${encodeURIComponent(queue)}/drain`, {
      query: { timeout: timeoutS }, waitMs: timeoutS * 1000, repeatable: true,
    });
    return answer.status === 'drained';
  }
  /** Deletes every pending and scheduled job. */
  clear(queue: string): Promise<void> {
    return this.#act(queue, 'clear');
  }
  /** At most so many jobs run at once; undefined: no limit. */
  limitConcurrency(queue: string, max: number | undefined): Promise<void> {
    return this.#act(queue, 'concurrency', { max: max ?? 0 });
  }
  /** At most `rate` jobs are given out within `windowMs`; undefined: no limit. */
  async throttle(queue: string, limit: { rate: number; windowMs: number } | undefined): Promise<void> {
    if (limit) return this.#act(queue, 'throttle', { rate: limit.rate, window_ms: limit.windowMs });
    await this.#transport.request('DELETE', `/queues/${encodeURIComponent(queue)}/throttle`);
  }
  async delete(queue: string): Promise<void> {
    await this.#transport.request('DELETE', `/queues/${encodeURIComponent(queue)}`);
  }

  async #act(queue: string, action: string, body?: unknown): Promise<void> {
    await this.#transport.request('POST', `/queues/${encodeURIComponent(queue)}/${action}`,
                                  { repeatable: true, ...(body === undefined ? {} : { body }) });
  }
}

/** `client.batches`: batches that grow before they are sealed. Jobs join by `batchId`. */
export class BatchAdmin {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async open(options: { callbackQueue?: string; callbackPayload?: unknown } = {}): Promise<Batch> {
    return fromWire(await this.#transport.request('POST', '/batches', { body: toWire(options) }));
  }
  async add(batchId: string, jobs: EnqueueRequest[]): Promise<{ jobIds: string[] }> {
    const body = { jobs: jobs.map(toWire), idempotency_key: randomUUID() };
    return fromWire(await this.#transport.request('POST', `/batches/${encodeURIComponent(batchId)}/jobs`,
                                                  { body, repeatable: true }));
  }
  /** No more jobs; the callback comes when all have ended. */
  async seal(batchId: string): Promise<Batch> {
    return fromWire(await this.#transport.request('POST', `/batches/${encodeURIComponent(batchId)}/seal`,
                                                  { repeatable: true }));
  }
  async get(batchId: string): Promise<Batch> {
    return fromWire(await this.#transport.request('GET', `/batches/${encodeURIComponent(batchId)}`,
                                                  { repeatable: true }));
  }
}
