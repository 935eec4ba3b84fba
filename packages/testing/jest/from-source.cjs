// For processes that tests start: they require TypeScript directly. A service has about 600 source files; their
// compiled form is cached between processes, by us and by Node, so that a process starts in a third of the time.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const options = require('./swc-options.cjs');

const folder = path.resolve(__dirname, '../../../node_modules/.cache/from-source');
const compiler = `${require('@swc/core/package.json').version} ${JSON.stringify(options)}`;

Module.enableCompileCache?.(path.join(folder, 'compiled'));

function compiled(file) {
  const source = readFileSync(file, 'utf8');
  const kept = path.join(folder, createHash('sha256').update(`${compiler}\n${file}\n${source}`).digest('hex'));
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    const { code } = require('@swc/core').transformSync(source, { ...options, sourceMaps: false, filename: file });
    mkdirSync(folder, { recursive: true });
    // Another process may be writing the same file.
    writeFileSync(`${kept}.${process.pid}`, code);
    renameSync(`${kept}.${process.pid}`, kept);
    return code;
  }
}

Module._extensions['.ts'] = (module, file) => module._compile(compiled(file), file);

const resolve = Module._resolveFilename;
/** A source may import another by its built name. */
Module._resolveFilename = function (name, parent, ...more) {
  // Threads are started with this loader.
  if (name === 'tsx/cjs') return __filename;
  try {
    return resolve.call(this, name, parent, ...more);
  } catch (error) {
    if (!/^\..*\.js$/.test(name) || !parent?.filename?.endsWith('.ts')) throw error;
    return resolve.call(this, name.replace(/js$/, 'ts'), parent, ...more);
  }
};
