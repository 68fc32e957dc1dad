import * as fc from 'fast-check';

/** What parsers of fields, targets and texts split at, alone and with what makes two readings of a run of it possible. */
export const SEPARATORS: readonly string[] = [
  ...String.raw`, ; = " \ < > / ? & # % : - . * ( ) @ *, *;q=0, a= a, ;a= ;a=" \" "\ "," W/" >< <>; gzip, close, 0-, 0-0,`.split(
    ' ',
  ),
  ...'%2f %2F; %25 ../ // [] 00- a 0'.split(' '),
  ' ',
  '\t',
  '; ',
  ' ;',
  ', ',
  ',\t',
  '; path=',
];

/** Text that leads into the syntax of a field, a run of one separator, and what may make all of it invalid. */
export function separatorRuns(maxLength: number): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.constantFrom('', 'a', 'a/b', 'bytes=', 'for="', '00-', '</api/v2/a>', 'a=b', 'gzip'),
      fc.constantFrom(...SEPARATORS),
      fc.nat(maxLength),
      fc.constantFrom('', '!', 'a'),
    )
    .map(([start, separator, length, end]) => runOf(start, separator, length, end));
}

/** A run of one separator in so many characters, with a given beginning and end. */
export function runOf(start: string, separator: string, length: number, end = ''): string {
  return (
    start +
    separator.repeat(Math.max(0, Math.floor((length - start.length - end.length) / separator.length))) +
    end
  );
}
