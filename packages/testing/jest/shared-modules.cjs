// The modules that all test files of a worker share: installed packages, and our own sources, which have no state
// except constants (architecture.test.ts). They are compiled once, and after the first file they are as fast as in a
// service that has run for a while.
const { readFileSync } = require('node:fs');
const { createRequire, isBuiltin } = require('node:module');
const path = require('node:path');
const { compileFunction } = require('node:vm');
const { gunzipSync } = require('node:zlib');

const root = path.resolve(__dirname, '../../..');
/** From within the packages, where Node loads ES modules without a warning. */
const requireInstalled = createRequire(path.join(root, 'node_modules', 'shared.cjs'));
/** Test tools that each file loads separately: Jest, and packages with configuration. */
const ofOneFile = /\/node_modules\/(jest(-[^/]+)?|@jest\/[^/]+|expect|fast-check)\/(?!.*\/node_modules\/)/;
const source = /^(apps|packages)\/(?!testing\/)[^/]+\/src\/(?!.*\.test\.ts$).*\.ts$/;

const modules = new Map();
let through;

/** Sets how to find and compile modules that are not loaded yet: like the current test file. */
function shareThrough(loader) {
  through = loader;
}

/** Whether a file is loaded once for all test files. */
function isShared(file) {
  if (file.includes('/node_modules/')) return !ofOneFile.test(file);
  return source.test(path.relative(root, file));
}

/** The exports of a file that is loaded once. */
function loadShared(file) {
  return source.test(path.relative(root, file)) ? loadSource(file) : requireInstalled(file);
}

function loadSource(file) {
  const there = modules.get(file);
  if (there) return there.exports;
  const module = { exports: {}, id: file, filename: file, path: path.dirname(file), loaded: false, children: [] };
  modules.set(file, module);
  try {
    const code = through.transform(file);
    const run = compileFunction(code, ['module', 'exports', 'require', '__dirname', '__filename'], { filename: file });
    module.require = requireFrom(file);
    run.call(module.exports, module, module.exports, module.require, module.path, file);
    module.loaded = true;
  } catch (error) {
    modules.delete(file);
    throw error;
  }
  return module.exports;
}

function requireFrom(file) {
  const resolve = (name) => {
    if (name === 'tsx/cjs') return loaderOfThreads();
    return isBuiltin(name) ? name : through.resolve(file, name);
  };
  const load = (name) => (isBuiltin(name) ? require(name) : loadShared(resolve(name)));
  return Object.assign(load, { resolve });
}

const kept = new Set();

/** The loader of a thread's sources: like in processes that tests start, compiled sources come from a cache. */
function loaderOfThreads() {
  if (kept.size === 0) kept.add(compileParser());
  return path.join(__dirname, 'from-source.cjs');
}

/**
 * Compiles the parser that threads read modules and policies with. While it is kept, threads use its code; otherwise
 * each of them compiles it again, which takes 200 ms of processor time.
 */
async function compileParser() {
  const { resolve } = createRequire(path.join(root, 'apps', 'workspaces', 'package.json'));
  const file = path.join(path.dirname(resolve('@cdktn/hcl2json')), '..', 'main.wasm.gz');
  return WebAssembly.compile(gunzipSync(readFileSync(file)));
}

module.exports = { isShared, loadShared, shareThrough };
