// What test files import as '@jest/globals' when mutants are played: Jest's own runner and matchers, without Jest.
export { expect } from 'expect';
export * from 'jest-circus';
/** Of `jest` only what the tests that prove rows use. */
export const jest = { setTimeout: () => jest };
