// node-redis against a server, which is emptied, over RESP2 and RESP3: node node_redis.mjs HOST:PORT
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { address, eventually, load } from './support.mjs';

const { BasicClientSideCache, BasicPooledClientSideCache, createClient, createClientPool,
        defineScript, RESP_TYPES, WatchError } = load('redis');
const clients = [];

const addTo = defineScript({
  SCRIPT: `local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
           return {KEYS[1], sum}`,
  NUMBER_OF_KEYS: 1,
  parseCommand(parser, key, by) {
    parser.pushKey(key);
    parser.push(String(by));
  },
  transformReply: (reply) => reply,
});

for (const RESP of [2, 3]) {
  describe(`RESP${RESP}`, () => {
    let redis;

    async function connect(options = {}) {
      const client = createClient({ socket: address, RESP, scripts: { addTo }, ...options });
      client.on('error', () => {});  // a command that fails says so itself
      clients.push(client);
      return client.connect();
    }

    const blockedClients = async () => /blocked_clients:[1-9]/.test(await redis.info('clients'));

    beforeEach(async () => {
      redis ??= await connect();
      await redis.flushAll();
    });

    test('strings, numbers and buffers', async () => {
      assert.equal(await redis.set('k', 'v', { expiration: { type: 'EX', value: 100 } }), 'OK');
      assert.equal(await redis.set('k', 'w', { condition: 'NX' }), null);
      assert.equal(await redis.get('k'), 'v');
      assert.equal(await redis.incrBy('n', 5), 5);
      assert.deepEqual(await redis.mGet(['k', 'n', 'none']), ['v', '5', null]);
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
      await redis.set('bytes', bytes);
      const buffers = redis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
      assert.deepEqual(await buffers.get('bytes'), bytes);
    });

    test('hashes, lists, sets and sorted sets', async () => {
      assert.equal(await redis.hSet('h', { a: 1, b: 'two' }), 2);
      assert.deepEqual({ ...(await redis.hGetAll('h')) }, { a: '1', b: 'two' });
      assert.equal(await redis.rPush('l', ['1', '2', '3']), 3);
      assert.deepEqual(await redis.lRange('l', 0, -1), ['1', '2', '3']);
      assert.equal(await redis.sAdd('s', ['x', 'y']), 2);
      assert.deepEqual([...(await redis.sMembers('s'))].sort(), ['x', 'y']);
      assert.equal(await redis.zAdd('z', [{ score: 1, value: 'a' }, { score: 2.5, value: 'b' }]), 2);
      assert.deepEqual((await redis.zRangeWithScores('z', 0, -1)).map((row) => ({ ...row })),
                       [{ value: 'a', score: 1 }, { value: 'b', score: 2.5 }]);
      assert.equal(await redis.zScore('z', 'b'), 2.5);
      assert.deepEqual({ ...(await redis.zPopMin('z')) }, { value: 'a', score: 1 });
      assert.equal(await redis.zIncrBy('z', Infinity, 'b'), Infinity);
    });

    test('commands of one turn are pipelined', async () => {
      const replies = await Promise.all(Array.from({ length: 5000 }, () => redis.incr('n')));
      assert.deepEqual(replies, Array.from({ length: 5000 }, (_, i) => i + 1));
    });

    test('transactions', async () => {
      assert.deepEqual(await redis.multi().set('a', '1').incr('a').get('a').exec(), ['OK', 2, '2']);
      await redis.watch('a');
      const other = await connect();
      await other.set('a', 'changed');
      await assert.rejects(redis.multi().set('a', 'mine').exec(), WatchError);
      assert.equal(await redis.get('a'), 'changed');
      await assert.rejects(redis.multi().lPush('a', '1').exec(), (error) =>
        /^WRONGTYPE/.test(error.replies[0].message));
    });

    test('scripts', async () => {
      assert.deepEqual(await redis.addTo('n', 5), ['n', 5]);
      await redis.scriptFlush();
      assert.deepEqual(await redis.addTo('n', 5), ['n', 10]);
      assert.deepEqual(await redis.multi().addTo('n', 1).get('n').exec(), [['n', 11], '11']);
      const sha = await redis.scriptLoad('return ARGV[1]');
      assert.equal(await redis.evalSha(sha, { arguments: ['x'] }), 'x');
      await assert.rejects(redis.evalSha('0'.repeat(40)), /NOSCRIPT/);
      await redis.functionLoad(`#!lua name=lib
        redis.register_function('twice', function(keys, args) return args[1] * 2 end)`,
                               { REPLACE: true });
      assert.equal(await redis.fCall('twice', { keys: [], arguments: ['21'] }), 42);
    });

    test('publish and subscribe', async () => {
      const subscriber = await connect();
      const messages = [];
      await subscriber.subscribe('news', (text, channel) => messages.push(`${channel}: ${text}`));
      await subscriber.pSubscribe('n*', (text, channel) => messages.push(`n* ${channel}: ${text}`));
      await subscriber.sSubscribe('shard', (text) => messages.push(`shard: ${text}`));
      assert.equal(await redis.publish('news', 'hello'), 2);
      assert.equal(await redis.sPublish('shard', 'part'), 1);
      await eventually(() => messages.length === 3);
      assert.deepEqual(messages, ['news: hello', 'n* news: hello', 'shard: part']);
      if (RESP === 3) assert.equal(await subscriber.echo('while subscribed'), 'while subscribed');
      await subscriber.unsubscribe('news');
      await subscriber.pUnsubscribe('n*');
      await subscriber.sUnsubscribe('shard');
      assert.equal(String(await subscriber.echo('still there')), 'still there');
    });

    test('streams, with groups and blocking reads', async () => {
      const first = await redis.xAdd('s', '*', { f: '1' });
      await redis.xGroupCreate('s', 'g', '0');
      const group = (client, options) => client.xReadGroup('g', 'c', { key: 's', id: '>' }, options);
      // Over RESP3 the client hands out what the server sent: a map of arrays.
      const ids = (reply) => RESP === 3 ? reply.s.map(([id]) => id)
                                        : reply[0].messages.map((message) => message.id);
      assert.deepEqual(ids(await group(redis)), [first]);
      assert.equal((await redis.xPending('s', 'g')).pending, 1);
      assert.equal(await redis.xAck('s', 'g', first), 1);
      const reader = await connect();
      const waiting = group(reader, { BLOCK: 0 });
      await eventually(blockedClients);
      const second = await redis.xAdd('s', '*', { f: '2' });
      assert.deepEqual(ids(await waiting), [second]);
      assert.equal(await group(reader, { BLOCK: 1 }), null);
      assert.equal((await redis.xInfoStream('s')).length, 2);
      const claimed = await redis.xAutoClaim('s', 'g', 'd', 0, '0-0');
      assert.deepEqual(claimed.messages.map((message) => message.id), [second]);
    });

    test('JSON', async () => {
      const document = { n: 1, f: 1.5, s: 'text', a: [1, 'two', null], o: { n: 10 } };
      assert.equal(await redis.json.set('doc', '$', document), 'OK');
      assert.deepEqual(await redis.json.get('doc'), document);
      assert.deepEqual(await redis.json.get('doc', { path: '$.a' }), [document.a]);
      assert.equal(await redis.json.get('none'), null);
      assert.deepEqual(await redis.json.mGet(['doc', 'none'], '$.s'), [['text'], null]);
      // Numbers come in an array, whichever the path; what is none is null.
      assert.deepEqual(await redis.json.numIncrBy('doc', '$.n', 2), [3]);
      assert.deepEqual(await redis.json.numIncrBy('doc', '$..n', 1), [4, 11]);
      assert.deepEqual(await redis.json.numIncrBy('doc', '$.s', 1), [null]);
      assert.deepEqual(await redis.json.numIncrBy('doc', '$.nosuch', 1), []);
      assert.deepEqual(await redis.json.numMultBy('doc', '$.f', 2), [3]);
      assert.deepEqual(await redis.json.numMultBy('doc', '$.f', 0.5), [1.5]);
      assert.deepEqual(await redis.json.numIncrBy('doc', '.n', 1), RESP === 3 ? [5] : 5);
      // RESP3 has the types of each path in an array of their own, of which the client shows one.
      assert.equal(await redis.json.type('doc'), 'object');
      assert.deepEqual(await redis.json.type('doc', { path: '$..n' }), ['integer', 'integer']);
      assert.equal(await redis.json.type('none'), null);
      const send = (...args) => redis.sendCommand(args);
      assert.deepEqual(await send('JSON.TYPE', 'none'), RESP === 3 ? [null] : null);
      assert.deepEqual(await send('JSON.RESP', 'doc', '$.a'), [['[', 1, 'two', null]]);
      assert.deepEqual(await send('JSON.RESP', 'doc', '.f'), RESP === 3 ? 1.5 : '1.5');
      assert.equal(await send('JSON.RESP', 'none'), null);
      assert.deepEqual(await redis.json.objKeys('doc', { path: '$.o' }), [['n']]);
      assert.deepEqual(await redis.json.strLen('doc', { path: '$..s' }), [4]);
      assert.deepEqual(await redis.json.arrPop('doc', { path: '$.a' }), [null]);
      assert.deepEqual(await redis.json.arrAppend('doc', '$.a', true), [3]);
      assert.equal(await redis.json.del('doc', { path: '$.a' }), 1);
    });

    test('blocking pops', async () => {
      const popper = await connect();
      const list = popper.blPop('q', 0);
      await eventually(blockedClients);
      await redis.multi().rPush('q', 'job').set('other', '1').exec();
      assert.deepEqual({ ...(await list) }, { key: 'q', element: 'job' });
      const zset = popper.bzPopMin('z', 0);
      await eventually(blockedClients);
      await redis.zAdd('z', { score: 3, value: 'm' });
      assert.deepEqual({ ...(await zset) }, { key: 'z', value: 'm', score: 3 });
    });

    test('iterators', async () => {
      await Promise.all(Array.from({ length: 2000 }, (_, i) => redis.set(`key:${i}`, String(i))));
      const keys = new Set();
      for await (const some of redis.scanIterator({ MATCH: 'key:*', COUNT: 100 })) {
        some.forEach((key) => keys.add(key));
      }
      assert.equal(keys.size, 2000);
    });

    test('a pool of connections', async () => {
      const pool = createClientPool({ socket: address, RESP }, { maximum: 5 });
      await pool.connect();
      await Promise.all(Array.from({ length: 200 }, () => pool.incr('n')));
      assert.equal(await pool.get('n'), '200');
      pool.destroy();
    });

    test('errors', async () => {
      await redis.set('text', 'abc');
      await assert.rejects(redis.lPush('text', '1'), /WRONGTYPE/);
      await assert.rejects(redis.incr('text'), /value is not an integer or out of range/);
      await assert.rejects(redis.sendCommand(['NOSUCH']), /unknown command 'NOSUCH'/);
    });

    if (RESP === 3) {
      test('replies have the types of RESP3', async () => {
        await redis.hSet('h', 'f', 'v');
        await redis.sAdd('s', 'm');
        await redis.zAdd('z', { score: 1.5, value: 'm' });
        const typeMapping = { [RESP_TYPES.MAP]: Map, [RESP_TYPES.SET]: Set };
        const send = (...args) => redis.sendCommand(args, { typeMapping });
        assert.deepEqual(await send('HGETALL', 'h'), new Map([['f', 'v']]));
        assert.deepEqual(await send('SMEMBERS', 's'), new Set(['m']));
        assert.equal(await send('ZSCORE', 'z', 'm'), 1.5);
        assert.equal(await send('EVAL', 'redis.setresp(3); return true', '0'), true);
        assert.equal((await send('HELLO')).get('proto'), 3);
      });

      test('a cache on the client\'s side', async () => {
        const clientSideCache = new BasicClientSideCache({ maxEntries: 1000 });
        const cached = await connect({ clientSideCache });
        await redis.mSet({ k: '1', other: '1' });
        await redis.hSet('h', 'f', '1');
        for (let i = 0; i < 10; ++i) {
          assert.equal(await cached.get('k'), '1');
          assert.equal(await cached.hGet('h', 'f'), '1');
          assert.deepEqual(await cached.mGet(['k', 'other']), ['1', '1']);
        }
        assert.equal(clientSideCache.stats().missCount, 3);
        assert.equal(clientSideCache.stats().hitCount, 27);
        await redis.set('other', '2');
        await redis.hIncrBy('h', 'f', 1);
        await redis.eval('redis.call("incr", KEYS[1])', { keys: ['k'] });
        await eventually(() => clientSideCache.size() === 0);
        assert.equal(await cached.get('k'), '2');
        assert.equal(await cached.hGet('h', 'f'), '2');
        assert.deepEqual(await cached.mGet(['k', 'other']), ['2', '2']);
        await redis.flushAll();
        await eventually(() => clientSideCache.size() === 0);
        assert.equal(await cached.get('k'), null);
        await cached.set('k', 'own');
        await eventually(() => clientSideCache.size() === 0);
        assert.equal(await cached.get('k'), 'own');
        await redis.pExpire('k', 1);
        await eventually(async () => (await cached.get('k')) === null);
      });

      test('caches of a pool keep up with what others write', async () => {
        const clientSideCache = new BasicPooledClientSideCache({ maxEntries: 1000 });
        const pool = createClientPool({ socket: address, RESP }, { maximum: 3, clientSideCache });
        await pool.connect();
        const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
        for (let round = 1; round <= 50; ++round) {
          const reads = Array.from({ length: 30 }, (_, i) => pool.get(keys[i % keys.length]));
          await Promise.all(keys.map((key) => redis.set(key, String(round))));
          await Promise.all(reads);
        }
        await eventually(async () =>
          (await Promise.all(keys.map((key) => pool.get(key)))).every((value) => value === '50'));
        pool.destroy();
      });

      test('messages about keys under a prefix', async () => {
        const listener = await connect({ emitInvalidate: true });
        const keys = [];
        listener.on('invalidate', (key) => keys.push(String(key)));
        await listener.sendCommand(['CLIENT', 'TRACKING', 'OFF']);
        await listener.sendCommand(['CLIENT', 'TRACKING', 'ON', 'BCAST', 'PREFIX', 'user:']);
        await redis.mSet({ 'user:1': 'a', 'user:2': 'b', 'item:1': 'c' });
        await eventually(() => keys.length === 2);
        assert.deepEqual(keys, ['user:1', 'user:2']);
      });
    }
  });
}

after(() => clients.forEach((client) => client.isOpen && client.destroy()));
