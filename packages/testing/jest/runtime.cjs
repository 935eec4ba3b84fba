// Jest's runtime, except that some modules are loaded once per worker (shared-modules.cjs) instead of once per test
// file, and that modules which each file loads separately are compiled once.
const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');
const { isShared, loadShared, shareThrough } = require('./shared-modules.cjs');

/** Compiled files by name. A file's function makes a new module each time that it is called. */
const compiled = new Map();

function compile(source, filename, parameters) {
  const there = compiled.get(filename);
  if (there?.source === source) return there.run;
  const run = compileFunction(source, parameters, { filename });
  // A test file is run once.
  if (!filename.endsWith('.test.ts')) compiled.set(filename, { source, run });
  return run;
}

class SharingRuntime extends Runtime {
  constructor(...args) {
    super(...args);
    // There is only one realm (environment.cjs).
    const { executor } = this;
    executor.compile = (source, filename) => compile(source, filename, executor.injectedModuleParameters);
    shareThrough({
      resolve: (from, name) => this._resolution.resolveCjs(from, name),
      transform: (file) => this.transformCache.transform(file),
    });
  }

  /** This is the real process, which keeps its properties. */
  installGetBuiltinModule() {}

  requireModule(from, name, options, isRequireActual) {
    if (name && !options?.isInternalModule && !this._resolution.isCoreModule(name)) {
      const file = this._resolution.resolveCjs(from, name);
      if (isShared(file)) return loadShared(file);
    }
    return super.requireModule(from, name, options, isRequireActual);
  }
}

module.exports = SharingRuntime;
