// BullMQ, unchanged, at real work against a server, which is emptied: node bullmq.mjs HOST:PORT
// Delays are short, but nothing here depends on how long anything takes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { address, eventually, load } from './support.mjs';

const { FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } = load('bullmq');
const { Redis } = load('ioredis');
const connection = { ...address, maxRetriesPerRequest: null };
const ALL_STATES = ['active', 'completed', 'delayed', 'failed', 'paused', 'prioritized', 'waiting',
                    'waiting-children'];
const LONG_MS = 3_600_000;
const open = [];

function opened(thing) {
  open.push(thing);
  thing.on('error', () => {});  // connections that end while a worker closes
  return thing;
}

const makeQueue = (name, options) => opened(new Queue(name, { connection, ...options }));
const makeWorker = (queue, processor, options) =>
  opened(new Worker(queue.name, processor, { connection, ...options }));

/** All events of a queue, also those from before it listens. */
const makeEvents = (queue) =>
  opened(new QueueEvents(queue.name, { connection, lastEventId: '0' }));

/** Waits until the queue's counts, of all states, are exactly these; those not named are 0. */
async function awaitCounts(queue, expected) {
  let counts;
  try {
    await eventually(async () => {
      counts = await queue.getJobCounts(...ALL_STATES);
      return ALL_STATES.every((state) => counts[state] === (expected[state] ?? 0));
    });
  } catch (error) {
    const [is, wanted] = [counts, expected].map((some) => JSON.stringify(some));
    throw new Error(`${queue.name}: ${is} and not ${wanted}`, { cause: error });
  }
}

before(async () => {
  const redis = new Redis(address);
  await redis.flushall();
  await redis.quit();
});
after(() => Promise.all(open.map((thing) => thing.close())));

test('many jobs, each processed once by one of several workers', async () => {
  const queue = makeQueue('many');
  const runs = new Map();
  const square = async (job) => {
    runs.set(job.data.n, (runs.get(job.data.n) ?? 0) + 1);
    return job.data.n ** 2;
  };
  makeWorker(queue, square, { concurrency: 10 });
  makeWorker(queue, square, { concurrency: 10 });
  const jobs = await queue.addBulk(
    Array.from({ length: 300 }, (_, n) => ({ name: 'square', data: { n } })));
  for (let n = 300; n < 350; ++n) jobs.push(await queue.add('square', { n }));
  await awaitCounts(queue, { completed: 350 });
  assert.equal(runs.size, 350);
  assert.ok([...runs.values()].every((count) => count === 1));
  assert.equal((await queue.getJob(jobs[17].id)).returnvalue, 289);
  assert.equal((await queue.getJobs(['completed'], 0, -1)).length, 350);
});

test('results, progress and logs reach whoever waits for them', async () => {
  const queue = makeQueue('events');
  const events = makeEvents(queue);
  const seen = [];
  for (const name of ['added', 'waiting', 'active', 'progress', 'completed', 'failed']) {
    events.on(name, ({ jobId }) => seen.push(`${name} ${jobId}`));
  }
  makeWorker(queue, async (job) => {
    await job.updateProgress(50);
    await job.log('half way');
    if (job.data.fail) throw new Error('as asked');
    return { doubled: job.data.n * 2 };
  });
  const good = await queue.add('good', { n: 21 }, { jobId: 'good' });
  assert.deepEqual(await good.waitUntilFinished(events), { doubled: 42 });
  const bad = await queue.add('bad', { fail: true }, { jobId: 'bad' });
  await assert.rejects(bad.waitUntilFinished(events), /as asked/);
  await eventually(() => seen.includes('failed bad'));
  assert.deepEqual(seen, [
    'added good', 'waiting good', 'active good', 'progress good', 'completed good',
    'added bad', 'waiting bad', 'active bad', 'progress bad', 'failed bad']);
  assert.deepEqual(await queue.getJobLogs('good'), { logs: ['half way'], count: 1 });
  await awaitCounts(queue, { completed: 1, failed: 1 });
});

test('delayed jobs', async () => {
  const queue = makeQueue('delayed');
  const order = [];
  const later = await queue.add('later', {}, { delay: LONG_MS });
  await queue.addBulk([30, 10, 20].map((delay) => ({ name: `${delay}`, opts: { delay } })));
  assert.equal(await later.getState(), 'delayed');
  makeWorker(queue, async (job) => void order.push(job.name));
  await awaitCounts(queue, { completed: 3, delayed: 1 });
  assert.deepEqual(order.sort(), ['10', '20', '30']);
  await later.changeDelay(1);
  await awaitCounts(queue, { completed: 4 });
  const promoted = await queue.add('promoted', {}, { delay: LONG_MS });
  await promoted.promote();
  await awaitCounts(queue, { completed: 5 });
});

