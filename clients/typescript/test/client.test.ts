import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CairnError, Client, JobFailedError, WaitTimeoutError } from '../src/index.js';
import { client, newQueue, startWorker, url } from './support.js';

const refused = (status: number, code: string) => (error: unknown) =>
  error instanceof CairnError && error.status === status && error.code === code;

test('a job is there with all that was said about it', async () => {
  const queue = newQueue('options');
  const { jobId, status } = await client.enqueue(queue, { to: 'ann', nested: { snake_case: 1, camelCase: 2 } }, {
    priority: 'high', maxRetries: 7, retryBackoff: 'fixed', retryBaseDelay: 1500, delay: '1h', expireAfter: '2h',
    tags: { tenant: 'a_b' }, uniqueKey: 'k1',
  });
  assert.equal(status, 'scheduled');
  const job = await client.get(jobId);
  assert.deepEqual(job.payload, { to: 'ann', nested: { snake_case: 1, camelCase: 2 } });
  assert.equal(job.queue, queue);
  assert.equal(job.state, 'scheduled');
  assert.equal(job.maxRetries, 7);
  assert.equal(job['retryBaseDelayMs'], 1500);
  assert.equal(job.uniqueKey, 'k1');
  assert.deepEqual(job.tags, { tenant: 'a_b' });
  const twice = await client.enqueue(queue, {}, { uniqueKey: 'k1' });
  assert.deepEqual(twice, { jobId, status: 'duplicate', uniqueExisting: true });
});

test('payloads of any kind come back as they were', async () => {
  const queue = newQueue('payloads');
  for (const payload of [null, true, 0, -1.5, 'text "quoted" \u{1F600}', [], [1, [2]], { a: { b: null } }]) {
    const { jobId } = await client.enqueue(queue, payload);
    assert.deepEqual((await client.get(jobId)).payload, payload);
  }
});

test('the same idempotency key is the same job', async () => {
  const queue = newQueue('idempotent');
  const first = await client.enqueue(queue, 1, { idempotencyKey: `${queue}-key` });
  const second = await client.enqueue(queue, 1, { idempotencyKey: `${queue}-key` });
  assert.equal(second.jobId, first.jobId);
});

test('several jobs are added together or not at all', async () => {
  const queue = newQueue('together');
  const { jobIds } = await client.enqueueBatch([1, 2, 3].map((n) => ({ queue, payload: { n } })));
  assert.deepEqual((await client.getMany(jobIds)).map((job) => job.payload.n), [1, 2, 3]);
  await assert.rejects(
    client.enqueueBatch([{ queue, payload: 4 }, { queue: '', payload: 5 }]), CairnError);
  const info = (await client.queues.list()).find(({ name }) => name === queue);
  assert.equal(info?.pending, 3);
});

test('what is wrong is told by its code', async () => {
  await assert.rejects(client.get('job_none'), refused(404, 'NOT_FOUND'));
  await assert.rejects(client.enqueue(newQueue('bad'), {}, { colour: 'red' } as object),
                       refused(400, 'VALIDATION_ERROR'));
  await assert.rejects(client.enqueue(newQueue('big'), 'x'.repeat(300_000)), refused(413, 'PAYLOAD_TOO_LARGE'));
});

test('a result is waited for', async () => {
  const queue = newQueue('result');
  const { jobId } = await client.enqueue(queue, { n: 6 });
  await assert.rejects(client.result(jobId, { timeoutMs: 0 }), WaitTimeoutError);
  const waiting = client.result<{ square: number }>(jobId);
  startWorker({ queues: [queue], handler: (job) => ({ square: job.payload.n ** 2 }) });
  assert.deepEqual(await waiting, { square: 36 });
  assert.equal((await client.wait(jobId)).state, 'completed');
});

test('a job that ends otherwise is told to who waits', async () => {
  const queue = newQueue('cancelled');
  const { jobId } = await client.enqueue(queue);
  const waiting = client.result(jobId);
  assert.equal(await client.cancel(jobId), 'cancelled');
  await assert.rejects(waiting, (error) => error instanceof JobFailedError && error.job.state === 'cancelled');
});

