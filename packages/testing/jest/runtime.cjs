// Jest's runtime, but for what is loaded once per worker (shared-modules.cjs) instead of once per test file.
const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');
const { isShared, loadShared, shareThrough } = require('./shared-modules.cjs');

class SharingRuntime extends Runtime {
  constructor(...args) {
    super(...args);
    // In the one realm that there is (environment.cjs).
    const { executor } = this;
    executor.compile = (source, filename) => compileFunction(source, executor.injectedModuleParameters, { filename });
    shareThrough({
      resolve: (from, name) => this._resolution.resolveCjs(from, name),
      transform: (file) => this.transformCache.transform(file),
    });
  }

  /** The process is the real one, and keeps what it has. */
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
