'use strict';
// A server that keeps a history, as the real one does: answers of steps.… by what it has.
function serve({ records = [], due = [], waits = [] } = {}) {
  const asked = [];
  server.answer = (op, args) => {
    asked.push([op, args]);
    if (op === 'steps.load') return { records, due };
    if (op === 'steps.wait') return waits.shift() ?? { leave: true };
    return {};
  };
  return asked;
}
const begin = (recorded = false) =>
  server.context({ deadline_ms: Date.now() + 1e12, env: {}, ref: { alias: 'live' }, ...(recorded ? { recorded_steps: true } : {}) });
const done = (position, seq, value, more = {}) =>
  ({ position, seq, kind: 'step', name: `s${position}`, state: 'done', attempts: 1, value, ...more });

test('a step says what it has come to, and its value is what JSON keeps of it', async () => {
  const asked = serve();
  const ctx = begin();
  check.equal(await ctx.step('a', () => ({ when: new Date(5), gone: undefined })), { when: '1970-01-01T00:00:00.005Z' });
  check.equal(await ctx.step('b', () => {}), undefined);
  check.equal(asked.map(([op, { duration_ms: _, ...args }]) => [op, args]), [
    ['steps.done', { position: 0, name: 'a', attempt: 1, value: { when: '1970-01-01T00:00:00.005Z' } }],
    ['steps.done', { position: 1, name: 'b', attempt: 1 }],
  ]);
  check.equal(Object.keys(ctx).includes('step'), false);
});

test('calls of cs belong to the open step', async () => {
  const asked = serve();
  const ctx = begin();
  await cs.kv.set('k', 1);
  await ctx.step('a', () => cs.kv.set('k', 2));
  await ctx.step('b', async ({ cs: own }) => { await own.kv.get('k'); });
  await cs.kv.set('k', 3);
  check.equal(asked.filter(([op]) => op.startsWith('kv')).map(([, { step }]) => step), [undefined, 0, 1, undefined]);
});

test('with several open steps the global cs is refused, and that of a step that has ended too', async () => {
  serve();
  const ctx = begin();
  let kept;
  const [, refusal] = await ctx.all([
    ctx.step('a', async ({ cs: own }) => { kept = own; await own.kv.set('k', 1); }),
    ctx.step('b', async () => {
      try { await cs.kv.set('k', 1); } catch (error) { return error.message; }
      return 'nothing';
    }),
  ]);
  check.match(refusal, /"a", "b" are open/);
  await check.rejects(kept.kv.set('k', 1), 'Error', /the step "a" has ended/);
});

test('a replay settles in the order of the records, each with what follows from it', async () => {
  serve({ records: [done(0, 1, 'A'), done(1, 0, 'B'), done(2, 2, 'after B'), done(3, 3, 'after A')] });
  const ctx = begin(true);
  const order = [];
  const branch = async (at, next) => {
    order.push(await ctx.step(`s${at}`, () => check.ok(false)));
    order.push(await ctx.step(`s${next}`, () => check.ok(false)));
  };
  await ctx.all([branch(0, 3), branch(1, 2)]);
  check.equal(order, ['B', 'A', 'after B', 'after A']);
});

test('what is not recorded runs, and waits for the replay before it goes on', async () => {
  const asked = serve({ records: [done(1, 0, 'B')] });
  const ctx = begin(true);
  check.equal(await ctx.all([ctx.step('s0', () => 'A'), ctx.step('s1', () => 'not again')]), ['A', 'B']);
  check.equal(asked.filter(([op]) => op === 'steps.done').map(([, { position }]) => position), [0]);
});

test('a recorded failure is thrown again as it was', async () => {
  serve({ records: [done(0, 0, undefined, { state: 'failed', error: { type: 'RangeError', message: 'no', stack: 'at x' } })] });
  const error = await check.rejects(begin(true).step('s0', () => 1), 'RangeError', /^no$/);
  check.equal(error.stack, 'at x');
});

test('an idle run asks for what has ended, and is left if nothing has', async () => {
  const asked = serve({ waits: [{ records: [{ position: 0, seq: 0, kind: 'event', name: 'e', state: 'done', value: 7 }] }] });
  const ctx = begin();
  const heard = ctx.waitForEvent('e', { timeout: 50 });
  await Promise.resolve();
  check.equal(server.idle(), true);
  check.equal(await heard, 7);
  check.equal(asked[0], ['steps.start', { position: 0, kind: 'event', name: 'e', delay_ms: 50 }]);
  check.equal(server.idle(), false);
});

test('a step that fails is tried again when the server says so', async () => {
  const retrying = { position: 0, kind: 'step', name: 'a', state: 'retrying', attempts: 1 };
  const asked = serve({ waits: [{ records: [retrying] }] });
  const ctx = begin();
  let runs = 0;
  const result = ctx.step('a', () => {
    if (++runs === 1) throw new Error('once');
    return runs;
  }, { retries: 1, backoff: { initialMs: 10, factor: 2 } });
  while (asked.length === 0) await Promise.resolve();
  for (let i = 0; i < 20; i++) await Promise.resolve();
  check.equal(asked[0][1].retry_ms, 10);
  check.equal(server.idle(), true);
  check.equal(await result, 2);
});

test('mistakes are named', async () => {
  const asked = serve();
  const ctx = begin();
  for (const [run, pattern] of [
    [() => ctx.step('', () => 1), /the name must be a string/],
    [() => ctx.step('é'.repeat(65), () => 1), /up to 128 bytes/],
    [() => ctx.step('a', 1), /must be a function/],
    [() => ctx.step('a', () => 1, { retries: -1 }), /from 0 to 100/],
    [() => ctx.sleep(Infinity), /from 0 to/],
    [() => ctx.sleep('someday'), /not a date/],
    [() => ctx.waitForEvent('e', { timeout: '5' }), /timeout/],
    [() => ctx.invoke('f', undefined, 0) && ctx.invoke(7), /must be an object/],
    [() => ctx.invoke('f', () => 1), /cannot be written as JSON/],
  ]) {
    check.throws(run, 'TypeError', pattern);
  }
  check.equal(asked.filter(([op]) => op === 'steps.done'), []);
});

test('code that does not fit its history is left with an error', async () => {
  serve({ records: [done(0, 0, 1)] });
  const ctx = begin(true);
  ctx.step('other', () => 1);
  for (let i = 0; i < 20; i++) await Promise.resolve();
  check.match(server.left(), /^StepMismatch: position 0: the function has the step "other" there, its history has the step "s0"/);
});
