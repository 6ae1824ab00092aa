import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JobLostError, PermanentError, RetryLaterError, ShutdownError, Snooze, Worker } from '../src/index.js';
import { client, deferred, eventually, newQueue, startWorker } from './support.js';

test('many jobs, each run once, never more at a time than allowed', async () => {
  const queue = newQueue('many');
  const runs = new Map<number, number>();
  let running = 0;
  let most = 0;
  const handler = async (job: { payload: number }) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    runs.set(job.payload, (runs.get(job.payload) ?? 0) + 1);
    --running;
    return job.payload;
  };
  startWorker({ queues: [queue], concurrency: 8, handler });
  const { jobIds } = await client.enqueueBatch(Array.from({ length: 500 }, (_, payload) => ({ queue, payload })));
  await Promise.all(jobIds.map((id) => client.result(id)));
  assert.equal(runs.size, 500);
  assert.ok([...runs.values()].every((count) => count === 1));
  assert.ok(most > 1 && most <= 8, `${most} at once`);
});

test('a waiting worker is given a job as soon as it comes', async () => {
  const queue = newQueue('wake');
  const got = deferred<number>();
  startWorker({ queues: [queue], waitSeconds: 30, handler: () => got.resolve(performance.now()) });
  await eventually(async () => (await client.workers()).some(({ queues }) => queues.includes(queue)));
  const sent = performance.now();
  await client.enqueue(queue);
  assert.ok((await got.promise) - sent < 10_000);  // and not at the end of the wait
});

test('heartbeats keep a job that takes longer than its lease', async () => {
  const queue = newQueue('long');
  let runs = 0;
  startWorker({
    queues: [queue], leaseSeconds: 1,
    handler: async (_job, context) => {
      ++runs;
      context.progress({ half: true });
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return 'slow';
    },
  });
  const { jobId } = await client.enqueue(queue);
  await eventually(async () => (await client.get(jobId)).progress?.half === true);
  assert.equal(await client.result(jobId), 'slow');
  assert.equal(runs, 1);
});

test('a failure is retried, a permanent one is not, a snooze uses no attempt', async () => {
  const queue = newQueue('failures');
  const seen: string[] = [];
  const worker = startWorker({
    queues: [queue], concurrency: 1,
    handler: (job) => {
      seen.push(`${job.payload} ${job.attempt}`);
      if (job.payload === 'permanent') throw new PermanentError('never');
      if (job.payload === 'snoozed' && seen.filter((line) => line.startsWith('snoozed')).length === 1) throw new Snooze(10);
      if (job.payload === 'later' && job.attempt === 1) throw new RetryLaterError('soon', 10);
      if (job.payload === 'retried' && job.attempt < 3) throw new Error(`no ${job.attempt}`);
      return 'done';
    },
  });
  const outcomes: string[] = [];
  worker.on('failed', (job, _error, outcome) => outcomes.push(`${job.payload} ${outcome}`));
  const add = (payload: string) => client.enqueue(queue, payload, { maxRetries: 2, retryBackoff: 'none' });
  const [permanent, snoozed, later, retried] =
    await Promise.all([add('permanent'), add('snoozed'), add('later'), add('retried')]);
  assert.equal((await client.wait(permanent.jobId)).state, 'dead');
  assert.equal(await client.result(snoozed.jobId), 'done');
  assert.equal(await client.result(later.jobId), 'done');
  assert.equal(await client.result(retried.jobId), 'done');
  assert.deepEqual(seen.filter((line) => line.startsWith('permanent')), ['permanent 1']);
  assert.deepEqual(seen.filter((line) => line.startsWith('snoozed')), ['snoozed 1', 'snoozed 1']);
  assert.deepEqual(seen.filter((line) => line.startsWith('retried')), ['retried 1', 'retried 2', 'retried 3']);
  assert.deepEqual(outcomes.filter((line) => !line.startsWith('retried')).sort(),
                   ['later retrying', 'permanent dead', 'snoozed snoozed']);
  const { errors } = await client.get(retried.jobId);
  assert.deepEqual(errors?.map(({ attempt, error }) => `${attempt} ${error}`), ['1 no 1', '2 no 2']);
  assert.match(errors?.[0]?.backtrace ?? '', /worker\.test/);
});