test('jobs are held, approved, rejected, moved, retried and deleted', async () => {
  const queue = newQueue('changes');
  const stateOf = async (id: string) => (await client.get(id)).state;
  const { jobId } = await client.enqueue(queue);
  await client.hold(jobId);
  assert.equal(await stateOf(jobId), 'held');
  await client.approve(jobId);
  assert.equal(await stateOf(jobId), 'pending');
  await client.hold(jobId);
  await client.reject(jobId);
  assert.equal(await stateOf(jobId), 'dead');
  await client.retry(jobId);
  assert.equal(await stateOf(jobId), 'pending');
  await client.move(jobId, `${queue}-other`);
  assert.equal((await client.get(jobId)).queue, `${queue}-other`);
  await client.delete(jobId);
  await assert.rejects(client.get(jobId), refused(404, 'NOT_FOUND'));
});

test('queues are paused, resumed, limited, drained, cleared and deleted', async () => {
  const queue = newQueue('admin');
  const info = async () => (await client.queues.list()).find(({ name }) => name === queue);
  await client.enqueueBatch([{ queue }, { queue, delay: '1h' }, { queue, priority: 'critical' }]);
  await client.queues.pause(queue);
  assert.equal((await info())?.paused, true);
  assert.deepEqual(await client.fetchJobs({ queues: [queue], workerId: 'w' }), []);
  await client.queues.resume(queue);
  await client.queues.limitConcurrency(queue, 1);
  const [job] = await client.fetchJobs({ queues: [queue], workerId: 'w', count: 3 });
  assert.ok(job);
  assert.equal((await info())?.maxConcurrency, 1);
  assert.deepEqual(await client.fetchJobs({ queues: [queue], workerId: 'w', count: 3 }), []);
  assert.equal(await client.queues.drain(queue, 0), false);
  assert.deepEqual(await client.ack([{ jobId: job.jobId, leaseToken: job.leaseToken }]), []);
  assert.equal(await client.queues.drain(queue, 10), true);
  await client.queues.throttle(queue, { rate: 5, windowMs: 1000 });
  assert.equal((await info())?.rateLimit, 5);
  await client.queues.throttle(queue, undefined);
  await client.queues.clear(queue);
  const cleared = await info();
  assert.deepEqual([cleared?.pending, cleared?.scheduled, cleared?.completed], [0, 0, 1]);
  await client.queues.delete(queue);
  assert.equal(await info(), undefined);
});

test('a batch grows, is sealed, and calls back with its totals', async () => {
  const queue = newQueue('batch');
  const batch = await client.batches.open({ callbackQueue: `${queue}-done`, callbackPayload: { for: 'report' } });
  await client.batches.add(batch.id, [{ queue, payload: 1 }, { queue, payload: 2 }]);
  await client.enqueue(queue, 3, { batchId: batch.id });
  startWorker({ queues: [queue], handler: () => 'ok' });
  await client.batches.seal(batch.id);
  const callback = await new Promise<any>((resolve) => {
    startWorker({ queues: [`${queue}-done`], handler: (job) => resolve(job.payload) });
  });
  assert.equal(callback.for, 'report');
  const done = await client.batches.get(batch.id);
  assert.deepEqual([done.total, done.pending, done.succeeded], [3, 0, 3]);
});

test('a request that got no answer is sent again under the same key', async () => {
  const queue = newQueue('again');
  let broken = 2;
  const keys: string[] = [];
  const shaky = new Client({
    url,
    fetch: async (input, init) => {
      keys.push(JSON.parse(String(init!.body)).idempotency_key);
      const response = await fetch(input, init);
      if (broken-- > 0) throw new TypeError('fetch failed', { cause: new Error('socket hang up') });
      return response;
    },
  });
  const { jobId } = await shaky.enqueue(queue, { once: true });
  assert.equal(new Set(keys).size, 1);
  assert.equal(keys.length, 3);
  const fetched = await client.fetchJobs({ queues: [queue], workerId: 'w', count: 10 });
  assert.deepEqual(fetched.map((job) => job.jobId), [jobId]);
});
