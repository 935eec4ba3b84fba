/** Reads what the host sent with the browser from the fragment of the address, which no server sees, and removes it. */
export function takeReturned(): URLSearchParams | undefined {
  const sent = new URLSearchParams(location.hash.slice(1));
  if (!sent.has('state')) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return sent;
}
