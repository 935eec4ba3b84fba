/**
 * Settings for `fc.configureGlobal`: ordinary runs use the same random values every time, so that a test that passed
 * once passes again; runs with --long use different ones.
 */
export const propertySettings: { readonly seed?: number } =
  process.env.KEYSTEAD_LONG === undefined ? { seed: 20_261_121 } : {};
