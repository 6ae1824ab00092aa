'use strict';
const asked = [];
const answer = (reply) => {
  asked.length = 0;
  server.answer = (op, args) => {
    asked.push([op, args]);
    return reply;
  };
};

test('kv keeps JSON', async () => {
  answer({ value: { a: 1 } });
  check.equal(await cs.kv.get('k'), { a: 1 });
  answer({ value: null });
  check.equal(await cs.kv.get('missing'), null);
  await cs.kv.set('k', [1], { ttlSeconds: 5 });
  await cs.kv.set('k', null);
  answer({ deleted: true });
  check.equal(await cs.kv.del('k'), true);
  check.equal(asked, [['kv.del', { key: 'k' }]]);
});

test('kv.set says what it sends', async () => {
  answer({});
  await cs.kv.set('k', { a: 'é' }, { ttlSeconds: 60 });
  await cs.kv.set('k', 0);
  check.equal(asked, [['kv.set', { key: 'k', value: { a: 'é' }, ttl_seconds: 60 }], ['kv.set', { key: 'k', value: 0 }]]);
});

test('mistakes are named before anything is asked', async () => {
  answer({});
  const circle = {};
  circle.circle = circle;
  for (const [run, pattern] of [
    [() => cs.kv.get(), /cs\.kv\.get: the key must be a string/],
    [() => cs.kv.get(''), /not empty/],
    [() => cs.kv.set('k', undefined), /the value cannot be written as JSON: it is undefined/],
    [() => cs.kv.set('k', circle), /the value cannot be written as JSON/],
    [() => cs.kv.set('k', 1n), /cannot be written as JSON/],
    [() => cs.kv.set('k', 1, 5), /the options must be an object/],
    [() => cs.kv.set('k', 1, { ttlSeconds: 0 }), /ttlSeconds must be a whole number from 1/],
    [() => cs.codeq.publish(1, {}), /the topic must be a string/],
    [() => cs.codeq.publish('t', () => 1), /the payload cannot be written as JSON/],
    [() => cs.jobs.enqueue('q', {}, null), /the options must be an object/],
    [() => cs.http.fetch(), /the URL must be a string/],
    [() => cs.http.fetch('http://a', { timeoutMs: '1' }), /timeoutMs must be a whole number/],
    [() => cs.actors.call('t', 'i'), /the method must be a string/],
  ]) {
    await check.rejects(run(), 'TypeError', pattern);
  }
  check.equal(asked, []);
});

test('a refusal is an error with the words of the server', async () => {
  server.answer = () => { throw new Error('CS_RUNTIME_CAPABILITY_DENIED: no'); };
  await check.rejects(cs.kv.get('k'), 'Error', /CAPABILITY_DENIED/);
});

test('publish, enqueue, heartbeat and call', async () => {
  answer({ id: 'j1', status: 'queued', value: 7, cancelRequested: true });
  await cs.codeq.publish('topic', { a: 1 });
  check.equal((await cs.jobs.enqueue('q', [1], { priority: 3 })).id, 'j1');
  check.equal(await cs.cadence.heartbeat(), { cancelRequested: true });
  check.equal(await cs.actors.call('cart', '1', 'add', { x: 1 }), 7);
  check.equal(asked, [
    ['codeq.publish', { topic: 'topic', payload: { a: 1 } }],
    ['jobs.enqueue', { queue: 'q', payload: [1], options: { priority: 3 } }],
    ['cadence.heartbeat', { details: null }],
    ['actors.call', { type: 'cart', id: '1', method: 'add', argument: { x: 1 } }],
  ]);
});

test('http.fetch answers in the form of results', async () => {
  answer({ status: 404, headers: [['X-A', '1'], ['x-a', '2']], body: 'aGk=' });
  const reply = await cs.http.fetch('http://a', { method: 'POST', headers: { B: 'c' }, body: 'hi', timeoutMs: 50 });
  check.equal(reply, { status: 404, headers: { 'x-a': '1, 2' }, body: 'aGk=', isBase64Encoded: true });
  check.equal(asked[0][1], { url: 'http://a', method: 'POST', redirect: 'follow', timeoutMs: 50, body: 'aGk=',
    headers: [['b', 'c'], ['content-type', 'text/plain;charset=UTF-8']] });
});

test('log lines are JSON, whatever is logged', () => {
  const circle = { a: 1 };
  circle.circle = circle;
  cs.log.info({ a: 'x' });
  cs.log.warn('text');
  cs.log.error(circle);
  cs.log.debug(undefined);
  cs.log.info(1n);
  check.equal(server.log.map(([level, text]) => `${level} ${text}`), ['info {"a":"x"}', 'warn "text"',
    'error "{ a: 1, circle: [Circular] }"', 'debug "undefined"', 'info "1n"']);
});

test('cs cannot be changed by accident', () => {
  check.throws(() => { cs.kv = 1; }, 'TypeError');
  check.throws(() => { cs.kv.get = 1; }, 'TypeError');
});

test('ctx knows its deadline', async () => {
  const ctx = server.context({ tenant: 't', deadline_ms: Date.now() + 1e12, env: { A: 'b' } });
  check.ok(ctx.remainingMs() > 0);
  check.equal(ctx.signal.aborted, false);
  check.equal(JSON.parse(JSON.stringify(ctx)).env, { A: 'b' });
  check.throws(() => { ctx.env.A = 'c'; }, 'TypeError');
  const late = server.context({ deadline_ms: 5, env: {} });
  check.equal(late.remainingMs(), 0);
  await new Promise((resolve) => late.signal.addEventListener('abort', resolve));
  check.equal(late.signal.reason.name, 'TimeoutError');
});
