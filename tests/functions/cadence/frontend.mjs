// A frontend of Cadence for tests: its gRPC API by an implementation of gRPC that is not ours, or the JSON API of
// code-flow; and beside it a port on which a test schedules activities and looks at what has come of them.
//
//   node frontend.mjs PACKAGES STATE TRANSPORT PORT LONG_POLL_MS
//
// PACKAGES is where npm has installed what package.json names; STATE the file of matching.mjs; TRANSPORT grpc or
// json; PORT 0 or the port that it had before. Prints "PORT CONTROL_PORT" once it serves.
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import { BadToken, Matching, NotExists } from './matching.mjs';

const [packages, state, transport, port, longPoll] = process.argv.slice(2);
const longPollMs = Number(longPoll);
const matching = new Matching(state);
const broken = []; // calls that are to fail next: {method, status}
const seen = {}; // the metadata of the last call, by method

const shallFail = (method) => {
  const at = broken.findIndex((one) => one.method === method);
  return at < 0 ? undefined : broken.splice(at, 1)[0].status;
};

// --- gRPC --------------------------------------------------------------------------------------------------

async function serveGrpc() {
  const require = createRequire(resolve(packages, 'package.json'));
  const grpc = require('@grpc/grpc-js');
  const loader = require('@grpc/proto-loader');
  const proto = fileURLToPath(new URL('frontend.proto', import.meta.url));
  const { uber } = grpc.loadPackageDefinition(loader.loadSync(proto, { keepCase: true, longs: Number, defaults: true }));
  const none = Buffer.alloc(0);
  const fault = (code, details) => Object.assign(new Error(details), { code, details });

  const unary = (method, handle) => async (call, callback) => {
    seen[method] = call.metadata.getMap();
    const status = shallFail(method);
    if (status !== undefined) return callback(fault(status, 'this was asked for: 100% of it'));
    // As YARPC's servers do.
    for (const [header, value] of [['rpc-caller', undefined], ['rpc-service', 'cadence-frontend'], ['rpc-encoding', 'proto']]) {
      const got = call.metadata.get(header)[0];
      if (got === undefined || (value !== undefined && got !== value)) {
        return callback(fault(grpc.status.INVALID_ARGUMENT, `missing or wrong ${header}`));
      }
    }
    try {
      return callback(null, await handle(call.request, call));
    } catch (error) {
      if (error instanceof NotExists) return callback(fault(grpc.status.NOT_FOUND, error.message));
      if (error instanceof BadToken) return callback(fault(grpc.status.INVALID_ARGUMENT, error.message));
      return callback(fault(grpc.status.INTERNAL, error.message));
    }
  };

  const server = new grpc.Server();
  server.addService(uber.cadence.api.v1.WorkerAPI.service, {
    PollForActivityTask: unary('PollForActivityTask', async (request, call) => {
      const task = await matching.poll(
        { domain: request.domain, tasklist: request.task_list.name, identity: request.identity },
        { longPollMs, gone: () => call.cancelled });
      if (task === undefined) return {};
      const seconds = Math.floor(Date.now() / 1000);
      return {
        task_token: task.token,
        workflow_execution: { workflow_id: `wf-${task.id}`, run_id: 'run-1' },
        activity_id: task.id,
        activity_type: { name: task.type },
        input: { data: Buffer.from(task.input, 'base64') },
        scheduled_time: { seconds, nanos: 1 },
        started_time: { seconds, nanos: 2 },
        start_to_close_timeout: { seconds: Math.ceil(task.timeoutMs / 1000), nanos: 0 },
        heartbeat_timeout: { seconds: 30, nanos: 0 },
        attempt: task.attempt,
        workflow_type: { name: 'Orders' },
        workflow_domain: task.domain,
        header: { fields: { tracing: { data: Buffer.from('x') } } },
      };
    }),
    RespondActivityTaskCompleted: unary('RespondActivityTaskCompleted', ({ task_token, result }) => {
      matching.complete(task_token, result?.data ?? none);
      return {};
    }),
    RespondActivityTaskFailed: unary('RespondActivityTaskFailed', ({ task_token, failure }) => {
      matching.fail(task_token, failure.reason, failure.details);
      return {};
    }),
    RecordActivityTaskHeartbeat: unary('RecordActivityTaskHeartbeat', ({ task_token, details }) => (
      { cancel_requested: matching.heartbeat(task_token, details?.data ?? none) })),
  });
  return new Promise((serves, fails) => {
    server.bindAsync(`127.0.0.1:${port}`, grpc.ServerCredentials.createInsecure(),
      (error, bound) => (error ? fails(error) : serves(bound)));
  });
}

// --- JSON --------------------------------------------------------------------------------------------------

const bodyOf = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const listen = (server, at) => new Promise((serves) => {
  server.listen(Number(at), '127.0.0.1', () => serves(server.address().port));
});

const facade = {
  '/v1/poll-activity-task': async ({ domain, tasklist, worker_id }, request) => {
    const task = await matching.poll({ domain, tasklist, identity: worker_id },
      { longPollMs, gone: () => request.socket.destroyed });
    if (task === undefined) return { task: null };
    return { task: { task_token: task.token.toString(), domain, tasklist, workflow_id: `wf-${task.id}`, run_id: 'run-1',
      activity_id: task.id, activity_type: task.type, attempt: task.attempt, input_base64: task.input } };
  },
  '/v1/respond-activity-completed': ({ task_token, payload_base64 }) => {
    matching.complete(Buffer.from(task_token), Buffer.from(payload_base64, 'base64'));
    return {};
  },
  '/v1/respond-activity-failed': ({ task_token, reason, details_base64 }) => {
    matching.fail(Buffer.from(task_token), reason, Buffer.from(details_base64, 'base64'));
    return {};
  },
  '/v1/record-activity-heartbeat': ({ task_token, details_base64 }) => (
    { cancel_requested: matching.heartbeat(Buffer.from(task_token), Buffer.from(details_base64, 'base64')) }),
};

function serveJson() {
  return listen(createServer(async (request, response) => {
    const status = shallFail(request.url);
    const answer = (code, body) => response.writeHead(code, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    if (status !== undefined) return answer(status, {});
    try {
      return answer(200, await facade[request.url](JSON.parse(await bodyOf(request)), request));
    } catch (error) {
      const code = error instanceof NotExists ? 404 : error instanceof BadToken ? 400 : 500;
      return answer(code, { error: error.message });
    }
  }), port);
}

// --- Control -----------------------------------------------------------------------------------------------

const control = {
  '/schedule': (activities) => { for (const one of activities) matching.schedule(one); },
  '/repeat': ({ id }) => matching.repeat(id),
  '/cancel': ({ id }) => matching.cancel(id),
  '/time-out': ({ id }) => matching.timeOut(id),
  '/break': ({ method, status, times }) => { for (let i = 0; i < times; i += 1) broken.push({ method, status }); },
  '/state': () => ({ counts: matching.counts(), polls: matching.polls, open: matching.open,
    refused: matching.refused, mostOpen: matching.mostOpen,
    identity: matching.identity, seen, broken: broken.length, beats: matching.beats }),
  '/activity': ({ id }) => matching.activity(id),
  '/activities': () => matching.activities().map(({ input, ...rest }) => rest),
};

const controlPort = await listen(createServer(async (request, response) => {
  const body = await bodyOf(request);
  const answer = control[request.url](body === '' ? undefined : JSON.parse(body));
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer ?? {}));
}), 0);
const bound = await (transport === 'json' ? serveJson() : serveGrpc());
console.log(`${bound} ${controlPort}`);
