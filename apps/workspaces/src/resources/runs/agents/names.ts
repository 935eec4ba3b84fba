import { camel, dashed } from '@keystead/jsonapi';

const renamed = (value: object, name: (key: string) => string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([key, one]) => [name(key), one]));

/** The same with the names that are sent: `run-id` for `runId`. */
export const toWire = (value: object): Record<string, unknown> => renamed(value, dashed);

/** The same with our own names. */
export const fromWire = (value: object): Record<string, unknown> => renamed(value, camel);
