// Runs the tests beside it under node, each file in a realm of its own (realm.mjs):
//
//   node run.mjs [FILE...]
//
// A test file is a script that calls test(name, async function). It sees harness.js and the runtime's
// globals; a *.server.test.js also sees, as `server`, what stands for Cairn: server.answer is set to
// (op, args) => reply, server.log has [level, text] of each line.

import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Realm } from './realm.mjs';

// A run that is left never comes back; here its promise is rejected, and nobody waits for it.
process.on('unhandledRejection', (error) => {
  if (error?.message !== 'the run has been left') throw error;
});

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const chosen = process.argv.slice(2).map((file) => basename(file));
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.test.js'))
  .filter((file) => chosen.length === 0 || chosen.includes(file));

let passed = 0;
const failures = [];
for (const file of files) {
  const realm = new Realm((op, args) => realm.run('server').answer(op, args));
  realm.run(readFileSync(`${FOLDER}harness.js`, 'utf8'), 'harness.js');
  const server = realm.run('globalThis.server = { answer: () => { throw new Error("no answer") }, log: [] }');
  server.context = (value) => realm.global('context')(value);
  server.toResult = (value) => realm.global('toResult')(value);
  // What the engine does when nothing else is left to do, and when the handler has returned; how the run was left.
  server.idle = () => realm.watcher.idle();
  server.end = () => realm.watcher.end();
  server.left = () => realm.left;
  const tests = realm.run(`${readFileSync(FOLDER + file, 'utf8')};\nharness.tests`, file);
  for (const { name, run } of tests) {
    server.log.length = 0;
    realm.log.length = 0;
    realm.onLog = (entry) => server.log.push(entry);
    try {
      await settle(realm, run());
      passed++;
    } catch (error) {
      failures.push(`${file}: ${name}\n  ${error?.stack ?? error}`);
    }
  }
}

for (const failure of failures) console.error(failure);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);

// Waits for a promise of the realm, moving its clock while nothing else is to be done.
async function settle(realm, promise) {
  let outcome = null;
  Promise.resolve(promise).then(
    (value) => { outcome = { value }; },
    (error) => { outcome = { error }; },
  );
  while (outcome === null) {
    await realm.advance(0);
    if (outcome !== null) break;
    if (realm.pendingTimers === 0) throw new Error('waits for a promise that nothing will settle');
    await realm.advance(realm.nextTimerDue() - realm.clock.now);
  }
  if ('error' in outcome) throw outcome.error;
}
