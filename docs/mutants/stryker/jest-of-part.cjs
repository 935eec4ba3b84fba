// The repository's Jest with the tests of one part. Sources stay loaded from mutant to mutant, as from file to file: which
// mutant is in force is a variable, and modules keep no state.
const path = require('node:path');
const preset = require('../../../jest.preset.cjs');

const { tests } = JSON.parse(process.env.KEYSTEAD_STRYKER);

module.exports = {
  ...preset,
  testEnvironment: path.join(__dirname, 'environment.cjs'),
  testMatch: tests.map((glob) => glob.replace(/^!?/, '$&**/')),
};
