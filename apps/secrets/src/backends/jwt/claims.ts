import { audiencesOf, type Claims, claimAt, isScalar, type Leeways, textsOf, usualLeeways } from '@keystead/auth';
import { Globs } from '../../sdk/globs';
import { refuse } from '../../sdk/refuse';
import { comparable } from './exact-numbers';
import type { JwtRole } from './role';

/** A role's leeway: 0 means the default, a negative value means no leeway. */
function leeway(leewaySeconds: number, usual: number): number {
  return leewaySeconds === 0 ? usual : Math.max(0, leewaySeconds);
}

/** The allowed clock skew of a role's issuer, and the leeways for missing times. */
export const leewaysOf = (role: JwtRole): Leeways => ({
  skew: leeway(role.clock_skew_leeway, usualLeeways.skew),
  expiration: leeway(role.expiration_leeway, usualLeeways.expiration),
  notBefore: leeway(role.not_before_leeway, usualLeeways.notBefore),
});

/** Checks issuer, audience and subject of a token. */
export function checkParties(claims: Claims, role: JwtRole, issuer: string | undefined): void {
  if (issuer !== undefined && claims.iss !== issuer) refuse('invalid issuer (iss) claim');
  const audiences = audiencesOf(claims);
  if (role.bound_audiences.length > 0) {
    const bound = new Set(role.bound_audiences);
    if (!audiences.some((audience) => bound.has(audience))) {
      refuse('invalid audience (aud) claim: it matches no bound audience');
    }
  } else if (audiences.length > 0) {
    // Otherwise a token meant for another audience could be used here.
    refuse('audience claim found in JWT but no audiences bound to the role');
  }
  if (role.bound_subject && claims.sub !== role.bound_subject) refuse('invalid subject (sub) claim');
}

/** Checks that every bound claim has one of the role's values. */
export function checkBoundClaims(claims: Claims, { bound_claims: bound, bound_claims_type: type }: JwtRole): void {
  const compare = new Globs();
  for (const [name, expected] of Object.entries(bound)) {
    const actual = claimAt(claims, name);
    if (actual === undefined) refuse(`claim ${JSON.stringify(name)} is missing`);
    const texts = textsOf(actual);
    if (!texts) refuse(`received claim ${JSON.stringify(name)} is not a string or a list of strings`);
    const expectedTexts = textsOf(comparable(expected)) ?? [];
    const exact = new Set(expectedTexts);
    const matches = (text: string) =>
      exact.has(text) || (type === 'glob' && expectedTexts.some((glob) => compare.fits(glob, text)));
    if (!texts.some(matches)) refuse(`claim ${JSON.stringify(name)} does not match any associated bound claim values`);
  }
}

/** The user: the text of the role's user claim. */
export function userOf(claims: Claims, role: JwtRole): string {
  const { user_claim: name } = role;
  // A claim can have a name that begins with a slash. The name is used as a JSON pointer only if there is no such
  // claim.
  const value = role.user_claim_json_pointer ? claimAt(claims, name) : Object.hasOwn(claims, name) && claims[name];
  if (value === undefined || value === false || value === null)
    refuse(`claim ${JSON.stringify(name)} not found in token`);
  if (typeof value !== 'string' || value === '') {
    refuse(`claim ${JSON.stringify(name)} could not be converted to string`);
  }
  return value;
}

/** The groups that a token names; none if the role has no groups claim, or if the claim is optional and absent. */
export function groupsOf(claims: Claims, { groups_claim: name, groups_claim_optional: optional }: JwtRole): string[] {
  if (!name) return [];
  const value = claimAt(claims, name);
  if (value === undefined) {
    if (optional) return [];
    refuse(
      `${JSON.stringify(name)} claim not found in token: the issuer must send it; if the issuer omits it for users without groups, set groups_claim_optional on the role`,
    );
  }
  const list = Array.isArray(value) ? value : [value];
  if (!list.every((group) => typeof group === 'string')) {
    refuse(`${JSON.stringify(name)} claim could not be converted to string list`);
  }
  return [...new Set(list as string[])].filter((group) => group !== '');
}

/** Metadata of alias and token, from the claims that a role maps, without absent claims. */
export function metadataOf(claims: Claims, { claim_mappings: mappings }: JwtRole): Record<string, string> {
  const metadata: [string, string][] = [];
  for (const [name, key] of Object.entries(mappings)) {
    const value = claimAt(claims, name);
    if (value === undefined) continue;
    if (!isScalar(value)) refuse(`error converting claim ${JSON.stringify(name)} to string`);
    metadata.push([key, String(value)]);
  }
  return Object.fromEntries(metadata);
}
