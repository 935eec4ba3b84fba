// The environment of a test file: Node as it is, without a separate context. A context slows every access to a global,
// and modules loaded in one cannot be used in the next. Changes that a file makes to the process are undone after it.
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

const endsWithinMs = 120_000;

class OneRealm {
  constructor({ projectConfig }) {
    this.global = globalThis;
    this.conditions = projectConfig.testEnvironmentOptions.customExportConditions;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.before = lookAtProcess();
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    putBack(this.before);
    forgetTests();
  }

  /** Hooks after a file or a test either hang or are quick, also in thorough files, whose tests may take long. */
  handleTestEvent({ name, hookType, timeout }, { currentDescribeBlock }) {
    if (name === 'add_hook' && hookType.startsWith('after') && timeout === undefined)
      currentDescribeBlock.hooks.at(-1).timeout = endsWithinMs;
  }

  exportConditions() {
    return this.conditions;
  }

  getVmContext() {
    return globalThis;
  }
}

function lookAtProcess() {
  return {
    globals: Object.getOwnPropertyDescriptors(globalThis),
    variables: { ...process.env },
    listeners: new Map(process.eventNames().map((name) => [name, process.rawListeners(name)])),
    exit: process.exit,
    exitCode: process.exitCode,
    directory: process.cwd(),
  };
}

function putBack({ globals, variables, listeners, exit, directory }) {
  // New properties are kept: packages that are loaded once set them only once.
  for (const [name, descriptor] of Object.entries(globals)) {
    if (descriptor.configurable) Object.defineProperty(globalThis, name, descriptor);
  }
  for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name];
  Object.assign(process.env, variables);
  for (const name of process.eventNames()) {
    const kept = listeners.get(name) ?? [];
    for (const listener of process.rawListeners(name)) if (!kept.includes(listener)) process.off(name, listener);
  }
  process.exit = exit;
  process.chdir(directory);
}

/**
 * Forgets what Jest's runner keeps in globals. Each file has its own runner: its tests would stay in memory, with 15 MB
 * for each of their services, and its handlers would report each test of all later files once more.
 */
function forgetTests() {
  for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
    if (['JEST_STATE_SYMBOL', 'EVENT_HANDLERS'].includes(symbol.description)) delete globalThis[symbol];
  }
}

module.exports = OneRealm;
