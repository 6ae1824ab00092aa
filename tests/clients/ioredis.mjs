// ioredis against a server, which is emptied: node ioredis.mjs HOST:PORT
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { address, eventually, load } from './support.mjs';

const { Redis } = load('ioredis');
const clients = [];

function connect(options = {}) {
  const client = new Redis({ ...address, ...options });
  clients.push(client);
  return client;
}

const redis = connect();
const blockedClients = async () =>
  Number(/blocked_clients:(\d+)/.exec(await redis.info('clients'))[1]) > 0;

beforeEach(() => redis.flushall());
after(() => clients.forEach((client) => client.disconnect()));

test('strings, with numbers, buffers and expiry', async () => {
  assert.equal(await redis.set('k', 'v', 'EX', 100, 'NX'), 'OK');
  assert.equal(await redis.set('k', 'w', 'NX'), null);
  assert.equal(await redis.get('k'), 'v');
  assert.ok((await redis.pttl('k')) > 0);
  assert.equal(await redis.incrby('n', 5), 5);
  assert.equal(await redis.incrbyfloat('f', 1.5), '1.5');
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  await redis.set('bytes', bytes);
  assert.deepEqual(await redis.getBuffer('bytes'), bytes);
  assert.equal(await redis.mset(new Map([['a', '1'], ['b', '2']])), 'OK');
  assert.deepEqual(await redis.mget('a', 'b', 'c'), ['1', '2', null]);
});

test('hashes, lists, sets and sorted sets', async () => {
  assert.equal(await redis.hset('h', { a: 1, b: 'two' }), 2);
  assert.deepEqual(await redis.hgetall('h'), { a: '1', b: 'two' });
  assert.equal(await redis.hincrby('h', 'a', 4), 5);
  assert.equal(await redis.rpush('l', 1, 2, 3), 3);
  assert.deepEqual(await redis.lrange('l', 0, -1), ['1', '2', '3']);
  assert.equal(await redis.lmove('l', 'm', 'LEFT', 'RIGHT'), '1');
  assert.equal(await redis.sadd('s', 'x', 'y'), 2);
  assert.deepEqual((await redis.smembers('s')).sort(), ['x', 'y']);
  assert.equal(await redis.zadd('z', 1, 'one', 2.5, 'two'), 2);
  assert.deepEqual(await redis.zrange('z', 0, -1, 'WITHSCORES'), ['one', '1', 'two', '2.5']);
  assert.deepEqual(await redis.zrangebyscore('z', '(1', '+inf'), ['two']);
  assert.deepEqual(await redis.zpopmax('z'), ['two', '2.5']);
});

test('pipelines and transactions', async () => {
  const pipeline = redis.pipeline();
  for (let i = 0; i < 5000; ++i) pipeline.incr('n');
  const replies = await pipeline.exec();
  assert.deepEqual(replies[4999], [null, 5000]);
  assert.deepEqual(await redis.multi().set('a', 1).incr('a').get('a').exec(),
                   [[null, 'OK'], [null, 2], [null, '2']]);
  const failed = await redis.multi().set('t', 'x').lpush('t', 1).set('u', 'y').exec();
  assert.match(failed[1][0].message, /^WRONGTYPE/);
  assert.equal(await redis.get('u'), 'y');
  await assert.rejects(redis.multi().set('a').exec(), /EXECABORT/);

  const watcher = connect();
  await watcher.watch('a');
  await redis.set('a', 'changed');
  assert.equal(await watcher.multi().set('a', 'mine').exec(), null);
  assert.equal(await redis.get('a'), 'changed');
});

test('automatic pipelining', async () => {
  const automatic = connect({ enableAutoPipelining: true });
  const written = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => automatic.set(`k${i}`, i)));
  assert.ok(written.every((reply) => reply === 'OK'));
  const read = await Promise.all(Array.from({ length: 1000 }, (_, i) => automatic.get(`k${i}`)));
  assert.deepEqual(read, Array.from({ length: 1000 }, (_, i) => String(i)));
});

test('commands defined by scripts', async () => {
  const client = connect({ keyPrefix: 'app:' });
  client.defineCommand('addTo', {
    numberOfKeys: 1,
    lua: `local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
          return {KEYS[1], sum, cjson.encode({sum = sum}), false}`,
  });
  assert.deepEqual(await client.addTo('n', 5), ['app:n', 5, '{"sum":5}', null]);
  await redis.script('FLUSH');
  assert.equal((await client.addTo('n', 5))[1], 10);  // EVALSHA, NOSCRIPT, EVAL
  const replies = await client.pipeline().addTo('n', 1).get('n').exec();
  assert.equal(replies[1][1], '11');
  const sha = await redis.script('LOAD', 'return ARGV[1]');
  assert.equal(await redis.evalsha(sha, 0, 'x'), 'x');
  assert.deepEqual(await redis.script('EXISTS', sha, '0'.repeat(40)), [1, 0]);
  await assert.rejects(redis.evalsha('0'.repeat(40), 0), /NOSCRIPT/);
  await assert.rejects(redis.eval("return redis.error_reply('MINE so')", 0), /MINE so/);
});

test('publish and subscribe', async () => {
  const subscriber = connect();
  const messages = [];
  subscriber.on('message', (channel, text) => messages.push(`${channel}: ${text}`));
  subscriber.on('pmessage', (pattern, channel, text) =>
    messages.push(`${pattern} ${channel}: ${text}`));
  assert.equal(await subscriber.subscribe('news', 'sport'), 2);
  assert.equal(await subscriber.psubscribe('ne*'), 3);
  assert.equal(await redis.publish('news', 'hello'), 2);
  assert.equal(await redis.publish('sport', 'goal'), 1);
  await eventually(() => messages.length === 3);
  assert.deepEqual(messages, ['news: hello', 'ne* news: hello', 'sport: goal']);
  assert.equal(await subscriber.unsubscribe('news', 'sport'), 1);
  assert.equal(await subscriber.punsubscribe('ne*'), 0);
  assert.equal(await subscriber.echo('still there'), 'still there');
});

