import type { Person } from '../openid';
import type { SamlSettings } from './attributes';
import type { Vouched } from './response';

/** A person identified by the SAML provider. */
export interface SamlPerson extends Person {
  readonly groups: readonly string[];
  /** Whether the provider's groups determine teams; if false, they determine only site administration. */
  readonly fillsTeams: boolean;
  readonly provenAtMs: number;
}

/** Reads who signed in, from the attributes that the settings name. */
export function personOf({ subject, attributes, session, provenAtMs }: Vouched, settings: SamlSettings): SamlPerson {
  const valuesOf = (name: string) => (Object.hasOwn(attributes, name) ? attributes[name]! : []);
  const sent = valuesOf(settings.attrGroups);
  // Some providers send all groups in one value.
  const groups = (sent.length === 1 ? sent[0]!.split(',') : sent).map((group) => group.trim()).filter(Boolean);
  const isSiteAdmin = valuesOf(settings.attrSiteAdmin).some((value) => value.trim().toLowerCase() === 'true');
  const isAddress = /^[^\s@]+@[^\s@]+$/.test(subject);
  return {
    subject,
    username: valuesOf(settings.attrUsername)[0] || subject,
    // The address is used only for a new account. It never selects an existing account.
    email: isAddress ? subject : undefined,
    groups: [...new Set([...groups, ...(isSiteAdmin ? [settings.siteAdminRole] : [])])],
    fillsTeams: settings.teamManagementEnabled,
    session,
    provenAtMs,
  };
}
