// What test files import as '@jest/globals' when mutants are played: Jest's own runner, matchers and spies, without Jest.
import { ModuleMocker } from 'jest-mock';

export { expect } from 'expect';
export * from 'jest-circus';

const mocker = new ModuleMocker(globalThis);
/** Of `jest` only what the tests that prove rows use. */
export const jest = {
  setTimeout: () => jest,
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
};
