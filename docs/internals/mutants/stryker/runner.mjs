// Runs the tests of a part in the process of StrykerJS, like docs/internals/mutants: the tested code is loaded once, a
// variable selects the active mutant, and test files are loaded again for each. So a mutant costs only the time of its
// tests. Tests that killed neighbouring mutants run first, then quick ones, because most mutants are killed by those.
import { readFileSync, writeFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const require = createRequire(import.meta.url);
const settings = JSON.parse(process.env.KEYSTEAD_STRYKER);
// Shorter than StrykerJS's own limit, so that a hanging test fails in place, and no process has to be replaced.
const limitMs = { least: 3_000, most: 30_000 };
const quickMs = 15;
// How many of the tests with the latest kills run first.
const remembered = 5;
// A mutant that is executed this many times as often as without it is treated as an endless loop.
const patience = 100;
const uncaught = ['uncaughtException', 'unhandledRejection'];

/**
 * Tested code may send messages to its parent process. Here the parent is StrykerJS, which only understands its own
 * messages, strings.
 */
function keepApart() {
  const send = process.send?.bind(process);
  if (send) process.send = (message, ...rest) => typeof message !== 'string' || send(message, ...rest);
}

/** Loads sources like Jest. */
function loadTypeScript() {
  const { transformSync } = require('@swc/core');
  const { transform } = require('../../../../jest.preset.cjs');
  const [, options] = Object.values(transform)[0];
  const compiled = new Map();
  const compile = (file) =>
    transformSync(withoutOverhead(readFileSync(file, 'utf8')), { ...options, filename: file }).code;
  Module._extensions['.ts'] = (module, file) => {
    if (!compiled.has(file)) compiled.set(file, compile(file));
    module._compile(compiled.get(file), file);
  };
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request, ...rest) {
    return resolve.call(
      this,
      request === '@jest/globals' ? path.join(root, 'docs/internals/mutants/globals.ts') : request,
      ...rest,
    );
  };
}

/**
 * A smaller version of the code that StrykerJS adds to each file: it counts in arrays, and only while hits are
 * recorded.
 */
const instruments = `
const stryNs = globalThis.__stryker__;
function stryCov_9fa48() {
  const { hits } = stryNs;
  if (hits !== undefined) for (let i = 0; i < arguments.length; i++) hits[arguments[i]]++;
}
function stryMutAct_9fa48(id) {
  if (stryNs.activeMutant !== id) return false;
  if (++stryNs.hitCount > stryNs.hitLimit) throw new Error('Stryker: Hit count limit reached');
  return true;
}
`;

/**
 * Replaces StrykerJS's own counters, named properties of objects, which take many times as long as the counted code.
 */
function withoutOverhead(source) {
  if (!source.includes('function stryNS_9fa48')) return source;
  const [, code] = source.split(/^ {2}return isActive\(id\);\n\}\n/m);
  if (code === undefined) throw new Error('StrykerJS begins its files in another way');
  const numbered = code.replace(/\bstry(?:Cov|MutAct)_9fa48\(("\d+"(?:, )?)+\)/g, (call) => call.replaceAll('"', ''));
  return instruments + numbered;
}

const noHits = () => new Uint32Array(1 << 16);
const counted = (hits) => [...hits.entries()].filter(([, count]) => count > 0);

function* testsIn(block) {
  for (const child of block.children) {
    if (child.type === 'describeBlock') yield* testsIn(child);
    else yield child;
  }
}

function nameOf(test) {
  return test.parent ? `${nameOf(test.parent)} ${test.name}`.trim() : '';
}