test('retries with backoff', async () => {
  const queue = makeQueue('retries');
  const attempts = {};
  makeWorker(queue, async (job) => {
    attempts[job.name] = (attempts[job.name] ?? 0) + 1;
    if (job.name === 'hopeless') throw new UnrecoverableError('never');
    if (attempts[job.name] < job.data.succeedsAt) throw new Error(`attempt ${attempts[job.name]}`);
  });
  const exponential = { attempts: 3, backoff: { type: 'exponential', delay: 5 } };
  const fixed = { attempts: 2, backoff: { type: 'fixed', delay: 5 } };
  await queue.add('third time', { succeedsAt: 3 }, exponential);
  const failing = await queue.add('too late', { succeedsAt: 4 }, fixed);
  await queue.add('hopeless', {}, exponential);
  await awaitCounts(queue, { completed: 1, failed: 2 });
  assert.deepEqual(attempts, { 'third time': 3, 'too late': 2, hopeless: 1 });
  const failed = await queue.getJob(failing.id);
  assert.equal(failed.failedReason, 'attempt 2');
  assert.equal(failed.attemptsMade, 2);
  await failed.retry();
  await eventually(() => attempts['too late'] >= 3);
  await awaitCounts(queue, { completed: 1, failed: 2 });
  await (await queue.getJob(failing.id)).retry();
  await awaitCounts(queue, { completed: 2, failed: 1 });
});

test('priorities, and last in first out', async () => {
  const queue = makeQueue('priorities');
  const order = [];
  for (const priority of [3, 1, 2, 1]) await queue.add(`p${priority}`, {}, { priority });
  await queue.add('plain');
  await queue.add('lifo', {}, { lifo: true });
  const changed = await queue.add('changed', {}, { priority: 9 });
  await changed.changePriority({ priority: 1 });
  assert.deepEqual(await queue.getCountsPerPriority([0, 1, 2, 3, 9]),
                   { 0: 2, 1: 3, 2: 1, 3: 1, 9: 0 });
  makeWorker(queue, async (job) => void order.push(job.name));
  await awaitCounts(queue, { completed: 7 });
  assert.deepEqual(order, ['lifo', 'plain', 'p1', 'p1', 'changed', 'p2', 'p3']);
});

test('a rate limit holds jobs back', async () => {
  const queue = makeQueue('limited');
  await queue.addBulk(Array.from({ length: 8 }, (_, n) => ({ name: `${n}` })));
  makeWorker(queue, async () => {},
             { limiter: { max: 5, duration: LONG_MS }, maximumRateLimitDelay: 20 });
  await awaitCounts(queue, { completed: 5, waiting: 3 });
  assert.ok((await queue.getRateLimitTtl(5)) > 0);
  await queue.removeRateLimitKey();
  await awaitCounts(queue, { completed: 8 });
});

test('a rate limit that passes by itself', async () => {
  const queue = makeQueue('limited-shortly');
  await queue.addBulk(Array.from({ length: 12 }, (_, n) => ({ name: `${n}` })));
  makeWorker(queue, async () => {}, { limiter: { max: 4, duration: 50 } });
  await awaitCounts(queue, { completed: 12 });
});

test('job schedulers', async () => {
  const queue = makeQueue('scheduled');
  const names = [];
  makeWorker(queue, async (job) => void names.push(job.name));
  await queue.upsertJobScheduler('often', { every: 20, limit: 3 }, { name: 'tick' });
  await queue.upsertJobScheduler('yearly', { pattern: '0 0 1 1 *' }, { name: 'party' });
  await eventually(() => names.length === 3);
  await awaitCounts(queue, { completed: 3, delayed: 1 });
  assert.deepEqual(names, ['tick', 'tick', 'tick']);
  const yearly = await queue.getJobScheduler('yearly');
  assert.equal(yearly.pattern, '0 0 1 1 *');
  assert.equal(await queue.removeJobScheduler('yearly'), true);
  await queue.removeJobScheduler('often');
  assert.equal(await queue.getJobSchedulersCount(), 0);
  await awaitCounts(queue, { completed: 3 });
});

test('flows: a parent runs after its children, with their results', async () => {
  const [parents, children] = [makeQueue('parents'), makeQueue('children')];
  const flows = opened(new FlowProducer({ connection }));
  const child = (name, data, opts) => ({ name, data, opts, queueName: 'children' });
  const sum = await flows.add({
    name: 'sum', queueName: 'parents',
    children: [
      ...[1, 2, 3].map((value) => child(`child ${value}`, { value })),
      { name: 'sum', queueName: 'parents', children: [child('grandchild', { value: 10 })] },
    ],
  });
  const doomed = await flows.add({
    name: 'sum', queueName: 'parents',
    children: [child('broken', { fail: true }, { failParentOnFailure: true })],
  });
  await awaitCounts(parents, { 'waiting-children': 3 });
  await awaitCounts(children, { waiting: 5 });
  makeWorker(parents, async (job) => {
    const values = Object.values(await job.getChildrenValues());
    return values.reduce((total, value) => total + value, 0);
  });
  makeWorker(children, async (job) => {
    if (job.data.fail) throw new Error('broken');
    return job.data.value;
  }, { concurrency: 3 });
  await awaitCounts(children, { completed: 4, failed: 1 });
  await awaitCounts(parents, { completed: 2, failed: 1 });
  assert.equal((await parents.getJob(sum.job.id)).returnvalue, 16);
  assert.equal(await doomed.job.getState(), 'failed');
  const tree = await flows.getFlow({ id: sum.job.id, queueName: 'parents' });
  assert.equal(tree.children.length, 4);
});

