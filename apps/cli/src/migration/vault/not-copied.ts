import { Refused } from '../refused';
import { labelOf, type NamespacePair } from './job';
import type { Data } from './server';

/** Content that is not copied: its list, and its name in the report. */
const lists: readonly (readonly [path: string, what: string])[] = [
  ['sys/quotas/rate-limit', 'rate limits'],
  ['sys/quotas/lease-count', 'lease counts'],
  ['sys/policies/rgp', 'role governing policies'],
  ['sys/policies/egp', 'endpoint governing policies'],
  ['identity/mfa/method', 'methods of second factors'],
  ['identity/mfa/login-enforcement', 'enforcements of second factors'],
  ['identity/oidc/key', 'signing keys of identity tokens'],
  ['identity/oidc/role', 'roles of identity tokens'],
  ['identity/oidc/client', 'clients of the identity provider'],
  ['identity/oidc/provider', 'identity providers'],
  ['sys/config/auditing/request-headers', 'audited headers'],
];

/** Created by every server itself. */
const builtInNames = ['default'];

/** Reports content that is not copied at all. */
export async function reportNotCopied(place: NamespacePair): Promise<void> {
  const devices = await findShown(place, 'sys/audit', 'audit devices');
  const isDevice = (device: unknown) => typeof (device as { type?: unknown } | null)?.type === 'string';
  tell(
    place,
    'audit devices',
    Object.keys(devices ?? {}).filter((name) => isDevice(devices?.[name])),
  );
  for (const [path, what] of lists) {
    const found = await findShown(place, path, what, { list: 'true' });
    const names = (Array.isArray(found?.keys) ? found.keys : []).map(String);
    tell(
      place,
      what,
      names.filter((name) => !builtInNames.includes(name)),
    );
  }
}

/** The visible names; missing lists are treated as empty, hidden ones are reported. */
async function findShown(
  { job, from }: NamespacePair,
  path: string,
  what: string,
  query: Record<string, string> = {},
): Promise<Data | undefined> {
  try {
    return await from.find(path, query);
  } catch (error) {
    if (!(error instanceof Refused) || error.isFinal) throw error;
    if (error.status === 403) job.report.miss(what, false);
    return undefined;
  }
}

function tell(place: NamespacePair, what: string, names: readonly string[]): void {
  if (names.length === 0) return;
  place.job.report.manualStep(`${labelOf(place, what)}: not copied: ${firstOf(names)}`);
}

/** The first of some names, and how many more there are. */
export function firstOf(names: readonly string[]): string {
  const more = names.length > 20 ? ` and ${names.length - 20} more` : '';
  return `${names.slice(0, 20).join(', ')}${more}`;
}
