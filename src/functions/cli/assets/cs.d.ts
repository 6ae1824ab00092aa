// Types of what Cairn gives to a function besides the web's own interfaces (fetch, Request, Response,
// URL, crypto.subtle, TextEncoder, timers, …). For those, name the library of web workers, which is the
// closest: {"compilerOptions": {"lib": ["es2023", "webworker"], "module": "esnext"}}.
//
//   import type { Handler } from './cs';
//   const handler: Handler = async (event, ctx) => ({ statusCode: 200, body: 'hello' });
//   export default handler;

/** What JSON can carry. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The event of a request over HTTP (`/v1/web/…`). The body is base64. */
export interface HttpEvent {
  version: '2.0';
  routeKey: string;
  rawPath: string;
  rawQueryString: string;
  /** Names in lower case, values of one name joined by commas. */
  headers: { [name: string]: string };
  requestContext: { http: { method: string; path: string } };
  body: string;
  isBase64Encoded: true;
}

/** What started the activation, and the details that kind of start has. */
export interface Trigger {
  type: 'http' | 'schedule' | 'cadence' | 'api';
  source?: { [name: string]: Json };
}

export interface Context {
  readonly activation_id: string;
  /** When the activation ends, whatever it is doing: milliseconds since 1970. */
  readonly deadline_ms: number;
  readonly tenant: string;
  readonly namespace: string;
  readonly function: string;
  readonly version: number;
  readonly ref: { alias?: string; version?: number };
  readonly trigger: Trigger;
  /** Who invoked the function. */
  readonly principal: { sub: string; roles: string[] };
  /** The version's environment and secrets. */
  readonly env: { readonly [name: string]: string };
  /** Milliseconds until the deadline, at least 0. */
  remainingMs(): number;
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;

  /**
   * Runs `run` and records what it returns, as JSON; a later run of the activation is given that instead. What `run` writes with
   * `cs` is written together with the record, or not at all.
   */
  step<T = Json>(name: string, run: (step: Step) => T | Promise<T>, options?: StepOptions): Promise<T>;
  /** Goes on so many milliseconds later, or at that time; no process is held meanwhile. */
  sleep(time: number | Date | string): Promise<void>;
  /** What is sent to the activation under this name; rejected with a TimeoutError after `timeout` milliseconds. */
  waitForEvent<T = Json>(name: string, options?: { timeout?: number }): Promise<T>;
  /** Runs another function of the namespace as an activation of its own; rejected if that fails. */
  invoke(target: string | { function: string; alias?: string; version?: number }, event?: unknown): Promise<Answer>;
  /** Waits for all of them, also if one fails, and gives their values. */
  all<T extends readonly unknown[]>(list: readonly [...T]): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>;
}

export interface Step {
  /** As the global `cs`; what it writes belongs to this step, also while others are open. */
  readonly cs: typeof cs;
  /** 1, and one more each time that the step is tried again. */
  readonly attempt: number;
  readonly name: string;
}

export interface StepOptions {
  /** How often the step is tried again when it throws: 0 to 100, 0 if absent. */
  retries?: number;
  /** The pauses before that: `initialMs` (1000), each `factor` (2) times as long as the one before, at most `maxMs` (300000). A number: always so long. */
  backoff?: number | { initialMs?: number; factor?: number; maxMs?: number };
}

/** An answer with a status. Any other value is sent as JSON; undefined and null as an empty body. */
export interface Answer {
  /** 100 to 599; 200 if absent. */
  statusCode?: number;
  headers?: { [name: string]: string };
  /** Each is a Set-Cookie header. */
  cookies?: string[];
  body?: string;
  /** Whether `body` is base64. */
  isBase64Encoded?: boolean;
}

export type Result = Answer | Response | Json | undefined | void;

export type Handler<Event = HttpEvent> = (event: Event, ctx: Context) => Result | Promise<Result>;

interface Log {
  debug(value: unknown): void;
  info(value: unknown): void;
  warn(value: unknown): void;
  error(value: unknown): void;
}

/** Keys of the function's namespace. The manifest says which prefixes and operations are open. */
interface Kv {
  /** The value, or null if there is none. */
  get<T = Json>(key: string): Promise<T | null>;
  set(key: string, value: unknown, options?: { ttlSeconds?: number }): Promise<void>;
  /** Whether there was a value. */
  del(key: string): Promise<boolean>;
}

interface Codeq {
  /** Sends a message to a topic that the manifest's `publishTopics` allows. */
  publish(topic: string, payload: unknown): Promise<{ id: string }>;
}

interface HttpReply {
  status: number;
  /** Names in lower case, values of one name joined by commas. */
  headers: { [name: string]: string };
  /** base64 */
  body: string;
  isBase64Encoded: true;
}

interface Http {
  /** As fetch, to hosts that the manifest's `allowHosts` names, with the answer as plain values. */
  fetch(
    url: string | URL,
    options?: {
      method?: string;
      headers?: { [name: string]: string } | [string, string][] | Headers;
      body?: string | ArrayBuffer | ArrayBufferView | Blob | FormData | URLSearchParams | null;
      timeoutMs?: number;
    },
  ): Promise<HttpReply>;
}

interface Cadence {
  /** Tells Cadence that the activity is still running. Only when Cadence started the activation. */
  heartbeat(details?: unknown): Promise<void>;
}

interface Jobs {
  /** Adds a job to a queue that the manifest's `publishTopics` allows. */
  enqueue(queue: string, payload: unknown, options?: { [name: string]: Json }): Promise<{ id: string; status: string }>;
}

interface Actors {
  /** Calls a method of an actor and gives what it returns. */
  call<T = Json>(type: string, id: string, method: string, argument?: unknown): Promise<T | null>;
}

declare global {
  const cs: {
    readonly log: Log;
    readonly kv: Kv;
    readonly codeq: Codeq;
    readonly http: Http;
    readonly cadence: Cadence;
    readonly jobs: Jobs;
    readonly actors: Actors;
  };

  interface SubtleCrypto {
    /** Whether two values of one length are equal, in a time that does not depend on where they differ. */
    timingSafeEqual(a: ArrayBuffer | ArrayBufferView, b: ArrayBuffer | ArrayBufferView): boolean;
  }
}
