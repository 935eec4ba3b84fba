/** Types that client generators do not know, each with a general type for its bytes. */
const plainTypes: ReadonlyMap<string, string> = new Map([
  ['application/gzip', 'application/octet-stream'],
  ['application/samlmetadata+xml', 'text/xml'],
]);

const bare = (type: string): string => type.split(';', 1)[0]!.trim().toLowerCase();

/** The general type for a media type; undefined if all clients know the type itself. */
export const plainTypeOf = (type: string): string | undefined => plainTypes.get(bare(type));

/**
 * The media type to send: the content's own type, unless the Accept header names the general type and not the content's
 * own type.
 */
export function typeAsAccepted(type: string, accept: string | undefined): string {
  const plain = plainTypeOf(type);
  if (plain === undefined || accept === undefined) return type;
  const accepted = accept.split(',').map(bare);
  if (!accepted.includes(plain) || accepted.includes(bare(type))) return type;
  const [, ...parameters] = type.split(';');
  return [plain, ...parameters].join(';');
}
