// The tests run against a real server: CAIRN_URL=http://127.0.0.1:8080 node --test dist/test/
import { after } from 'node:test';
import { Client, Worker, type WorkerOptions } from '../src/index.js';

export const url = process.env['CAIRN_URL'] ?? 'http://127.0.0.1:8080';
export const client = new Client({ url });

let made = 0;
/** A queue that no other test, and no other run, uses. */
export const newQueue = (name: string) => `${name}-${process.pid}-${Date.now()}-${++made}`;

const started: Worker[] = [];
after(() => Promise.all(started.map((worker) => worker.stop({ timeoutMs: 0 }))));

export function startWorker(options: WorkerOptions): Worker {
  const worker = new Worker(client, options);
  started.push(worker);
  worker.start();
  return worker;
}

/** A promise and what settles it. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => { resolve = settle; });
  return { promise, resolve };
}

const LIMIT_MS = 60_000;

/** Calls `look` until it returns something true. */
export async function eventually<T>(look: () => Promise<T> | T): Promise<T> {
  const deadline = Date.now() + LIMIT_MS;
  while (true) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${look}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