class InProcess {
  namespace = globalThis.__stryker__ ?? {};
  /** Tests that killed the previous mutants, the latest first. */
  noticed = [];

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    globalThis.__stryker__ = this.namespace;
    process.env.NODE_ENV = 'test';
    keepApart();
    loadTypeScript();
    this.circus = require('jest-circus');
    this.Realm = require('../../../../packages/testing/jest/environment.cjs');
  }

  /** Records facts about the tests for the processes that run mutants. */
  async dryRun() {
    const always = noHits();
    const perTest = {};
    this.namespace.hits = always;
    const result = await this.run(undefined, {
      limit: limitMs.most,
      begin: () => {
        this.namespace.hits = noHits();
      },
      end: (id) => {
        // Some tests have the same name.
        for (const [mutant, count] of counted(this.namespace.hits)) {
          perTest[id] ??= {};
          perTest[id][mutant] = (perTest[id][mutant] ?? 0) + count;
        }
        this.namespace.hits = always;
      },
    });
    const { tests = [] } = result;
    const mutantCoverage = { static: Object.fromEntries(counted(always)), perTest };
    this.namespace.hits = undefined;
    const costs = Object.fromEntries(tests.map(({ id, costMs }) => [id, costMs]));
    const longest = Math.max(...tests.map(({ timeSpentMs }) => timeSpentMs));
    writeFileSync(settings.facts, JSON.stringify({ costs, longest, hits: perTest, always: mutantCoverage.static }));
    return { ...result, mutantCoverage };
  }

  learn() {
    if (this.facts) return;
    this.facts = JSON.parse(readFileSync(settings.facts, 'utf8'));
    this.limit = Math.min(limitMs.most, Math.max(limitMs.least, 10 * this.facts.longest));
  }

  /** The tests in the order in which they run, in groups that run together. */
  partsOf(tests) {
    const { costs } = this.facts;
    const rest = tests.filter((test) => !this.noticed.includes(test));
    const slow = rest.filter((test) => costs[test] > quickMs).sort((a, b) => costs[a] - costs[b]);
    return [
      this.noticed.filter((test) => tests.includes(test)),
      rest.filter((test) => costs[test] <= quickMs),
      ...slow.map((test) => [test]),
    ].filter((part) => part.length > 0);
  }

  async mutantRun({ activeMutant: { id }, testFilter, disableBail }) {
    this.learn();
    const { costs, hits, always } = this.facts;
    let nrOfTests = 0;
    for (const part of this.partsOf(testFilter ?? Object.keys(costs))) {
      const hitLimit = patience * part.reduce((sum, test) => sum + (hits[test]?.[id] ?? 0), always[id] ?? 1);
      Object.assign(this.namespace, { activeMutant: Number(id), hitLimit, hitCount: 0 });
      const { tests, errorMessage } = await this.run(part, { limit: this.limit, bails: !disableBail });
      const { hitCount } = this.namespace;
      this.namespace.activeMutant = undefined;
      if (hitCount > hitLimit) return { status: 'timeout', reason: `Hit limit reached (${hitCount}/${hitLimit})` };
      nrOfTests += tests.length;
      const failed = tests.filter((test) => test.status === 1);
      // Failures outside tests, such as a server that cannot be closed afterwards, also count.
      if (failed.length === 0 && errorMessage !== undefined) failed.push({ id: part[0], failureMessage: errorMessage });
      if (failed.length === 0) continue;
      const [{ id: first, failureMessage }] = failed;
      await this.requireHealth(first);
      this.noticed = [first, ...this.noticed.filter((test) => test !== first)].slice(0, remembered);
      return { status: 'killed', killedBy: failed.map((test) => test.id), failureMessage, nrOfTests };
    }
    return { status: 'survived', nrOfTests };
  }

  /**
   * Throws if a test also fails without a mutant; then StrykerJS uses a new process. Pending work, such as a connection
   * without an answer, gets some time to end.
   */
  async requireHealth(id) {
    for (let tries = 0; tries < 3; tries++) {
      const { tests = [] } = await this.run([id], { limit: this.limit });
      if (tests[0]?.status === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`${id} fails by what a mutant left behind`);
  }

  /** Runs the tests with these names, or all. */
  async run(names, { limit, bails = false, begin, end }) {
    const realm = new this.Realm({ projectConfig: { testEnvironmentOptions: {}, fakeTimers: {} } });
    const { circus } = this;
    circus.resetState();
    circus.getState().testTimeout = limit;
    for (const name of settings.tests) {
      if (names && !names.some((test) => test.startsWith(`${name} `))) continue;
      const file = path.join(root, name);
      circus.describe(name, () => {
        delete require.cache[file];
        require(file);
      });
    }
    const all = [...testsIn(circus.getState().rootDescribeBlock)];
    const chosen = names && new Set(names);
    if (chosen) for (const test of all) if (!chosen.has(nameOf(test))) test.mode = 'skip';
    const done = [];
    let before;
    const handle = ({ name, test }) => {
      if (name === 'test_start') {
        begin?.();
        before = process.cpuUsage();
      }
      if (name !== 'test_done') return;
      done.push({ ...resultOf(test), costMs: process.cpuUsage(before).user / 1000 });
      end?.(nameOf(test));
      if (bails && test.errors.length > 0) for (const other of all) other.mode = 'skip';
    };
    // As in Jest, an uncaught error fails the running test.
    const fail = (error) => circus.getState().currentlyRunningTest?.errors.push([error, error]);
    for (const name of uncaught) process.on(name, fail);
    circus.addEventHandler(handle);
    const { unhandledErrors } = await circus.run();
    circus.removeEventHandler(handle);
    for (const name of uncaught) process.off(name, fail);
    await realm.teardown();
    const errorMessage = unhandledErrors.length > 0 ? unhandledErrors.join('\n') : undefined;
    return { status: errorMessage === undefined ? 'complete' : 'error', tests: done, errorMessage };
  }
}

function resultOf(test) {
  const name = nameOf(test);
  const result = { id: name, name, timeSpentMs: test.duration ?? 0 };
  if (test.errors.length === 0) return { ...result, status: 0 };
  const [[error]] = test.errors;
  return { ...result, status: 1, failureMessage: String(error?.stack ?? error) };
}

const factory = () => new InProcess();
factory.inject = [];
export const strykerPlugins = [{ kind: 'TestRunner', name: 'in-process', factory }];
