import { Refusal } from '@keystead/refusal';

/** Refuses malformed base64 at a position, in the wording that clients expect. */
const illegal = (at: number): never => {
  throw new Refusal('invalid', `illegal base64 data at input byte ${at}`);
};

/** Decodes padded base64; ignores line ends. Throws `invalid`. */
export function decodeBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (text.length % 4 === 0 && bytes.toString('base64') === text) return bytes;
  const plain = text.replace(/[\r\n]/g, '');
  const bad = /[^A-Za-z0-9+/]/.exec(plain);
  const digits = bad?.index ?? plain.length;
  if (bad && bad[0] !== '=') illegal(digits);
  const open = digits % 4;
  if (!bad) return open === 0 ? Buffer.from(plain, 'base64') : illegal(digits - open);
  if (open < 2) illegal(digits);
  const padded = digits + 4 - open;
  if (plain.length < padded) illegal(plain.length);
  if (open === 2 && plain[digits + 1] !== '=') illegal(digits + 1);
  if (plain.length > padded) illegal(padded);
  return Buffer.from(plain, 'base64');
}

/** Like decodeBase64, but refuses with `problem`, which may include the reason. */
export function decodeField(text: string, problem: string | ((reason: string) => string)): Buffer {
  try {
    return decodeBase64(text);
  } catch (error) {
    throw new Refusal('invalid', typeof problem === 'string' ? problem : problem((error as Error).message));
  }
}
