import type { Census } from './census.ts';
import { tableLines } from '../text/markdown-table.ts';
import { count, counted } from '../text/number-text.ts';
import { markdownBlock, markdownCode, markdownText } from '../text/untrusted-text.ts';

/** Formats the attribute census as Markdown. */
export function censusMarkdown(census: Census): string {
  return `${censusSections(census)
    .map((lines) => [...lines].join('\n'))
    .join('\n\n')}\n`;
}

/** Sections of the census in Markdown, each as lines; none without rows. */
export function censusSections(census: Census): readonly Iterable<string>[] {
  if (census.rows.length === 0) return [];
  return [
    ['## Attribute census'],
    [`Sampled for attribute names: ${count(census.sampled)} of ${counted(census.exchanges, 'V1 request')}.`],
    tableLines(
      ['operation', 'attribute', 'requests', 'V2 2xx', 'V2 422', 'at it', 'V1 2xx', 'deprecated', 'change'],
      rowsOf(census),
    ),
    ...(census.omitted > 0
      ? [[`Other names occurred ${counted(census.omitted, 'time')} and are not listed.`]]
      : []),
    ...(census.proposal === ''
      ? []
      : [
          ['V2 does not take these, and no rule removes them. Paste under `changes`, or run with `--apply`:'],
          [markdownBlock('yaml', census.proposal.trimEnd())],
        ]),
    ...(census.suspects.length === 0
      ? []
      : [
          ['Not known whether V2 takes these:'],
          census.suspects.map(
            ({ operation, pointer, why }) =>
              `- ${markdownText(operation)} ${markdownCode(pointer)}: ${markdownText(why)}`,
          ),
        ]),
  ];
}

function* rowsOf({ rows }: Census): Generator<string[], void, undefined> {
  for (const row of rows) {
    yield [
      markdownText(row.operation),
      markdownCode(row.pointer),
      ...[row.count, row.accepted, row.unprocessable, row.named, row.acceptedByV1, row.deprecated].map(count),
      markdownText(row.change ?? ''),
    ];
  }
}
