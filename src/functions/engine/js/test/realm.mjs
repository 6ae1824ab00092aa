// A bare JavaScript realm inside node with the runtime's globals and a host made of node's own means:
// nothing of node's web interfaces is seen inside, so tests see ours.

import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { domainToASCII } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import vm from 'node:vm';

const FOLDER = new URL('..', import.meta.url);

// The rows of manifest.txt: [{kind, words}].
export function readManifest() {
  const lines = readFileSync(new URL('manifest.txt', FOLDER), 'utf8').split('\n');
  return lines
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [kind, ...words] = line.split(/\s+/);
      return { kind, words };
    });
}

export const readChunk = (name) => readFileSync(new URL(name, FOLDER), 'utf8');

// A realm whose server is `call(op, args)` => value or promise of it. `log` collects [level, text].
// Time stands still at `clock.now` until `advance(ms)`, which fires what is due.
export class Realm {
  log = [];
  clock = { now: Date.UTC(2026, 0, 2, 3, 4, 5), start: 0 };
  #context = vm.createContext();
  #compiled = new Map();
  #instances = new Map();
  #names = new Map();
  #timers = new Map();
  #nextTimer = 1;
  #call;

  constructor(call = () => Promise.reject(new Error('no server'))) {
    this.#call = call;
    this.clock.start = this.clock.now;
    this.host = this.#makeHost();
    for (const { kind, words } of readManifest()) {
      if (kind === 'polyfill') {
        this.#instance(words[0]);
        continue;
      }
      this.#names.set(words[0], words.slice(1));
      if (kind === 'global') this.#defineLazily(words[0]);
    }
  }

  // The value of a script.
  run(source, filename = 'test.js') {
    return vm.runInContext(source, this.#context, { filename });
  }

  // What `name` of the manifest stands for.
  global(name) {
    const row = this.#names.get(name);
    if (!row) return this.run(name);
    const value = this.#instance(row[0]);
    return row[1] ? value[row[1]] : value;
  }

  // Lets promises settle, then moves the clock and fires timers in order of their time.
  async advance(ms) {
    const end = this.clock.now + ms;
    for (;;) {
      await settled();
      const [id, timer] = [...this.#timers].sort(([a, x], [b, y]) => x.due - y.due || a - b)[0] ?? [];
      if (!timer || timer.due > end) break;
      this.clock.now = Math.max(this.clock.now, timer.due);
      if (timer.every === null) {
        this.#timers.delete(id);
      } else {
        timer.due += timer.every;
      }
      timer.call();
    }
    this.clock.now = end;
    await settled();
  }

  get pendingTimers() {
    return this.#timers.size;
  }

  nextTimerDue() {
    return Math.min(...[...this.#timers.values()].map((timer) => timer.due));
  }

  #instance(chunk) {
    if (!this.#instances.has(chunk)) {
      this.#instances.set(chunk, this.run(readChunk(chunk), chunk)(this.host));
    }
    return this.#instances.get(chunk);
  }

  #defineLazily(name) {
    const target = this.run('globalThis');
    const define = (value) =>
      Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
    Object.defineProperty(target, name, {
      configurable: true,
      enumerable: false,
      get: () => {
        const value = this.global(name);
        define(value);
        return value;
      },
      set: define,
    });
  }

  #makeHost() {
    const inside = this.run('({ Uint8Array, Error, TypeError, Promise })');
    const bytesInside = (bytes) => inside.Uint8Array.from(bytes);
    const sha = (name) => name.replace('-', '').toLowerCase();
    const translate = (run) => {
      try {
        return run();
      } catch (error) {
        throw new inside.TypeError(error.message);
      }
    };
    return this.run('(object) => Object.assign({}, object)')({
      call: (op, args) =>
        new inside.Promise((resolve, reject) => {
          Promise.resolve()
            .then(() => this.#call(op, JSON.parse(args)))
            .then(
              (value) => resolve(JSON.stringify(value ?? {})),
              (error) => reject(new inside.Error(error.message)),
            );
        }),
      log: (level, text) => {
        this.log.push([level, text]);
        this.onLog?.([level, text]);
      },
      setTimer: (call, delay, repeat) => {
        const id = this.#nextTimer++;
        this.#timers.set(id, { call, due: this.clock.now + delay, every: repeat ? delay : null });
        return id;
      },
      clearTimer: (id) => {
        this.#timers.delete(id);
      },
      watch: (idle, end) => {
        this.watcher = { idle, end };
      },
      leave: (type, message) => {
        this.left = type === undefined ? 'left' : `${type}: ${message}`;
        throw new inside.Error('the run has been left');
      },
      queueMicrotask: (call) => {
        inside.Promise.resolve().then(call);
      },
      randomBytes: (n) => bytesInside(randomBytes(n)),
      digest: (name, data) => bytesInside(createHash(sha(name)).update(data).digest()),
      hmac: (name, key, data) => bytesInside(createHmac(sha(name), key).update(data).digest()),
      utf8Encode: (text) => bytesInside(new TextEncoder().encode(text)),
      utf8Decode: (bytes, fatal, ignoreBOM) =>
        translate(() => new TextDecoder('utf-8', { fatal, ignoreBOM }).decode(bytes)),
      // Node's would take what follows one of these for a path or a port.
      domainToASCII: (domain) => (/[/?#@:\\]/.test(domain) ? null : domainToASCII(domain) || null),
      structuredClone: (value) => {
        let bytes;
        try {
          bytes = serialize(value);
        } catch (error) {
          if (!error.message.includes('could not be cloned')) throw error;
          throw Object.assign(new inside.Error(error.message), { name: 'DataCloneError' });
        }
        return deserialize(bytes);
      },
      nowMs: () => this.clock.now,
      monotonicMs: () => this.clock.now - this.clock.start,
      global: (name) => this.global(name),
    });
  }
}

// Until every promise that can settle without a timer has.
export const settled = () => new Promise((resolve) => setImmediate(resolve));
