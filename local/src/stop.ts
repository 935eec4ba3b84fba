/** A failure that the reader can fix. Only its message is shown: one line that says what to do. */
export class Stop extends Error {
  override readonly name = 'Stop';
}