test('pause and resume', async () => {
  const queue = makeQueue('paused');
  const events = makeEvents(queue);
  const seen = [];
  events.on('paused', () => seen.push('paused'));
  events.on('resumed', () => seen.push('resumed'));
  const worker = makeWorker(queue, async () => {});
  await worker.waitUntilReady();
  await queue.pause();
  assert.equal(await queue.isPaused(), true);
  await queue.addBulk(Array.from({ length: 5 }, (_, n) => ({ name: `${n}` })));
  await queue.add('first', {}, { priority: 1 });
  await awaitCounts(queue, { paused: 5, prioritized: 1 });
  await queue.resume();
  await awaitCounts(queue, { completed: 6 });
  await eventually(() => seen.length === 2);
  assert.deepEqual(seen, ['paused', 'resumed']);
});

test('the same job is added once', async () => {
  const queue = makeQueue('once');
  await queue.add('a', { n: 1 }, { jobId: 'same' });
  await queue.add('b', { n: 2 }, { jobId: 'same' });
  const first = await queue.add('c', {}, { deduplication: { id: 'd' } });
  const second = await queue.add('c', {}, { deduplication: { id: 'd' } });
  assert.equal(second.id, first.id);
  assert.equal(await queue.getDeduplicationJobId('d'), first.id);
  assert.equal((await queue.getJob('same')).name, 'a');
  await awaitCounts(queue, { waiting: 2 });
});

test('removal, cleaning and draining', async () => {
  const queue = makeQueue('removal');
  const jobs = await queue.addBulk(
    Array.from({ length: 20 }, (_, n) => ({ name: n < 12 ? 'good' : 'bad' })));
  await jobs[0].remove();
  await queue.remove(jobs[1].id);
  await awaitCounts(queue, { waiting: 18 });
  const worker = makeWorker(queue, async (job) => {
    if (job.name === 'bad') throw new Error('bad');
  });
  await awaitCounts(queue, { completed: 10, failed: 8 });
  await queue.add('good', {}, { removeOnComplete: true });
  await queue.add('bad', {}, { removeOnFail: { count: 4 } });
  await awaitCounts(queue, { completed: 10, failed: 4 });
  await worker.close();
  assert.equal((await queue.clean(0, 6, 'completed')).length, 6);
  assert.equal((await queue.clean(0, 100, 'failed')).length, 4);
  await queue.add('waits');
  await queue.add('waits longer', {}, { delay: LONG_MS });
  await awaitCounts(queue, { completed: 4, waiting: 1, delayed: 1 });
  await queue.drain();
  await awaitCounts(queue, { completed: 4, delayed: 1 });
  await queue.drain(true);
  await awaitCounts(queue, { completed: 4 });
  await queue.obliterate({ force: true });
  await awaitCounts(queue, {});
});

test('a job of a worker that vanished is taken up by another', async () => {
  const queue = makeQueue('stalled');
  await queue.add('left behind');
  const vanished = makeWorker(queue, null, { lockDuration: 20 });
  const job = await vanished.getNextJob('token of the vanished');
  assert.equal(job.name, 'left behind');
  const done = [];
  const worker = makeWorker(queue, async (again) => void done.push(again.id),
                            { stalledInterval: 30 });
  const stalled = [];
  worker.on('stalled', (id) => stalled.push(id));
  await awaitCounts(queue, { completed: 1 });
  assert.deepEqual(done, [job.id]);
  assert.deepEqual(stalled, [job.id]);
  await assert.rejects(job.moveToCompleted('late', 'token of the vanished', false));
});

test('no more than the global concurrency at once', async () => {
  const queue = makeQueue('global');
  await queue.setGlobalConcurrency(2);
  let [active, most] = [0, 0];
  const processor = async (job) => {
    most = Math.max(most, ++active);
    await job.updateProgress(1);
    --active;
  };
  makeWorker(queue, processor, { concurrency: 5 });
  makeWorker(queue, processor, { concurrency: 5 });
  await queue.addBulk(Array.from({ length: 40 }, (_, n) => ({ name: `${n}` })));
  await awaitCounts(queue, { completed: 40 });
  assert.ok(most <= 2, `${most} at once`);
});
