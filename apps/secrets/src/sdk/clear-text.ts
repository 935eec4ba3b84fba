/** Does what is sent to an address leave this machine without TLS? What is no address is sent nowhere. */
export function leavesInTheClear(url: string): boolean {
  if (!/^(http|ldap):/i.test(url) || !URL.canParse(url)) return false;
  return !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(new URL(url).hostname);
}
