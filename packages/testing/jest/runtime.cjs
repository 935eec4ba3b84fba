// Jest's runtime, except that some modules are loaded once per worker (shared-modules.cjs) instead of once per test
// file.
const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');
const { isShared, loadShared, shareThrough } = require('./shared-modules.cjs');

class SharingRuntime extends Runtime {
  constructor(...args) {
    super(...args);
    // There is only one realm (environment.cjs).
    const { executor } = this;
    executor.compile = (source, filename) => compileFunction(source, executor.injectedModuleParameters, { filename });
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
