/** What the host sent along with the browser. Behind the mark no server has seen it here, and the address loses it at once. */
export function takeReturned(): URLSearchParams | undefined {
  const sent = new URLSearchParams(location.hash.slice(1));
  if (!sent.has('state')) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return sent;
}
