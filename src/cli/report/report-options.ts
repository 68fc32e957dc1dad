import type { CommandFault } from '../command-fault.ts';

/** Options of `report`. */
export interface ReportOptions {
  readonly format: 'text' | 'json' | 'csv' | 'md' | 'html';
  readonly goneAfter: number;
  readonly names?: string;
  readonly client?: string;
  readonly guide?: true;
  readonly census?: true;
  readonly apply?: true;
  readonly digest?: true;
  readonly openapi?: string;
  readonly at?: string;
  readonly rules: string;
}

type Format = ReportOptions['format'];

/** What `report` can print besides the report, with its formats; `text` stands for the first choice of each. */
const PARTS: readonly (readonly [
  part: 'guide' | 'digest' | 'apply' | 'census',
  formats: readonly Format[],
])[] = [
  ['guide', ['text', 'md', 'html', 'json']],
  ['digest', ['text', 'md', 'json']],
  ['apply', ['text', 'json']],
  ['census', ['text', 'md', 'json']],
];

/** The fault of options of `report` that do not go together. */
export function reportOptionFault(options: ReportOptions): CommandFault | undefined {
  const { format, client } = options;
  if (options.apply === true && options.census !== true) return { fault: '--apply requires --census.' };
  const asked = PARTS.filter(([part]) => options[part] === true);
  const [first, second] = asked.filter(([part]) => part !== 'apply');
  if (first !== undefined && second !== undefined)
    return { fault: `--${first[0]} and --${second[0]} cannot be printed together; give one of them.` };
  if (format === 'html' && options.guide !== true) return { fault: '--format html requires --guide.' };
  if (client !== undefined && options.guide !== true) return { fault: '--client requires --guide.' };
  const [part] = asked;
  if (part === undefined || part[1].includes(format)) return undefined;
  return { fault: `--${part[0]} cannot be printed as ${format}; its formats are ${part[1].join(', ')}.` };
}
