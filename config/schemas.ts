import { readFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { entrySchema } from '../src/rewrite-log/entry-schema.ts';
import { ALL_BOOKS } from '../src/rules/kinds/books.ts';
import { ruleBookForm } from '../src/rules/rule-book-source.ts';
import { exitCodesTable } from '../src/cli/command-fault.ts';
import { settingsExample, settingsLists } from '../src/cli/setting-options.ts';
import { VALUE_CHECKS } from '../src/rules/value-checks.ts';

/** Files of rules for Prometheus, in the order in which their groups are evaluated. */
const RULE_FILES = ['deploy/prometheus/recording.yaml', 'deploy/prometheus/alerts.yaml'] as const;

/** The generated JSON Schemas, by path below the project's root. */
export const schemas: readonly (readonly [file: string, schema: z.ZodType])[] = [
  ['config/rules.schema.json', ruleBookForm(ALL_BOOKS, VALUE_CHECKS).schema],
  ['config/entry.schema.json', entrySchema],
];

/** Prints a zod schema as the JSON Schema of its input, in draft 7, which editors support best. */
export function printSchema(schema: z.ZodType): string {
  return `${JSON.stringify(z.toJSONSchema(schema, { target: 'draft-7', io: 'input' }), undefined, 2)}\n`;
}

/** The pages with generated tables. */
const SETTINGS_PAGE = 'docs/settings.md';
const EXIT_CODES_PAGE = 'docs/operating.md';

/** Sources that say what the process log and the metrics have. */
const EVENTS_SOURCE = 'src/node/log/process-log.ts';
const METRICS_SOURCE = 'src/rewrite-log/metric-families.ts';

/** Returns every generated text by path; `read` gives the current text of a file by its path. */
export async function generatedTexts(
  read: (file: string) => string,
): Promise<readonly (readonly [file: string, text: string])[]> {
  return [
    ...schemas.map(([file, schema]) => [file, printSchema(schema)] as const),
    ['config/gateway.env.example', settingsExample()],
    [SETTINGS_PAGE, replaceTable(read(SETTINGS_PAGE), 'settings', settingsLists())],
    [EXIT_CODES_PAGE, replaceTable(read(EXIT_CODES_PAGE), 'exit-codes', exitCodesTable())],
    ['docs/api/rewrite-log.md', logFieldsPage()],
    ['docs/api/process-log.md', eventsPage(read(EVENTS_SOURCE))],
    ['docs/api/metrics.md', metricsPage(read(METRICS_SOURCE))],
    ['deploy/kubernetes/monitoring/rules.yaml', prometheusRule(RULE_FILES.map(read))],
  ];
}

function replaceTable(page: string, name: string, table: string): string {
  // Not proven linear: the pages are ours.
  const marked = new RegExp(`(<!-- ${name} -->\\n)[^]*?(<!-- /${name} -->)`);
  return page.replace(marked, (_, start: string, end: string) => `${start}\n${table}\n${end}`);
}

/** Returns the page with the fields of a rewrite log entry, from the schema of the log. */
function logFieldsPage(): string {
  const { properties = {}, required = [] } = z.toJSONSchema(entrySchema, { target: 'draft-7', io: 'input' });
  const rows = Object.entries(properties).map(([name, field]) => {
    const presence = required.includes(name) ? 'always' : '';
    return `| \`${name}\` | ${presence} | ${typeof field === 'boolean' ? '' : meaningOf(field)} |`;
  });
  const head = ['| field | present | meaning |', '|---|---|---|'];
  return referencePage('Fields of the rewrite log', 'config/entry.schema.json', 'the-rewrite-log', [
    ...head,
    ...rows,
  ]);
}

/** Returns the page with the events of the process log, from the table in their source. */
function eventsPage(source: string): string {
  const rows = [...source.matchAll(/^ \* (\|.*)$/gm)].map(([, row = '']) => row);
  return referencePage('Events of the process log', EVENTS_SOURCE, 'the-process-log', rows);
}

/** Returns the page with the metrics, from the words that `/metrics` prints beside them. */
function metricsPage(source: string): string {
  const families =
    /\b(family|gauge|counter|byReason)\(\s*'([a-z0-9_]+)',(?:\s*'(counter|gauge|histogram)',)?\s*(?:'([^']+)'|"([^"]+)")/g;
  const rows = [...source.matchAll(families)].map(
    ([, maker = '', name = '', type = maker === 'gauge' ? maker : 'counter', plain, quoted = '']) =>
      `| \`${name}\` | ${type} | ${plain ?? quoted} |`,
  );
  const head = ['| metric | type | meaning |', '|---|---|---|'];
  return referencePage('Metrics', METRICS_SOURCE, 'metrics', [...head, ...rows]);
}

/** Returns a page that has nothing but a table, made from a file of the project. */
function referencePage(title: string, source: string, section: string, table: readonly string[]): string {
  const note = `Generated from [${source}](../../${source}) by \`npm run generate\`; [operating.md](../operating.md#${section}) has more.`;
  return `# ${title}\n\n${note}\n\n${table.join('\n')}\n`;
}

function meaningOf({ type, description, enum: values }: z.core.JSONSchema.BaseSchema): string {
  const words = (values ?? []).map((value) => `\`${String(value)}\``).join(', ');
  const meaning = description ?? (words === '' ? (type ?? '') : '');
  return [words, meaning]
    .filter((part) => part !== '')
    .join('. ')
    .replaceAll('|', String.raw`\|`);
}

/** Returns the rule files as one `PrometheusRule` of the Prometheus Operator (monitoring.coreos.com/v1); their comments are kept. */
function prometheusRule(files: readonly string[]): string {
  const groups = files.map((text) => text.slice(text.indexOf(GROUPS) + GROUPS.length)).join('');
  return `${HEAD}${groups.replaceAll(/^(?=.)/gm, '  ')}`;
}

const GROUPS = 'groups:\n';

const HEAD = `# Generated from deploy/prometheus (npm run generate): its rules as an object of the Prometheus Operator.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: capture-gateway
spec:
  ${GROUPS}`;

if (import.meta.main) {
  const root = new URL('../', import.meta.url);
  const read = (file: string): string => readFileSync(new URL(file, root), 'utf8');
  for (const [file, text] of await generatedTexts(read)) {
    writeFileSync(new URL(file, root), text);
  }
}
