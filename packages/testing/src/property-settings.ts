/**
 * Settings for `fc.configureGlobal`. Ordinary runs use the same random values every time, so that a test that passed
 * once passes again. Runs with --long use different values.
 */
export const propertySettings: { readonly seed?: number } =
  process.env.KEYSTEAD_LONG === undefined ? { seed: 20_261_121 } : {};
