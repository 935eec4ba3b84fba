import { type Ca, certificateOf, type Issuer } from './ca';
import { isSelfSigned, isSignedBy } from './certificate';

const chains = new WeakMap<Ca, Map<string, readonly Issuer[]>>();

/** The issuer and its parents in the mount. Cached until the issuers change. */
export function chainOf(ca: Ca, issuer: Issuer): readonly Issuer[] {
  let cached = chains.get(ca);
  if (!cached) {
    cached = new Map();
    chains.set(ca, cached);
  }
  let chain = cached.get(issuer.issuer_id);
  if (!chain) {
    chain = issuer.manual_chain.length > 0 ? chainByHand(ca, issuer) : chainAbove(ca, issuer);
    cached.set(issuer.issuer_id, chain);
  }
  return chain;
}

const chainByHand = (ca: Ca, issuer: Issuer): readonly Issuer[] =>
  issuer.manual_chain.flatMap((id) => ca.issuers[id] ?? []);

/**
 * The issuer and its parents, up to a root. If an issuer has several parents, all are included, latest expiry first.
 */
function chainAbove(ca: Ca, issuer: Issuer): readonly Issuer[] {
  const chain: Issuer[] = [issuer];
  for (const one of chain) {
    if (isSelfSigned(certificateOf(one))) continue;
    const above = Object.values(ca.issuers)
      .filter((other) => !chain.includes(other) && isSignedBy(certificateOf(one), certificateOf(other)))
      .sort((a, b) => certificateOf(b).notAfterMs - certificateOf(a).notAfterMs);
    chain.push(...above);
  }
  return chain;
}
