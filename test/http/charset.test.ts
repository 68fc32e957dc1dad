import { expect, test } from 'vitest';
import { charsetNamed, UTF8 } from '../../src/http/charset.ts';
import { words } from '../support/rows.ts';

/** The printable characters of US-ASCII. */
const ASCII = Uint8Array.from({ length: 95 }, (_, at) => at + 0x20);

test.each(words`utf-8 UTF8 us-ascii ascii ANSI_X3.4-1968`)('%s is read as UTF-8', (name) => {
  expect(charsetNamed(name)).toBe(UTF8);
});

test.each(words`iso-8859-1 ISO-8859-15 windows-1252 windows-874 koi8-u macintosh ibm866 iso-8859-8-i`)(
  'every byte that is a character of %s is written as it was read, and US-ASCII stays the same',
  (name) => {
    const charset = charsetNamed(name);
    expect(charset?.decode(ASCII)).toBe(UTF8.decode(ASCII));
    let characters = 0;
    for (let byte = 0; byte < 256; byte += 1) {
      const bytes = new Uint8Array([byte]);
      const text = charset?.decode(bytes);
      if (text === undefined) continue;
      expect(charset?.encode(text)).toEqual(bytes);
      characters += 1;
    }
    expect(characters).toBeGreaterThan(200);
    expect(charset?.encode('\u65e5')).toBeUndefined();
    expect(charset?.encode('\u{1f600}')).toBeUndefined();
  },
);

test.each(words`shift_jis gbk gb18030 big5 euc-jp euc-kr`)('%s is read, and written in US-ASCII', (name) => {
  const charset = charsetNamed(name);
  expect(charset?.decode(ASCII)).toBe(UTF8.decode(ASCII));
  expect(charset?.encode('day')).toEqual(new TextEncoder().encode('day'));
  expect(charset?.encode('\u65e5')).toBeUndefined();
});

test.each([...words`utf-16 utf-16be iso-2022-jp utf-7 utf-32 cp037 x-unknown hz-gb-2312`, ''])(
  '%s is not read, because it does not contain US-ASCII or is unknown',
  (name) => {
    expect(charsetNamed(name)).toBeUndefined();
    expect(charsetNamed(name)).toBeUndefined();
  },
);