test('a job cancelled while it runs aborts its handler', async () => {
  const queue = newQueue('cancel');
  const started = deferred();
  const reason = deferred<unknown>();
  const worker = startWorker({
    queues: [queue], leaseSeconds: 1,
    handler: (_job, { signal }) => new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reason.resolve(signal.reason);
        reject(signal.reason);
      });
      started.resolve();
    }),
  });
  const lost: string[] = [];
  worker.on('lost', (job) => lost.push(job.jobId));
  const { jobId } = await client.enqueue(queue);
  await started.promise;
  await client.cancel(jobId);
  assert.ok((await reason.promise) instanceof JobLostError);
  assert.equal((await client.wait(jobId)).state, 'cancelled');
  assert.deepEqual(lost, [jobId]);
});

test('a worker that was away too long cannot finish what another has', async () => {
  const queue = newQueue('fenced');
  const { jobId } = await client.enqueue(queue);
  const [stale] = await client.fetchJobs({ queues: [queue], workerId: 'gone', leaseDuration: 1 });
  const [fresh] = await client.fetchJobs({ queues: [queue], workerId: 'next', wait: 30 });
  assert.equal(fresh?.jobId, jobId);
  assert.notEqual(fresh?.leaseToken, stale?.leaseToken);
  const failures = await client.ack([{ jobId, leaseToken: stale!.leaseToken, result: 'stale' }]);
  assert.deepEqual(failures.map(({ code }) => code), ['LEASE_LOST']);
  assert.deepEqual(await client.ack([{ jobId, leaseToken: fresh!.leaseToken, result: 'fresh' }]), []);
  assert.equal(await client.result(jobId), 'fresh');
});

test('a checkpoint outlives its attempt', async () => {
  const queue = newQueue('checkpoint');
  startWorker({
    queues: [queue],
    handler: async (job, context) => {
      if (job.checkpoint) return job.checkpoint;
      context.checkpoint({ done: 40 });
      await context.flush();
      throw new Error('crash');
    },
  });
  const { jobId } = await client.enqueue(queue, {}, { maxRetries: 1, retryBackoff: 'none' });
  assert.deepEqual(await client.result(jobId), { done: 40 });
});

test('a worker that stops finishes what it has and takes nothing more', async () => {
  const queue = newQueue('stop');
  const started = deferred();
  const worker = startWorker({
    queues: [queue], concurrency: 1,
    handler: async () => {
      started.resolve();
      await new Promise((resolve) => setTimeout(resolve, 200));
      return 'finished';
    },
  });
  const { jobIds } = await client.enqueueBatch([{ queue }, { queue }]);
  await started.promise;
  await worker.stop();
  assert.equal(worker.active, 0);
  const states = (await client.getMany(jobIds)).map(({ state }) => state).sort();
  assert.deepEqual(states, ['completed', 'pending']);
});

test('what does not finish in time goes back to its queue, the attempt uncounted', async () => {
  const queue = newQueue('patience');
  const reason = deferred<unknown>();
  const started = deferred();
  const worker = startWorker({
    queues: [queue], leaseSeconds: 600,
    handler: (_job, { signal }) => new Promise(() => {
      signal.addEventListener('abort', () => reason.resolve(signal.reason));
      started.resolve();
    }),
  });
  const { jobId } = await client.enqueue(queue);
  await started.promise;
  await worker.stop({ timeoutMs: 50 });
  assert.ok((await reason.promise) instanceof ShutdownError);
  const [again] = await client.fetchJobs({ queues: [queue], workerId: 'next', wait: 30 });
  assert.equal(again?.jobId, jobId);
  assert.equal(again?.attempt, 1);
});

test('an idle worker stops at once, and no job is lost by it', async () => {
  const queue = newQueue('idle');
  const worker = new Worker(client, { queues: [queue], waitSeconds: 60, leaseSeconds: 600, handler: () => {} });
  worker.start();
  await eventually(async () => (await client.workers()).some(({ id }) => id === worker.workerId));
  await worker.stop();
  await client.enqueue(queue);
  assert.equal((await client.fetchJobs({ queues: [queue], workerId: 'next', wait: 30 })).length, 1);
});