test('streams, with groups and blocking reads', async () => {
  const first = await redis.xadd('s', '*', 'f', '1');
  await redis.xgroup('CREATE', 's', 'g', '0');
  assert.deepEqual(await redis.xreadgroup('GROUP', 'g', 'c', 'COUNT', 10, 'STREAMS', 's', '>'),
                   [['s', [[first, ['f', '1']]]]]);
  assert.equal((await redis.xpending('s', 'g'))[0], 1);
  assert.equal(await redis.xack('s', 'g', first), 1);

  const reader = connect();
  const plain = reader.xread('BLOCK', 0, 'STREAMS', 's', '$');
  await eventually(blockedClients);
  const second = await redis.xadd('s', '*', 'f', '2');
  assert.deepEqual(await plain, [['s', [[second, ['f', '2']]]]]);
  assert.equal((await reader.xreadgroup('GROUP', 'g', 'c', 'STREAMS', 's', '>'))[0][1].length, 1);
  const group = reader.xreadgroup('GROUP', 'g', 'c', 'BLOCK', 0, 'STREAMS', 's', '>');
  await eventually(blockedClients);
  const third = await redis.xadd('s', '*', 'f', '3');
  assert.deepEqual(await group, [['s', [[third, ['f', '3']]]]]);
  assert.equal(await reader.xread('BLOCK', 1, 'STREAMS', 's', '$'), null);
});

test('blocking pops are served in the order of arrival', async () => {
  const served = [];
  const waits = [];
  for (let i = 0; i < 3; ++i) {
    const client = connect();
    waits.push(client.blpop('q', 0).then(([, value]) => served.push([i, value])));
    await eventually(async () => new RegExp(`blocked_clients:${i + 1}\\b`)
      .test(await redis.info('clients')));
  }
  await redis.rpush('q', 'a', 'b', 'c');
  await Promise.all(waits);
  assert.deepEqual(served.sort(), [[0, 'a'], [1, 'b'], [2, 'c']]);
});

test('scan streams', async () => {
  const pipeline = redis.pipeline();
  for (let i = 0; i < 2000; ++i) pipeline.set(`key:${i}`, i).hset('h', `f${i}`, i);
  await pipeline.exec();
  const keys = new Set();
  for await (const some of redis.scanStream({ match: 'key:*', count: 100 })) {
    some.forEach((key) => keys.add(key));
  }
  assert.equal(keys.size, 2000);
  let fields = 0;
  for await (const some of redis.hscanStream('h', { count: 100 })) fields += some.length / 2;
  assert.equal(fields, 2000);
});

test('errors', async () => {
  await redis.set('text', 'abc');
  await assert.rejects(redis.lpush('text', 1), { name: 'ReplyError', message: /^WRONGTYPE/ });
  await assert.rejects(redis.call('NOSUCH', 'x'), /unknown command 'NOSUCH'/);
  await assert.rejects(redis.call('GET'), /wrong number of arguments for 'get' command/);
});

test('databases, names and monitors', async () => {
  const third = connect({ db: 3, connectionName: 'tester' });
  await third.set('k', 'three');
  assert.equal(await redis.get('k'), null);
  assert.equal(await third.client('GETNAME'), 'tester');
  const monitor = await redis.monitor();
  clients.push(monitor);
  const seen = new Promise((resolve) => {
    monitor.on('monitor', (time, args) => args[1] === 'watched' && resolve(args));
  });
  await redis.set('watched', 'x');
  assert.deepEqual((await seen).map(String), ['set', 'watched', 'x']);
});

test('a cache that hears of changes on a second connection', async () => {
  const messages = connect();
  const id = await messages.client('ID');
  const cache = new Map();
  messages.on('message', (channel, keys) => {
    if (channel === '__redis__:invalidate') String(keys).split(',').forEach((key) => cache.delete(key));
  });
  await messages.subscribe('__redis__:invalidate');
  const reader = connect();
  assert.equal(await reader.client('TRACKING', 'ON', 'REDIRECT', id, 'NOLOOP'), 'OK');
  assert.equal(await reader.client('GETREDIR'), id);
  const read = async (key) => {
    if (!cache.has(key)) cache.set(key, await reader.get(key));
    return cache.get(key);
  };
  await redis.mset('a', '1', 'b', '1');
  assert.deepEqual([await read('a'), await read('b'), cache.size], ['1', '1', 2]);
  await redis.incr('a');
  await eventually(() => !cache.has('a'));
  assert.deepEqual([await read('a'), await read('b')], ['2', '1']);
  await reader.set('a', 'own');  // the reader knows
  await redis.del('b');
  await eventually(() => !cache.has('b'));
  assert.ok(cache.has('a'));
  assert.equal(await reader.client('TRACKING', 'OFF'), 'OK');
});

test('a killed connection comes back with its subscriptions', async () => {
  const subscriber = connect({ retryStrategy: () => 1 });
  const messages = [];
  subscriber.on('message', (channel, text) => messages.push(text));
  const id = await subscriber.client('ID');
  await subscriber.subscribe('news');
  const back = new Promise((resolve) => subscriber.once('ready', resolve));
  assert.equal(await redis.client('KILL', 'ID', id), 1);
  await back;
  await eventually(async () => (await redis.publish('news', 'again')) === 1);
  await eventually(() => messages.includes('again'));
});
