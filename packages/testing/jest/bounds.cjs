// How long a test or a hook may take before it is treated as hanging. Generous, because a loaded machine is slow and no
// test waits for this time. Thorough tests take thousands of steps; steps that could hang have their own timeouts.
const globals = require('@jest/globals');

const thorough = globals.expect.getState().testPath.endsWith('.thorough.test.ts');
globals.jest.setTimeout(thorough ? 1_800_000 : 120_000);
