// The environment of the repository's tests, which also says which mutant is in force. StrykerJS leaves that in a variable of
// the process for sources to read when they are loaded; ours are loaded once.
const OneRealm = require('../../../packages/testing/jest/environment.cjs');

class AlteredRealm extends OneRealm {
  async setup() {
    await super.setup();
    this.global.__stryker__.activeMutant = process.env.__STRYKER_ACTIVE_MUTANT__;
  }
}

module.exports = AlteredRealm;
