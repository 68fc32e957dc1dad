import type { ComponentChildren, RefObject, VNode } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { TrialDifference, TrialOutcome } from '../../api.ts';
import { postText, useAttempt } from '../admin-client.ts';
import { clockTime, count, counted } from '../format.ts';
import type { Go } from '../page-state.ts';
import {
  Button,
  Card,
  classes,
  CopyButton,
  Fault,
  Form,
  LinkButton,
  type PageTools,
  useScrollTo,
  visibleText,
} from '../parts.tsx';

/** The text of a trial, and what shows its outcome. */
export interface TrialDraft extends Pick<PageTools, 'go' | 'announce'> {
  /** Undefined while the text is that of the rule book in force. */
  readonly draft: string | undefined;
  readonly setDraft: (draft: string | undefined) => void;
}

interface RulesTrialProps extends TrialDraft {
  /** The source text of the rule book in force. */
  readonly text: string;
  /** The text of its file, if that was refused: it is what is mended. */
  readonly refused: string | undefined;
  /** The path of its file; undefined where the gateway reads none. */
  readonly file: string | undefined;
  /** The result for the text, or its faults; undefined before a run, and after an edit. */
  readonly run: TrialOutcome | undefined;
  readonly setRun: (run: TrialOutcome | undefined) => void;
}

/** Edits the rule book as a trial, shows which of the kept exchanges would differ, and exports the change as a patch. */
export function RulesTrial(props: RulesTrialProps): VNode {
  const { text, refused, file, go, announce, draft, setDraft, run, setRun } = props;
  const shown = draft ?? refused ?? text;
  const [fault, attempt] = useAttempt();
  const [isBusy, setIsBusy] = useState(false);
  const outcome = useScrollTo<HTMLElement>(run?.result);
  const change = (next: string | undefined): void => {
    setDraft(next);
    setRun(undefined);
  };
  const tryOut = async (): Promise<void> => {
    setIsBusy(true);
    await attempt(async () => setRun(await postText<TrialOutcome>('rules/try', shown)));
    setIsBusy(false);
  };
  useEffect(() => {
    if (draft !== undefined) return;
    setRun(undefined);
    // Its faults stand at their lines at once.
    if (refused !== undefined) void tryOut();
  }, [refused]);
  const faults = run?.faults ?? [];
  return (
    <>
      <Card heading="Try a change" note="on the kept exchanges; nothing is applied from here">
        <Form class="trial" onSubmit={tryOut}>
          <div class="table-tools">
            <label for="rules-draft">
              {draft === undefined && refused !== undefined ? 'The refused file' : 'Rule book'}
            </label>
            <BookSearch text={shown} />
          </div>
          <BookEditor text={shown} faults={faults} onInput={change} />
          <div class="actions">
            <button type="submit" class="button primary" disabled={isBusy}>
              {isBusy ? 'Trying…' : 'Try it'}
            </button>
            <span role="status">{isBusy ? 'The rule book is tried on the kept exchanges.' : ''}</span>
            {draft !== undefined && (
              <>
                <CopyButton
                  text={draft}
                  label="Copy the rule book"
                  done="Copied: the rule book."
                  announce={announce}
                />
                <a
                  class="button"
                  href={`data:application/yaml;charset=utf-8,${encodeURIComponent(draft)}`}
                  download="rules.yaml"
                >
                  Download the rule book
                </a>
                <Button onClick={() => change(undefined)}>
                  {refused === undefined ? 'Back to the rule book in force' : 'Back to the refused file'}
                </Button>
              </>
            )}
            {draft === undefined && refused !== undefined && (
              <Button onClick={() => change(text)}>Show the rule book in force</Button>
            )}
          </div>
          {draft !== undefined && <p>{comesIntoForce('Put it into', file)}</p>}
          <Fault text={fault} />
        </Form>
        {run !== undefined && run.result === undefined && faultList(run.faults, shown)}
      </Card>
      {run?.result !== undefined && differencesCard(run.result, run.against, { file, go, announce, outcome })}
    </>
  );
}

/** Exchanges of one difference that can be opened; the others differ in the same way. */
const MOST_OPENED = 6;

interface BookEditorProps {
  readonly text: string;
  readonly faults: TrialOutcome['faults'];
  readonly onInput: (text: string) => void;
}

/** A text with line numbers; long lines are wrapped, and lines with a fault are marked. */
function BookEditor({ text, faults, onInput }: BookEditorProps): VNode {
  const faulty = new Map(faults.map(({ line, message }) => [line, message]));
  useLayoutEffect(() => {
    const [first] = faults;
    if (first !== undefined) showLine(first.line);
  }, [faults]);
  return (
    <div class="book-editor" id={EDITOR}>
      {/* Hidden lines under those of the field give each number its place, however often its line is wrapped. */}
      <div class="line-numbers" aria-hidden>
        {text.split('\n').map((line, index) => (
          <span key={index} class={classes(faulty.has(index + 1) && 'faulty')} title={faulty.get(index + 1)}>
            <b>{index + 1}</b>
            {line === '' ? ' ' : line}
          </span>
        ))}
      </div>
      <textarea
        id="rules-draft"
        class="file"
        rows={24}
        spellcheck={false}
        value={text}
        aria-invalid={faults.length > 0}
        aria-describedby={faults.length > 0 ? 'rules-faults' : undefined}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </div>
  );
}

