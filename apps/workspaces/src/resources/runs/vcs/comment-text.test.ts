import { describe, expect, it } from '@jest/globals';
import { cellText } from './comment-text';

describe('a string in a comment on a pull request', () => {
  it.each([
    ['Error: @everyone look', 'Error: @\u200beveryone look'],
    ['ask @team/owners, see #12 and !7', 'ask @\u200bteam/owners, see #\u200b12 and !\u200b7'],
    ['a|b\n<img> [x](y) `c`', 'a b \\<img\\> \\[x\\](y) \\`c\\`'],
    ['me at example.com, 100 %!', 'me at example.com, 100 %!'],
    ['see &12, ~label, ~"two words" and %3', 'see &amp;\u200b12, ~\u200blabel, ~\u200b"two words" and %\u200b3'],
    ['&commat;everyone &#64;corp &num;12', '&amp;\u200bcommat;everyone &amp;#\u200b64;corp &amp;\u200bnum;12'],
    ['@\u00adeveryone', '@\u200b\u00adeveryone'],
    ['a & b', 'a &amp; b'],
  ])('of %j mentions no person and formats nothing', (text, shown) => {
    expect(cellText(text)).toBe(shown);
  });
});
