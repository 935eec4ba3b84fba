import { Refusal } from '@keystead/refusal';

/** Refuses input with this text. */
export function refuse(text: string): never {
  throw new Refusal('invalid', text);
}

/** Whether `read` parses its input, for example a certificate, without an error. */
export function parses(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
