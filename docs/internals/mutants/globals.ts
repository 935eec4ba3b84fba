// Replaces '@jest/globals' in test files when mutants run: Jest's own runner, matchers and spies, without Jest.
import { ModuleMocker } from 'jest-mock';

export { expect } from 'expect';
export * from 'jest-circus';

const mocker = new ModuleMocker(globalThis);
/** Only the parts of `jest` that tests of rows use. */
export const jest = {
  setTimeout: () => jest,
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
};
