import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const src = path.resolve(__dirname, '../src');

// CONTRIBUTING.md says how both consoles offer to create something.
describe('a button that creates an object', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.tsx'))
    .map((file) => [file, readFileSync(path.join(src, file), 'utf8')] as const);
  const found = (what: RegExp) =>
    files.flatMap(([file, text]) => [...text.matchAll(what)].map(([whole]) => `${file}: ${whole.trim()}`));

  it('is named after its action, not after the new object', () => {
    // A label of a field may begin with "New": `New path`.
    const title = '(?:title|action|(?<=Opener |Creator |\\{ )label)(?:=|: )[{"\'`]*New [a-z ]+';
    expect(found(new RegExp(`${title}|>\\s*New [a-z {]+\\}?\\s*</(?:Button|CreateButton|Link)>`, 'g'))).toEqual([]);
  });

  it('has the same words as the title of its dialog and the button that submits it', () => {
    const dialogs = files.flatMap(([file, text]) =>
      [
        ...text.matchAll(
          /<FormDialog\s[^>]*?title="((?:Create|Add|Invite|Publish|Start)[^"]*)"[^>]*?action="([^"]*)"/g,
        ),
      ].map(([, title, action]) => ({ file, title, action })),
    );
    expect(dialogs.length).toBeGreaterThan(15);
    expect(dialogs.filter(({ title, action }) => title !== action)).toEqual([]);
  });
});
