/**
 * Reads the parameters that the host added to the address of the browser, and removes them. They are in the fragment,
 * which no server sees.
 */
export function takeReturned(): URLSearchParams | undefined {
  const sent = new URLSearchParams(location.hash.slice(1));
  if (!sent.has('state')) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return sent;
}
