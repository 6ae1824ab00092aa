// The peers of bench/jobs/run.py: does the work of one benchmark with BullMQ, pg-boss or graphile-worker
// and prints one line of JSON. Payloads and results are {}, as in Cairn's runs; each peer is set up for
// throughput as its documentation advises.
//
//   node peers.mjs bullmq redis://… --jobs 100000        enqueue, then fetch and acknowledge, then both
//   node peers.mjs pgboss postgres://… --jobs 100000
//   node peers.mjs graphile postgres://… --jobs 100000

import { createRequire } from "node:module";
import path from "node:path";
import { parseArgs } from "node:util";

const require = createRequire(path.join(process.env.BENCH_NPM, "package.json"));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: "string", default: "100000" },
    concurrency: { type: "string", default: "10" },
    batch: { type: "string", default: "64" },
  },
});
const [peerName, url] = positionals;
const jobs = Number(values.jobs);
const concurrency = Number(values.concurrency);
const batch = Number(values.batch);

// Every peer: open(), enqueue(count) for one batch, consume(total) that resolves when that many jobs have
// been completed, idleWake() that measures milliseconds from enqueue to start, left() of unfinished jobs.
class BullMq {
  async open() {
    const { Queue, Worker } = require("bullmq");
    const { hostname: host, port } = new URL(url);
    this.connection = { host, port: Number(port) };
    this.Worker = Worker;
    this.queue = new Queue("bench", { connection: this.connection });
    await this.queue.waitUntilReady();
  }
  enqueue(count) {
    const options = { removeOnComplete: true };
    return this.queue.addBulk(Array.from({ length: count }, () => ({ name: "job", data: {}, opts: options })));
  }
  async consume(total, onStart = () => {}) {
    let done = 0;
    let finish;
    const finished = new Promise((resolve) => { finish = resolve; });
    const worker = new this.Worker("bench", async () => { onStart(); return {}; },
      { connection: this.connection, concurrency: concurrency * batch });
    worker.on("completed", () => { if (++done === total) finish(); });
    await finished;
    await worker.close();
  }
  async left() {
    const counts = await this.queue.getJobCounts("wait", "active", "delayed", "failed");
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }
  close() { return this.queue.close(); }
}

class PgBossPeer {
  async open() {
    const PgBoss = require("pg-boss");
    this.boss = new PgBoss({ connectionString: url, max: concurrency, supervise: false, schedule: false });
    this.boss.on("error", (error) => { throw error; });
    await this.boss.start();
    await this.boss.createQueue("bench");
  }
  enqueue(count) {
    return this.boss.insert(Array.from({ length: count }, () => ({ name: "bench", data: {} })));
  }
  async consume(total, onStart = () => {}) {
    let done = 0;
    const one = async () => {
      while (done < total) {
        const fetched = await this.boss.fetch("bench", { batchSize: batch });
        if (fetched.length === 0) {
          await new Promise((resolve) => setTimeout(resolve, 5));
          continue;
        }
        fetched.forEach(onStart);
        await this.boss.complete("bench", fetched.map((job) => job.id));
        done += fetched.length;
      }
    };
    await Promise.all(Array.from({ length: concurrency }, one));
  }
  async left() { return this.boss.getQueueSize("bench"); }
  close() { return this.boss.stop({ graceful: false }); }
}

class Graphile {
  async open() {
    const { makeWorkerUtils, run, Logger } = require("graphile-worker");
    this.run = run;
    this.logger = new Logger(() => () => {});
    this.pool = new (require("pg").Pool)({ connectionString: url, max: concurrency + 10 });
    this.pool.on("error", () => {});
    this.utils = await makeWorkerUtils({ pgPool: this.pool, logger: this.logger });
    await this.utils.migrate();
  }
  enqueue(count) {
    return this.utils.addJobs(Array.from({ length: count }, () => ({ identifier: "job", payload: {} })));
  }
  async consume(total, onStart = () => {}) {
    let done = 0;
    let finish;
    const finished = new Promise((resolve) => { finish = resolve; });
    const runner = await this.run({
      pgPool: this.pool, logger: this.logger, noHandleSignals: true,
      taskList: { job: async () => { onStart(); } },
      preset: { worker: { concurrentJobs: concurrency * batch, localQueue: { size: concurrency * batch },
                          completeJobBatchDelay: 0, failJobBatchDelay: 0, pollInterval: 2000 } },
    });
    runner.events.on("job:success", () => { if (++done === total) finish(); });
    await finished;
    await runner.stop();
  }
  async left() {
    const { rows } = await this.pool.query("select count(*)::int as count from graphile_worker.jobs");
    return rows[0].count;
  }
  async close() { await this.utils.release(); await this.pool.end(); }
}

async function enqueueAll(peer, total) {
  const latencies = [];
  let left = total;
  const one = async () => {
    while (left > 0) {
      const count = Math.min(batch, left);
      left -= count;
      const start = performance.now();
      await peer.enqueue(count);
      latencies.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, one));
  return latencies;
}

async function timed(work) {
  const start = performance.now();
  const result = await work();
  return [(performance.now() - start) / 1000, result];
}

function quantile(values, part) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

// A waiting worker, and one job after the other: milliseconds until each has begun.
async function idleWake(peer, rounds) {
  const samples = [];
  let started = () => {};
  const consumer = peer.consume(rounds, () => started());
  await new Promise((resolve) => setTimeout(resolve, 1000));
  for (let i = 0; i < rounds; ++i) {
    const begun = new Promise((resolve) => { started = () => resolve(performance.now()); });
    const start = performance.now();
    await peer.enqueue(1);
    samples.push(await begun - start);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await consumer;
  return samples;
}

const peer = new { bullmq: BullMq, pgboss: PgBossPeer, graphile: Graphile }[peerName]();
await peer.open();
const result = {};
await enqueueAll(peer, batch);  // warms up
await peer.consume(batch);

const [enqueueSeconds, latencies] = await timed(() => enqueueAll(peer, jobs));
result.enqueue = { per_second: jobs / enqueueSeconds, p50_ms: quantile(latencies, 0.5),
                   p99_ms: quantile(latencies, 0.99) };
const [lifecycleSeconds] = await timed(() => peer.consume(jobs));
result.lifecycle = { per_second: jobs / lifecycleSeconds };
const [combinedSeconds] = await timed(() => Promise.all([enqueueAll(peer, jobs), peer.consume(jobs)]));
result.combined = { per_second: jobs / combinedSeconds };
const wakes = await idleWake(peer, 50);
result.wake = { p50_ms: quantile(wakes, 0.5), p99_ms: quantile(wakes, 0.99) };
result.left = await peer.left();
await peer.close();
console.log(JSON.stringify(result));
process.exit(0);
