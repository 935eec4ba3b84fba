// The one Jest configuration: every test of the monorepo in one parallel run, on one temporary PostgreSQL.
const swc = require('./packages/testing/jest/swc-options.cjs');

const esmOnly = ['@seriousme', 'openpgp', 'openapi-fetch', 'shamir-secret-sharing', 're2js', '@noble', 'croner'];

/** @type {import('jest').Config} */
module.exports = {
  rootDir: __dirname,
  globalSetup: '<rootDir>/packages/testing/src/global-setup.ts',
  globalTeardown: '<rootDir>/packages/testing/src/global-teardown.ts',
  // Packages and our own sources are loaded once per worker, not once per test file.
  runtime: '<rootDir>/packages/testing/jest/runtime.cjs',
  testEnvironment: '<rootDir>/packages/testing/jest/environment.cjs',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons', 'require', 'default'] },
  transform: { '^.+\\.[cm]?[jt]s$': ['@swc/jest', swc] },
  transformIgnorePatterns: [`/node_modules/(?!\\.pnpm/)(?!(${esmOnly.join('|')})/)`],
  modulePathIgnorePatterns: ['<rootDir>/.*/dist/', '<rootDir>/data/', '<rootDir>/.tools/'],
  testSequencer: '<rootDir>/packages/testing/jest/sequencer.cjs',
  testMatch: ['**/*.test.ts'],
  // Sessions of real clients need more than Node: npm test -- --interop runs them.
  testPathIgnorePatterns: ['/node_modules/', ...(process.env.KEYSTEAD_INTEROP ? [] : ['\\.interop\\.test\\.ts$'])],
  setupFilesAfterEnv: ['<rootDir>/packages/testing/jest/bounds.cjs'],
};
