import { refuse } from '../../sdk/refuse';

/** Parses an otpauth URL; missing parts are undefined. Throws `invalid`. */
export function readUrl(text: string) {
  const unreadable = 'an error occurred while parsing url string';
  if (!URL.canParse(text)) refuse(unreadable);
  const url = new URL(text);
  // HOTP codes count uses instead of time, so they would never match.
  if (url.protocol !== 'otpauth:' || url.host.toLowerCase() !== 'totp') {
    refuse('the url value must begin with otpauth://totp/');
  }
  const parameter = (name: string) => url.searchParams.get(name) || undefined;
  const number = (name: string) => {
    const digits = parameter(name);
    if (digits === undefined) return undefined;
    return /^\d{1,9}$/.test(digits) ? Number(digits) : refuse(`an error occurred while parsing ${name} value in url`);
  };
  const label = decoded(url.pathname.replace(/^\//, '')) ?? refuse(unreadable);
  const [before, ...after] = label.split(':');
  const options = {
    issuer: parameter('issuer') ?? (after.length > 0 ? before : undefined),
    period: number('period'),
    digits: number('digits'),
    algorithm: parameter('algorithm'),
  };
  return {
    account_name: after.length > 0 ? after.join(':') : label,
    key: parameter('secret') ?? '',
    ...(Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<{
      [K in keyof typeof options]: NonNullable<(typeof options)[K]>;
    }>),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
