// Runs the tests of a part in the process of StrykerJS, as docs/mutants does with planted faults: what they test is loaded once,
// which mutant is in force is a variable, and test files are read anew for each. So a mutant costs what its tests cost.
import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const require = createRequire(import.meta.url);
// Less than StrykerJS waits, so that a test that waits for ever fails in place, and no process has to begin anew.
const limitMs = 30_000;
const uncaught = ['uncaughtException', 'unhandledRejection'];

/** Sources are loaded as Jest loads them. */
function loadTypeScript() {
  const { transformSync } = require('@swc/core');
  const { transform } = require('../../../jest.preset.cjs');
  const [, options] = Object.values(transform)[0];
  const compiled = new Map();
  const compile = (file) => transformSync(readFileSync(file, 'utf8'), { ...options, filename: file }).code;
  Module._extensions['.ts'] = (module, file) => {
    if (!compiled.has(file)) compiled.set(file, compile(file));
    module._compile(compiled.get(file), file);
  };
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request, ...rest) {
    return resolve.call(
      this,
      request === '@jest/globals' ? path.join(root, 'docs/mutants/globals.ts') : request,
      ...rest,
    );
  };
}

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
  /** Test files, relative to the repository. */
  files = JSON.parse(process.env.KEYSTEAD_STRYKER).tests;
  namespace = globalThis.__stryker__ ?? {};

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    globalThis.__stryker__ = this.namespace;
    process.env.NODE_ENV = 'test';
    loadTypeScript();
    this.circus = require('jest-circus');
    this.Realm = require('../../../packages/testing/jest/environment.cjs');
  }

  async dryRun() {
    const result = await this.run(() => true, false);
    return { ...result, mutantCoverage: this.namespace.mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, disableBail, hitLimit }) {
    const chosen = testFilter && new Set(testFilter);
    Object.assign(this.namespace, { activeMutant: activeMutant.id, hitLimit, hitCount: hitLimit ? 0 : undefined });
    const { status, tests, errorMessage } = await this.run((name) => !chosen || chosen.has(name), !disableBail);
    const { hitCount } = this.namespace;
    Object.assign(this.namespace, { activeMutant: undefined, hitLimit: undefined, hitCount: undefined });
    if (hitCount > hitLimit) return { status: 'timeout', reason: `Hit limit reached (${hitCount}/${hitLimit})` };
    if (status === 'error') return { status, errorMessage };
    const nrOfTests = tests.length;
    const failed = tests.filter((test) => test.status === 1);
    if (failed.length === 0) return { status: 'survived', nrOfTests };
    await this.requireHealth(failed[0].id);
    return {
      status: 'killed',
      killedBy: failed.map(({ id }) => id),
      failureMessage: failed[0].failureMessage,
      nrOfTests,
    };
  }

  /** Throws where a test fails without a mutant, too; StrykerJS then asks a new process. */
  async requireHealth(id) {
    const { tests = [] } = await this.run((name) => name === id, true);
    if (tests[0]?.status !== 0) throw new Error(`${id} fails by what a mutant left behind`);
  }

  async run(isChosen, bails) {
    const realm = new this.Realm({ projectConfig: { testEnvironmentOptions: {}, fakeTimers: {} } });
    const { circus, namespace } = this;
    circus.resetState();
    circus.getState().testTimeout = limitMs;
    for (const name of this.files) {
      const file = path.join(root, name);
      circus.describe(name, () => {
        delete require.cache[file];
        require(file);
      });
    }
    const all = [...testsIn(circus.getState().rootDescribeBlock)];
    for (const test of all) if (!isChosen(nameOf(test))) test.mode = 'skip';
    const done = [];
    const handle = ({ name, test }) => {
      if (name === 'test_start') namespace.currentTestId = nameOf(test);
      if (name !== 'test_done') return;
      namespace.currentTestId = undefined;
      done.push(resultOf(test));
      if (bails && test.errors.length > 0) for (const other of all) other.mode = 'skip';
    };
    // As in Jest, what is thrown outside of a test fails the one that runs.
    const fail = (error) => circus.getState().currentlyRunningTest?.errors.push([error, error]);
    for (const name of uncaught) process.on(name, fail);
    circus.addEventHandler(handle);
    const { unhandledErrors } = await circus.run();
    circus.removeEventHandler(handle);
    for (const name of uncaught) process.off(name, fail);
    await realm.teardown();
    return unhandledErrors.length > 0
      ? { status: 'error', errorMessage: unhandledErrors.join('\n') }
      : { status: 'complete', tests: done };
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
