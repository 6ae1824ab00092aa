// What stands behind a frontend of Cadence, as far as workers of activities notice: activities that are
// given out as tasks, time out, are tried again as their retry policy says, and are closed once. The state is
// a log of changes in a file, written before anybody is told, so a frontend that is killed goes on with it.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

export class NotExists extends Error {}
export class BadToken extends Error {}

export class Matching {
  #file;
  #activities = new Map();
  #queues = new Map(); // ids that can be started, by list
  #pollers = new Map(); // who waits, by list
  #timers = new Map(); // of tasks that are started
  #counts = {};

  constructor(file) {
    this.#file = file;
    this.polls = 0;
    this.open = 0; // polls that are held
    this.refused = 0;
    this.mostOpen = 0;
    this.beats = [];
    if (!existsSync(file)) return;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (line !== '') this.#apply(JSON.parse(line));
    }
    for (const activity of this.#activities.values()) {
      if (activity.state === 'scheduled') this.#queue(activity).push(activity.id);
      if (activity.state === 'started') this.#watch(activity);
    }
  }

  #apply(change) {
    const activity = this.#activities.get(change.id);
    if (activity?.state !== undefined && change.state !== undefined) this.#count(activity.state, -1);
    if (change.state !== undefined) this.#count(change.state, 1);
    if (activity === undefined) this.#activities.set(change.id, change);
    else Object.assign(activity, change);
  }

  #count(state, by) { this.#counts[state] = (this.#counts[state] ?? 0) + by; }

  #write(change) {
    appendFileSync(this.#file, `${JSON.stringify(change)}\n`);
    this.#apply(change);
  }

  #list(activity) { return `${activity.domain}\n${activity.tasklist}`; }
  #queue(activity) {
    const list = this.#list(activity);
    if (!this.#queues.has(list)) this.#queues.set(list, []);
    return this.#queues.get(list);
  }

  schedule(activity) {
    this.#write({ domain: 'd', tasklist: 'l', type: 'Work', input: '', timeoutMs: 60_000, maxAttempts: 1, ...activity,
      state: 'scheduled', attempt: 0, starts: 0, answers: 0, cancel: false });
    this.#offer(this.#activities.get(activity.id));
  }

  #offer(activity) {
    this.#queue(activity).push(activity.id);
    const waiting = this.#pollers.get(this.#list(activity)) ?? [];
    const poller = waiting.shift();
    if (poller !== undefined) poller();
  }

  // The next task of a list; undefined if there is none for that long. `gone` says whether the caller still waits.
  async poll(request, wait) {
    this.polls += 1;
    this.open += 1;
    this.identity = request.identity;
    try {
      return await this.#next(request, wait);
    } finally {
      this.open -= 1;
    }
  }

  async #next({ domain, tasklist }, { longPollMs, gone }) {
    const list = this.#list({ domain, tasklist });
    const end = Date.now() + longPollMs;
    while (!gone()) {
      const id = (this.#queues.get(list) ?? []).shift();
      if (id !== undefined) return this.#start(this.#activities.get(id));
      const left = end - Date.now();
      if (left <= 0) return undefined;
      await new Promise((resolve) => {
        const waiting = this.#pollers.get(list) ?? [];
        this.#pollers.set(list, waiting);
        const wake = () => { clearTimeout(timer); resolve(); };
        const timer = setTimeout(() => { waiting.splice(waiting.indexOf(wake), 1); resolve(); }, Math.min(left, 100));
        waiting.push(wake);
      });
    }
    return undefined;
  }

  #start(activity) {
    this.#write({ id: activity.id, state: 'started', starts: activity.starts + 1, startedAt: Date.now() });
    this.#watch(activity);
    this.mostOpen = Math.max(this.mostOpen, this.counts().started);
    return { ...activity, token: Buffer.from(JSON.stringify({ activityId: activity.id, attempt: activity.attempt })) };
  }

  // Gives an open task out once more, under the same token: what a frontend does whose answer got lost.
  repeat(id) {
    const activity = this.#activities.get(id);
    if (activity.state === 'started') this.#offer(activity);
  }

  #watch(activity) {
    const left = Math.max(0, activity.startedAt + activity.timeoutMs - Date.now());
    clearTimeout(this.#timers.get(activity.id));
    this.#timers.set(activity.id, setTimeout(() => this.#retry(activity, { state: 'timed out' }), left).unref());
  }

  timeOut(id) { this.#retry(this.#activities.get(id), { state: 'timed out' }); }

  // As Cadence does: the next attempt, if the policy has one left; else it is closed.
  #retry(activity, closed) {
    clearTimeout(this.#timers.get(activity.id));
    if (activity.attempt + 1 >= activity.maxAttempts) {
      this.#write({ id: activity.id, ...closed });
      return;
    }
    this.#write({ id: activity.id, state: 'scheduled', attempt: activity.attempt + 1, lastReason: closed.reason });
    this.#offer(activity);
  }

  // The open task that a token is of.
  #open(token) {
    let said;
    try {
      said = JSON.parse(token.toString());
    } catch {
      throw new BadToken('invalid task token');
    }
    const activity = this.#activities.get(said.activityId);
    if (activity?.state !== 'started' || activity.attempt !== said.attempt) {
      this.refused += 1;
      throw new NotExists('activity task already completed or timed out');
    }
    return activity;
  }

  complete(token, result) {
    const activity = this.#open(token);
    clearTimeout(this.#timers.get(activity.id));
    this.#write({ id: activity.id, state: 'completed', result: result.toString(), answers: activity.answers + 1 });
  }

  fail(token, reason, details) {
    const activity = this.#open(token);
    this.#write({ id: activity.id, answers: activity.answers + 1 });
    this.#retry(activity, { state: 'failed', reason, details: details.toString() });
  }

  heartbeat(token, details) {
    const activity = this.#open(token);
    this.beats.push({ id: activity.id, atMs: Date.now(), details: details.toString() });
    return activity.cancel;
  }

  cancel(id) { this.#write({ id, cancel: true }); }

  activity(id) { return this.#activities.get(id); }
  activities() { return [...this.#activities.values()]; }
  counts() { return this.#counts; }
}
