// Our streams beside node's: random programs of reads, writes, closes, failures, cancels, pipes and transforms,
// run on both. What each of them tells, turn of the event loop by turn, must be the same.
//
//   node streams_differential.mjs [PROGRAMS [SEED]]

import { Realm, settled } from './realm.mjs';

const PROGRAMS = Number(process.argv[2] ?? 3000);
const SEED = Number(process.argv[3] ?? 1);
const ours = new Realm();

// mulberry32
function randomOf(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (n) => Math.floor(next() * n), chance: (p) => next() < p };
}

// A program: how its streams are made, and its steps: [name, number].
function makeProgram(seed) {
  const random = randomOf(seed);
  const kinds = ['source', 'sink', 'transform', 'pipe', 'tee', 'through'];
  const steps = {
    source: ['read', 'enqueue', 'close', 'error', 'cancel', 'release', 'next'],
    sink: ['write', 'closeWriter', 'abort', 'settle', 'fail', 'desired', 'release', 'errorSink'],
    transform: ['write', 'read', 'closeWriter', 'abort', 'cancel', 'terminate', 'errorTransform', 'desired'],
    pipe: ['enqueue', 'close', 'error', 'settle', 'fail', 'errorSink'],
    tee: ['read', 'read2', 'enqueue', 'close', 'error', 'cancel', 'cancel2'],
    through: ['enqueue', 'close', 'error', 'read', 'cancel'],
  };
  const kind = kinds[random.below(kinds.length)];
  const list = [];
  const count = 3 + random.below(12);
  for (let i = 0; i < count; i++) {
    const names = steps[kind];
    // What ends everything comes rarely, so that programs get somewhere.
    const name = names[random.below(names.length)];
    const ends = !['read', 'read2', 'enqueue', 'write', 'settle', 'desired', 'next'].includes(name);
    // What a pipe has read ahead inside a turn is open, so its programs go turn by turn.
    const pause = ['pipe', 'through', 'transform'].includes(kind) || random.chance(0.5);
    // Node's transforms fail an abort in the middle of which they end by themselves.
    const aborted = kind === 'transform' && name !== 'write' && list.some(([earlier]) => earlier === 'abort');
    if (!aborted && (!ends || random.chance(0.4))) list.push([name, random.below(100), pause]);
  }
  return { kind, list, mark: random.below(4), readMark: random.below(3), preventClose: random.chance(0.2),
    preventAbort: random.chance(0.2), preventCancel: random.chance(0.2), failAt: random.below(12) };
}

