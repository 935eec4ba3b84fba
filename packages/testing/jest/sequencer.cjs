// Long test files first, so that no worker is left with one at the end. Jest's cache knows how long a file took; a
// fresh clone has no cache and uses costs.json: seconds of the files that take more than a few.
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
