// Long test files first, so that no worker is left with one at the end. Jest knows from its cache how long a file took; on a
// fresh clone there is none, and costs.json says it: seconds of the files that take more than a few.
const path = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');
const costs = require('./costs.json');

const root = path.resolve(__dirname, '../../..');

class LongestFirst extends Sequencer {
  sort(tests) {
    const seconds = ({ path: file, duration }) => duration / 1000 || costs[path.relative(root, file)] || 0;
    return [...tests].sort((one, other) => seconds(other) - seconds(one) || (one.path < other.path ? -1 : 1));
  }
}

module.exports = LongestFirst;
