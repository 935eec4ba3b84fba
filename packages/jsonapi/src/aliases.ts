/**
 * Aliases of attributes that existing clients need: `'infra-version': 'other-name'`; `permissions.x` reaches inside.
 */
export type Aliases = Readonly<Record<string, string>>;
