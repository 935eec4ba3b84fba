/**
 * Settings for `fc.configureGlobal`: ordinary runs try the same random values every time, so that a test which passed once
 * passes again; runs with --long try others each time.
 */
export const propertySettings: { readonly seed?: number } =
  process.env.KEYSTEAD_LONG === undefined ? { seed: 20_261_121 } : {};