async function run(program, api) {
  const { ReadableStream, WritableStream, TransformStream, CountQueuingStrategy } = api;
  const log = [];
  const say = (text) => log.push(text);
  const show = (value) => (value?.name ? `${value.name}` : JSON.stringify(value));
  const follow = (name, promise) => promise.then(
    (value) => say(`${name} ${show(value?.done === undefined ? value : [value.value ?? null, value.done])}`),
    (error) => say(`${name} failed ${show(error)}`));
  const attempt = (name, call) => {
    try {
      const result = call();
      if (typeof result?.then === 'function') follow(name, result);
      else if (result !== undefined) say(`${name} ${show(result)}`);
    } catch (error) {
      // Node's writers and readers throw after the end, where the standard rejects.
      const rejects = { write: 'TypeError', cancel: show(error) }[name];
      say(rejects ? `${name} failed ${rejects}` : `${name} threw ${show(error)}`);
    }
  };
  const failure = (number) => Object.assign(new Error(String(number)), { name: `E${number}` });

  let controller;
  let sinkController;
  let transformController;
  const pending = [];
  const strategy = (mark) => new CountQueuingStrategy({ highWaterMark: mark });
  const source = () => new ReadableStream({
    start(c) { controller = c; },
    pull() { if (program.kind !== 'pipe' && program.kind !== 'through') say('pull'); },
    cancel(why) { say(`cancel ${show(why)}`); },
  }, strategy(program.mark));
  const sink = () => new WritableStream({
    start(c) { sinkController = c; },
    write(chunk) {
      say(`sink ${show(chunk)}`);
      return new api.Promise((resolve, reject) => pending.push({ resolve, reject }));
    },
    close() { say('sink closed'); },
    abort(why) { say(`sink aborted ${show(why)}`); },
  }, strategy(program.mark));
  const transform = () => {
    let count = 0;
    return new TransformStream({
      start(c) { transformController = c; },
      transform(chunk, c) {
        if (++count === program.failAt) throw failure(program.failAt);
        c.enqueue(chunk);
        if (chunk % 5 === 0) c.enqueue(-chunk);
      },
      flush(c) { c.enqueue('flushed'); },
    }, strategy(program.mark), strategy(program.readMark));
  };

  let reader = null;
  let reader2 = null;
  let writer = null;
  const options = { preventClose: program.preventClose, preventAbort: program.preventAbort,
    preventCancel: program.preventCancel };
  if (program.kind === 'source') reader = source().getReader();
  if (program.kind === 'sink') writer = sink().getWriter();
  if (program.kind === 'transform') {
    const pair = transform();
    reader = pair.readable.getReader();
    writer = pair.writable.getWriter();
  }
  // If both ends fail, node's pipe tells of the later one, and the standard of the first.
  if (program.kind === 'pipe') {
    source().pipeTo(sink(), options).then(() => say('piped'), () => say('pipe failed'));
  }
  if (program.kind === 'tee') [reader, reader2] = source().tee().map((one) => one.getReader());
  if (program.kind === 'through') reader = source().pipeThrough(transform()).getReader();
  if (reader) follow('reader closed', reader.closed);
  if (writer) follow('writer closed', writer.closed);

  const acts = {
    read: () => reader.read(),
    next: () => reader.read(),
    read2: () => reader2.read(),
    enqueue: (n) => controller.enqueue(n),
    close: () => controller.close(),
    error: (n) => controller.error(failure(n)),
    cancel: (n) => reader.cancel(failure(n)),
    cancel2: (n) => reader2.cancel(failure(n)),
    release: () => (reader ?? writer).releaseLock(),
    write: (n) => writer.write(n),
    closeWriter: () => writer.close(),
    abort: (n) => writer.abort(failure(n)),
    errorSink: (n) => sinkController.error(failure(n)),
    settle: () => pending.shift()?.resolve(),
    fail: (n) => pending.shift()?.reject(failure(n)),
    desired: () => [writer.desiredSize],
    terminate: () => transformController.terminate(),
    errorTransform: (n) => transformController.error(failure(n)),
  };
  for (const [name, number, pause] of program.list) {
    attempt(name, () => acts[name](number));
    if (!pause) continue;
    await settled();
    // Within a turn the standard leaves little open, but who hears first of two ends of a pipe is not told.
    say('.');
  }
  for (let i = 0; i < 30; i++) {
    pending.shift()?.resolve();
    await settled();
  }
  return log;
}

// The order inside a turn differs by how many promises an implementation puts between.
const byTurn = (log) => {
  const turns = [[]];
  for (const line of log) {
    if (line === '.') turns.push([]);
    else turns.at(-1).push(line);
  }
  return turns.map((turn) => turn.sort());
};

const NAMES = ['ReadableStream', 'WritableStream', 'TransformStream', 'CountQueuingStrategy', 'Promise'];
const inside = Object.fromEntries(NAMES.map((name) => [name, ours.run(name)]));
const outside = Object.fromEntries(NAMES.map((name) => [name, globalThis[name]]));
process.on('unhandledRejection', () => {});
let differ = 0;
for (let i = 0; i < PROGRAMS; i++) {
  const program = makeProgram(SEED * 1_000_003 + i);
  const [mine, theirs] = [await run(program, inside), await run(program, outside)].map(byTurn);
  if (JSON.stringify(mine) === JSON.stringify(theirs)) continue;
  if (++differ <= 8) console.error(`program ${i}: ${JSON.stringify(program)}\n  ours   ${JSON.stringify(mine)}\n  node's ${JSON.stringify(theirs)}`);
}
console.log(`${PROGRAMS} programs, ${differ} differ`);
process.exit(differ === 0 ? 0 : 1);
