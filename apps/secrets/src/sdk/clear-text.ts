/** Whether text sent to an address leaves this machine without TLS. False for text that is not an address. */
export function leavesInTheClear(url: string): boolean {
  if (!/^(http|ldap):/i.test(url) || !URL.canParse(url)) return false;
  return !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(new URL(url).hostname);
}