const EDITOR = 'book-editor';

/** Finds a text in the editor: Enter selects the next place that has it, and Shift and Enter the one before. */
function BookSearch({ text }: { readonly text: string }): VNode {
  const [sought, setSought] = useState('');
  const [at, setAt] = useState(0);
  const places = sought === '' ? [] : placesOf(text, sought);
  const show = (next: number): void => {
    const place = places.at(next % Math.max(1, places.length));
    if (place === undefined) return;
    setAt(next);
    select(place, place + sought.length);
  };
  return (
    <>
      <span role="status">{sought === '' ? '' : counted(places.length, 'place')}</span>
      <input
        type="search"
        aria-label="Find in it"
        placeholder="find, with Enter"
        value={sought}
        onInput={({ currentTarget }) => {
          setSought(currentTarget.value);
          setAt(-1);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          // The form would be sent.
          event.preventDefault();
          show(at + (event.shiftKey ? -1 : 1));
        }}
      />
    </>
  );
}

/** Where a text has another one, in upper or lower case. */
function placesOf(text: string, sought: string): readonly number[] {
  const [whole, part] = [text.toLowerCase(), sought.toLowerCase()];
  const places: number[] = [];
  for (let at = whole.indexOf(part); at !== -1; at = whole.indexOf(part, at + part.length)) places.push(at);
  return places;
}

/** Selects characters of the editor, and scrolls their line to the middle. */
function select(start: number, end: number): HTMLTextAreaElement | undefined {
  const field = document.getElementById('rules-draft');
  if (!(field instanceof HTMLTextAreaElement)) return undefined;
  field.setSelectionRange(start, end);
  showLine(field.value.slice(0, start).split('\n').length)?.scrollIntoView({ block: 'nearest' });
  return field;
}

/** Puts the cursor at a fault, and scrolls it to the middle. */
function goToLine(text: string, line: number, column: number): void {
  const before = text.split('\n').slice(0, line - 1);
  const at = before.reduce((sum, one) => sum + one.length + 1, 0) + Math.max(0, column - 1);
  select(at, at)?.focus({ preventScroll: true });
}

/** Scrolls a line into the middle of what the editor shows; returns the editor. */
function showLine(line: number): HTMLElement | undefined {
  const editor = document.getElementById(EDITOR);
  const shown = editor?.querySelector<HTMLElement>(`.line-numbers span:nth-child(${line})`);
  if (editor === null || shown === null || shown === undefined) return undefined;
  editor.scrollTop = shown.offsetTop - editor.clientHeight / 2;
  return editor;
}

