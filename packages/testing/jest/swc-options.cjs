/** How sources are compiled for tests, in Jest's workers and in processes that tests start. */
module.exports = {
  jsc: { parser: { syntax: 'typescript', decorators: false }, target: 'es2022' },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
};
