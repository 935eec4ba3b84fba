import type { Load } from './load';

/** The Lua program that makes wrk send a load and show its figures as one line of JSON. */
export function script({ method, paths, headers = {}, body }: Load, start: number): string {
  const numbered = `${paths.join('')}${body ?? ''}`.includes('{n}');
  return `
local paths = {${paths.map(quote).join(',')}}
local headers = {${Object.entries(headers)
    .map(([name, value]) => `[${quote(name)}]=${quote(value)}`)
    .join(',')}}
local body = ${body === undefined ? 'nil' : quote(body)}
-- wrk builds the first request only to inspect it, and does not send it.
local n, at, made = ${start}, #paths - 1, {}
request = function()
  at = at % #paths + 1
  ${numbered ? numberedRequest : fixedRequest}
end
init = function()
  for i = 1, #paths do made[i] = ${numbered ? 'false' : `wrk.format(${quote(method)}, paths[i], headers, body)`} end
end
done = function(summary, latency)
  local errors = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write
  io.write(string.format('figures {"requestsPerSecond":%.1f,"requests":%d,"p50Ms":%.3f,"p99Ms":%.3f,"errors":%d}\\n',
    summary.requests / (summary.duration / 1e6), summary.requests, latency:percentile(50) / 1000, latency:percentile(99) / 1000, errors))
end
`.replaceAll('METHOD', quote(method));
}

const fixedRequest = 'return made[at]';
const numberedRequest = `n = n + 1
  local text = string.format('%d', n)
  return wrk.format(METHOD, (paths[at]:gsub('{n}', text)), headers, body and (body:gsub('{n}', text)))`;

function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`;
}