function faultList(faults: TrialOutcome['faults'], text: string): VNode {
  return (
    <div class="trial-outcome" role="alert">
      <h4>{`${counted(faults.length, 'fault')}: a gateway would refuse this rule book`}</h4>
      <ul class="plain" id="rules-faults">
        {faults.map(({ line, column, message }) => (
          <li key={`${line} ${column} ${message}`}>
            <LinkButton
              onClick={() => goToLine(text, line, column)}
            >{`Line ${line}, column ${column}`}</LinkButton>
            {': '}
            {visibleText(message)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function differencesCard(
  result: NonNullable<TrialOutcome['result']>,
  against: string,
  {
    file,
    go,
    announce,
    outcome,
  }: Pick<PageTools, 'go' | 'announce'> &
    Pick<RulesTrialProps, 'file'> & { readonly outcome: RefObject<HTMLElement | null> },
): VNode {
  const { exchanges, differing, patch } = result;
  return (
    <section class="card explanation trial-outcome" aria-label="Outcome of the trial" ref={outcome}>
      <div role="status">
        <h4>{summary(result)}</h4>
        {schemaVerdict(result.schema)}
      </div>
      <p class="lead">{notes(result, against)}</p>
      {[...Map.groupBy(exchanges, differenceWords)].map(([words, group]) =>
        differenceGroup(words, group, go),
      )}
      {differing > exchanges.length && (
        <p>{`${counted(differing - exchanges.length, 'further exchange')}, not listed.`}</p>
      )}
      {patch !== '' && (
        <details class="patch">
          <summary>The change as a patch</summary>
          <p>{comesIntoForce('With patch or git apply, apply it to', file)}</p>
          <pre class="file" tabIndex={0}>
            {patch}
          </pre>
          <div class="actions">
            <CopyButton text={patch} label="Copy the patch" done="Copied: the patch." announce={announce} />
            <a
              class="button"
              href={`data:text/x-diff;charset=utf-8,${encodeURIComponent(patch)}`}
              download="rules.patch"
            >
              Download
            </a>
          </div>
        </details>
      )}
    </section>
  );
}

function summary({ tried, differing }: NonNullable<TrialOutcome['result']>): string {
  if (tried === 0) return 'No kept exchange could be tried.';
  return `${differing === 0 ? 'None' : count(differing)} of the ${counted(tried, 'exchange')} that could be tried would differ.`;
}

/** Why exchanges were not tried. */
const UNTRIED = [
  ['onPurpose', 'refused on purpose at the end of V1'],
  ['withoutBody', 'the body is not kept'],
  ['unread', 'the request cannot be read'],
  ['outOfTime', 'the time of a trial was used up'],
] as const;

/** The limits of the trial. */
function notes(
  { isCut, tried, untried, responses, withoutValues, patch }: NonNullable<TrialOutcome['result']>,
  against: string,
): string {
  return [
    patch === ''
      ? `The text is unchanged from the rule book in force, ${against}.`
      : `Compared with the rule book in force, ${against}.`,
    ...(isCut === true
      ? ['Older exchanges are kept as well: a trial takes the newest ones of each operation.']
      : []),
    ...UNTRIED.flatMap(([name, why]) =>
      untried[name] === 0 ? [] : [`${counted(untried[name], 'kept exchange')} not tried: ${why}.`],
    ),
    responses === tried
      ? 'The responses of all tried exchanges were compared as well.'
      : responses === 0
        ? 'No responses were compared: what V2 responded is not kept.'
        : `The responses of ${count(responses)} of ${counted(tried, 'tried exchange')} were compared: what V2 responded to the others is not kept.`,
    ...(withoutValues > 0
      ? [
          `The values of ${count(withoutValues)} are not kept: placeholders replace them, and rules that map values have no effect on those.`,
        ]
      : []),
  ].join(' ');
}

/** What V2's schema says of the changed requests: nothing was sent to V2 itself. */
function schemaVerdict(schema: NonNullable<TrialOutcome['result']>['schema']): VNode {
  if (schema === undefined)
    return <p>Nothing was sent, so it is not known how V2 would respond to a changed request.</p>;
  const { judged, accepted, acceptedBefore } = schema;
  const [level, sign] =
    accepted < acceptedBefore ? ['bad', '✕'] : accepted < judged ? ['note', '!'] : ['good', '✓'];
  return (
    <p class={`trial-verdict ${level}`}>
      <i class="level-sign" aria-hidden>
        {sign}
      </i>
      <span>
        {`V2's schema accepts ${count(accepted)} of ${counted(judged, 'changed request')}, and ${count(acceptedBefore)} by the rule book in force. Nothing was sent to V2.`}
      </span>
    </p>
  );
}

/** How an edited rule book comes into force. */
function comesIntoForce(what: string, file = 'the file of the rule book'): string {
  return `${what} ${file}: each gateway checks the file when it changes, and keeps the rule book in force if it has a fault.`;
}

/** Exchanges of one operation that differ in the same way. */
function differenceWords({ name, request, response }: TrialDifference): string {
  const what = [
    ...(request.length > 0 ? [`request ${request.join(', ')}`] : []),
    ...(response.length > 0 ? [`response ${response.join(', ')}`] : []),
  ];
  return `${name}: ${what.join('; ')}`;
}

/** The exchanges that differ in the same way, with the bodies of the newest. */
function differenceGroup(words: string, group: readonly TrialDifference[], go: Go): VNode {
  const [newest] = group;
  const body = (title: string, text: string, other: string): VNode => (
    <div>
      <h5>{title}</h5>
      <pre class="file" tabIndex={0}>
        {markedLines(text || 'none', other)}
      </pre>
    </div>
  );
  const further = group.length - MOST_OPENED;
  return (
    <details key={words} class="difference">
      <summary>
        <strong>{counted(group.length, 'exchange')}</strong>
        {' of '}
        {visibleText(words)}
      </summary>
      {newest !== undefined && (
        <div class="pair">
          {body('V2 body by the rule book in force', newest.before, newest.now)}
          {body('V2 body by this one', newest.now, newest.before)}
        </div>
      )}
      <p class="actions">
        {'Open: '}
        {group.slice(0, MOST_OPENED).map(({ seq, requestId, time }) => (
          <Button
            key={seq}
            aria-label={`Open the exchange of ${clockTime(time)}`}
            onClick={() => go({ view: 'traffic', filter: '', entry: { id: requestId, seq } })}
          >
            {clockTime(time)}
          </Button>
        ))}
        {further > 0 && `and ${count(further)} more`}
      </p>
    </details>
  );
}

/** The lines of a text; those that another one does not have are marked. */
function markedLines(text: string, other: string): ComponentChildren {
  const bare = (line: string): string => line.replace(/,$/, '');
  const known = new Set(other.split('\n').map(bare));
  return text
    .split('\n')
    .flatMap((line, index) => [
      index > 0 && '\n',
      known.has(bare(line)) ? visibleText(line) : <mark key={index}>{visibleText(line)}</mark>,
    ]);
}
