/** A failure the reader can do something about. Its message is shown alone: one line that says what to do. */
export class Stop extends Error {
  override readonly name = 'Stop';
}
