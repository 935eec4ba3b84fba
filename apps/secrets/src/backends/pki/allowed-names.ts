import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { Globs } from '../../sdk/globs';
import { refuse } from '../../sdk/refuse';
import type { AlternativeNames } from './alternative-names';
import { networksOf, type Role } from './role';

const label = '([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const hostName = new RegExp(`^(\\*\\.)?(${label}\\.)*${label}\\.?$`);
const wildcardLabel =
  /^(\*|\*[a-zA-Z0-9-]*[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*\*|[a-zA-Z0-9][a-zA-Z0-9-]*\*[a-zA-Z0-9-]*[a-zA-Z0-9])$/;
const printableAscii = /^[\x20-\x7e]+$/;
const control = /[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

/** A domain in its ASCII form (IDNA). Throws `invalid` if it is not a domain. */
function asciiDomain(name: string): string {
  const converted = printableAscii.test(name) || name === '' ? name : domainToASCII(name);
  const labels = converted.replace(/\.$/, '').split('.');
  if (converted === '' || labels.some((part) => part === '' || part.length > 63) || converted.length > 254) {
    refuse(`idna: invalid label ${JSON.stringify(name)}`);
  }
  return converted;
}

/** Splits the names of a request into email addresses and hosts. Other names go to `leaveOut`. */
export function sortedNames(
  names: readonly string[],
  leaveOut: (name: string) => void,
): Pick<AlternativeNames, 'dns' | 'emails'> {
  const dns: string[] = [];
  const emails: string[] = [];
  for (const name of names) {
    if (name.includes('@')) emails.push(name);
    else {
      const converted = asciiDomain(name);
      if (hostName.test(converted)) dns.push(converted);
      else leaveOut(name);
    }
  }
  return { dns, emails };
}

/** Checks the names of one request against a role. */
export class AllowedNames {
  private readonly globs = new Globs();
  private readonly domains: readonly string[];

  /** `source` is the source of the addresses and URIs, which messages name. */
  constructor(
    private readonly role: Role,
    private readonly source: 'the API' | 'CSR',
  ) {
    this.domains = role.allowed_domains.map((text) => text.toLowerCase());
  }

  /** Throws `invalid` if the role does not allow this common name. */
  checkCommonName(name: string): void {
    const { cn_validations: kinds } = this.role;
    const allowed =
      !control.test(name) &&
      (kinds.includes('disabled') || (this.allows(name) && kinds.includes(name.includes('@') ? 'email' : 'hostname')));
    if (!allowed) refuse(`common name ${shownName(name)} not allowed by this role`);
  }

  /** Throws `invalid` for the first host or email address that the role does not allow. */
  checkHosts(dns: readonly string[], emails: readonly string[]): void {
    for (const [what, list] of [
      ['subject alternate name', dns],
      ['email address', emails],
    ] as const) {
      const bad = list.find((name) => !printableAscii.test(name) || !this.allows(name));
      if (bad !== undefined) refuse(`${what} ${shownName(bad)} not allowed by this role`);
    }
  }

  /** Throws `invalid` if the role does not allow this serial number in the subject. */
  checkSerialNumber(text: string): void {
    if (!this.fitsOne(this.role.allowed_serial_numbers, text)) refuse(`serial_number ${text} not allowed by this role`);
  }

  checkUserIds(texts: readonly string[]): void {
    const globs = this.role.allowed_user_ids.map((glob) => glob.toLowerCase());
    const bad = texts.find((text) => control.test(text) || !this.fitsOne(globs, text.toLowerCase()));
    if (bad !== undefined) refuse(`user_id ${shownName(bad)} is not allowed by this role`);
  }

  private fitsOne(globs: readonly string[], text: string): boolean {
    return globs.some((glob) => this.globs.fits(glob, text));
  }

  checkOthers(others: AlternativeNames['others']): void {
    const { allowed_other_sans: allowed } = this.role;
    if (allowed.length === 1 && allowed[0] === '*') return;
    for (const { oid, text } of others) {
      const globs = allowed.filter((one) => one.startsWith(`${oid};`)).map((one) => one.slice(one.indexOf(':') + 1));
      if (globs.length === 0) refuse(`other SAN OID ${oid} not allowed by this role`);
      if (!this.fitsOne(globs, text)) refuse(`other SAN ${shownName(text)} not allowed for OID ${oid} by this role`);
    }
  }

  checkAddresses(addresses: readonly string[]): void {
    if (addresses.length === 0) return;
    if (!this.role.allow_ip_sans) {
      refuse(`IP Subject Alternative Names are not allowed in this role, but was provided via ${this.source}`);
    }
    const networks = networksOf(this.role);
    const bad =
      networks && addresses.find((address) => !networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'));
    if (bad !== undefined) refuse(`the IP address "${bad}" is not allowed in this role`);
  }

  checkUris(uris: readonly string[]): void {
    if (uris.length === 0) return;
    const { allowed_uri_sans: globs } = this.role;
    const about = 'URI Subject Alternative Names';
    if (globs.length === 0) refuse(`${about} are not allowed in this role, but were provided via ${this.source}`);
    for (const uri of uris) {
      if (!printableAscii.test(uri) || !URL.canParse(uri)) {
        refuse(`the provided URI Subject Alternative Name ${JSON.stringify(uri)} is not a valid URI`);
      }
      if (!this.fitsOne(globs, uri))
        refuse(`${about} were provided via ${this.source} which are not valid for this role`);
    }
  }

  /** Compares domains; their case is ignored. */
  private allows(name: string): boolean {
    const { role } = this;
    if (control.test(name)) return false;
    const at = name.split('@');
    if (at.length > 2) return false;
    const isEmail = at.length === 2;
    const domain = at.at(-1)!.toLowerCase();
    const isWildcard = domain.includes('*');
    const dot = domain.indexOf('.');
    const first = dot < 0 ? domain : domain.slice(0, dot);
    const reduced = !isWildcard ? domain : dot < 0 ? '' : domain.slice(dot + 1);
    if (isWildcard) {
      if (!role.allow_wildcard_certificates || isEmail) return false;
      if (domain.indexOf('*') !== domain.lastIndexOf('*') || reduced.includes('*')) return false;
    }
    if (role.enforce_hostnames) {
      if (reduced !== '' && !isHost(reduced)) return false;
      if (isWildcard && !wildcardLabel.test(first)) return false;
    }
    if (isIP(name) !== 0 && !this.allowsAddress(name)) return false;
    if (role.allow_any_name) return true;
    const below = (base: string) => reduced.endsWith(`.${base}`) || (isWildcard && reduced === base);
    if (role.allow_localhost) {
      const local = ['localhost', 'localdomain'];
      if (local.includes(domain)) return true;
      if (role.allow_subdomains && local.some(below)) return true;
    }
    const whole = isEmail ? `${at[0]}@${domain}` : domain;
    return this.domains.some((allowed) => {
      if (role.allow_bare_domains && (domain === allowed || whole.toLowerCase() === allowed)) return true;
      if (role.allow_subdomains && below(allowed)) return true;
      return role.allow_glob_domains && allowed.includes('*') && this.globs.fits(allowed, whole.toLowerCase());
    });
  }

  /** An IP address is allowed as a host name only if the role allows it as an IP SAN. */
  private allowsAddress(text: string): boolean {
    if (!this.role.allow_ip_sans) return false;
    return networksOf(this.role)?.check(text, isIP(text) === 4 ? 'ipv4' : 'ipv6') ?? true;
  }
}

function isHost(name: string): boolean {
  try {
    return hostName.test(asciiDomain(name));
  } catch {
    return false;
  }
}

/** A name for a message, with control characters escaped. */
const shownName = (name: string): string => (control.test(name) ? JSON.stringify(name) : name);
