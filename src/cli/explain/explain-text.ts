import type { Explanation } from '../../inspector/api.ts';
import { refusalText } from '../../rewrite/malformed.ts';
import { terminalLines, terminalText } from '../../report/text/untrusted-text.ts';
import { printColumns } from '../terminal/columns.ts';
import { isSameJsonLine, lineDiff } from '../../inspector/diff/line-diff.ts';
import { painter, type Style, type Terminal } from '../terminal/terminal.ts';
import { wrapLines } from '../terminal/wrap-text.ts';

const VERDICTS: Readonly<Record<Explanation['verdict'], Style>> = {
  rewritten: 'yellow',
  unchanged: 'green',
  refused: 'red',
  passed: 'dim',
  served: 'dim',
};

/** Formats an explanation for a terminal. Requests and bodies keep their lines. */
export function explainText(name: string, explanation: Explanation, terminal: Terminal): string {
  const paint = painter(terminal);
  const columns = terminal.columns === undefined ? undefined : terminal.columns - INDENT.length;
  const title = (text: string): string => paint('bold', text);
  const { verdict, operation, v1Request, v2Request, refusal, edits, diff, policies, rules, live } =
    explanation;
  const silent = rules.filter((rule) => !rule.applied);
  const used = policies.filter((policy) => policy.used);
  // That the body is flat already is told by its policy and its rule: nothing is edited.
  const made = edits.filter(({ note }) => note !== 'already-flat');
  const sections = [
    `${title(terminalText(name))}  ${paint(VERDICTS[verdict], verdict)}${operation === undefined ? '' : `  ${operation}`}`,
    refusal === undefined
      ? ''
      : `${paint('red', `${refusal.status} ${refusal.code}`)}${refusal.pointer === undefined ? '' : ` at ${refusal.pointer === '' ? 'the body' : terminalText(refusal.pointer)}`}\n${wrapLines(terminalText(refusalText(refusal)), terminal.columns, 0)}`,
    live === undefined
      ? ''
      : `${title('Live traffic, by the rule book alone')}\n${indent(
          wrapLines([...live.map(terminalText), RUN_TIME_MODES].join('\n'), columns, 0),
        )}`,
    made.length === 0
      ? ''
      : `${title('Edits')}\n${indent(
          printColumns(
            ['change', 'rule', 'from', 'to', 'note'],
            made.map(({ change, rule, from, path, note }) => [
              change,
              rule,
              terminalText(from ?? ''),
              path === undefined ? 'dropped' : path === '' ? 'the body' : terminalText(path),
              note ?? '',
            ]),
            { columns },
          ),
        )}`,
    diff?.after === undefined || verdict !== 'rewritten'
      ? ''
      : `${title('Diff')}\n${lineDiff(terminalLines(diff.before), terminalLines(diff.after), isSameJsonLine)
          .map(
            ({ sign, text }) =>
              `  ${sign === ' ' ? `  ${text}` : paint(sign === '-' ? 'red' : 'green', `${sign} ${text}`)}`,
          )
          .join('\n')}`,
    v2Request === undefined
      ? ''
      : `${title('V2 request')}\n${indent(
          [
            terminalText(`${v2Request.method} ${v2Request.target}`),
            ...v2Request.headers.map(({ name: field, value }) => terminalText(`${field}: ${value}`)),
            ...(explanation.v2Body === undefined || explanation.v2Body === ''
              ? []
              : ['', terminalLines(explanation.v2Body)]),
          ].join('\n'),
        )}`,
    used.length === 0
      ? ''
      : `${title('Policies that decided')}\n${indent(used.map(({ policy, value }) => `${policy}: ${value}`).join('\n'))}`,
    verdict === 'passed' || silent.length === 0
      ? ''
      : `${title('Rules that did nothing')}\n${indent(
          printColumns(
            ['change', 'rule', 'why'],
            silent.map(({ change, text, why }) => [change, terminalText(text), terminalText(why)]),
            { columns },
          ),
        )}`,
    v1Request.body.state === 'none' || explanation.note === undefined
      ? ''
      : `The body was left untouched: ${explanation.note}.`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

const RUN_TIME_MODES = 'Modes that operators chose at run time are not known to this command.';

const INDENT = '  ';

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, INDENT);
}
