import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type {
  ChangeView,
  Hits,
  OperationView,
  RulesView as Rules,
  TrialDifference,
  TrialOutcome,
} from '../api.ts';
import { type Asked, postText, useAttempt } from './admin-client.ts';
import { ago, clockTime, count, counted, dayTime, type HueOf } from './format.ts';
import { type Go, toExchanges } from './page-state.ts';
import {
  Button,
  Card,
  type Column,
  CopyButton,
  Fact,
  Form,
  LinkButton,
  Loading,
  type PageTools,
  ScrollTable,
  sentence,
  SentenceList,
  unbrokenWords,
  visibleText,
} from './parts.tsx';
import { Questions } from './questions.tsx';

/** The text of a trial, and what shows its outcome. */
interface TrialDraft extends Pick<PageTools, 'go' | 'announce'> {
  /** Undefined while it is that of the rule book in force. */
  readonly draft: string | undefined;
  readonly setDraft: (draft: string | undefined) => void;
}

/** Properties of the rule book. */
interface RulesViewProps extends TrialDraft {
  readonly asked: Asked<Rules>;
  readonly hueOf: HueOf;
}

/** The rule book in force: its changes, operations and assumptions, with their hits. */
export function RulesView({ asked, go, hueOf, announce, draft, setDraft }: RulesViewProps): VNode {
  const { response: rules, failure } = asked;
  if (rules === undefined) return <Loading failure={failure} subject="the rule book" />;
  return (
    <div class="view rules">
      <h2>Rule book</h2>
      {rules.isDraft === true && <Questions go={go} announce={announce} />}
      <p class="lead">
        {rules.version === undefined ? [] : ['Targets V2 release ', <strong>{rules.version}</strong>, '. ']}
        {'In force since '}
        <time dateTime={rules.loadedAt}>{dayTime(rules.loadedAt)}</time>
        {', hash '}
        <code>{rules.hash}</code>.
      </p>
      <p class="coverage">{sentence(rules.counts)}</p>
      <h3>{counted(rules.changes.length, 'change')}</h3>
      <ol class="changes">{rules.changes.map((change) => changeCard(change, hueOf, go))}</ol>
      <h3>{counted(rules.operations.filter(({ id }) => id !== '(other)').length, 'operation')}</h3>
      {operationTable(rules.operations, hueOf, go)}
      {rules.assumptions.length > 0 && (
        <Card heading="Assumptions">
          <p class="lead">
            Neither the specification nor the documentation shows these. Confirm them with the owners of the
            service.
          </p>
          <SentenceList sentences={rules.assumptions} shown={(one) => one} />
        </Card>
      )}
      <Card heading="Policies">
        <dl class="facts">
          {Object.entries(rules.policies).map(([name, value]) => (
            <Fact name={name}>{value}</Fact>
          ))}
        </dl>
      </Card>
      <RulesTrial text={rules.text} go={go} announce={announce} draft={draft} setDraft={setDraft} />
    </div>
  );
}

function changeCard(change: ChangeView, hueOf: HueOf, go: Go): VNode {
  const rules = [...change.request, ...change.response.map((rule) => ({ ...rule, hits: undefined }))];
  return (
    <li key={change.id} class={`card change hue-${hueOf(change.id)}`}>
      <h4>
        {change.id}
        {change.assumed && assumedSign()}
      </h4>
      <p>{change.summary}</p>
      <p class="hits">{hits(change, toExchanges(go, `change:${change.id}`))}</p>
      <ul class="rule-list">
        {rules.map((rule, index) => (
          <li key={index}>
            <code>{unbrokenWords(rule.text)}</code>
            <span>{rule.hits === undefined ? 'on responses' : count(rule.hits)}</span>
          </li>
        ))}
      </ul>
      <p class="on">
        {change.on === 'every' ? 'Every POST and PATCH with a JSON body' : `On ${change.on.join(', ')}`}
      </p>
    </li>
  );
}

function hits({ hits: times, lastHit }: Hits, show: () => void): (VNode | string)[] {
  if (times === 0) return ['No hits'];
  return [
    <LinkButton onClick={show}>{counted(times, 'hit')}</LinkButton>,
    ', last ',
    <time dateTime={lastHit ?? ''}>{ago(lastHit)}</time>,
  ];
}

/** Properties of a trial. */
interface RulesTrialProps extends TrialDraft {
  /** The source text of the rule book in force. */
  readonly text: string;
}

/** Edits the rule book as a trial, shows which of the kept exchanges would differ, and exports the change as a patch. */
function RulesTrial({ text, go, announce, draft, setDraft }: RulesTrialProps): VNode {
  const [run, setRun] = useState<TrialOutcome | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const [isBusy, setIsBusy] = useState(false);
  const change = (next: string | undefined): void => {
    setDraft(next);
    setRun(undefined);
  };
  const tryOut = async (): Promise<void> => {
    setIsBusy(true);
    await attempt(async () => setRun(await postText<TrialOutcome>('rules/try', draft ?? text)));
    setIsBusy(false);
  };
  return (
    <Card heading="Try a change" note="on kept exchanges; nothing is applied from here">
      <Form class="trial" onSubmit={tryOut}>
        <label for="rules-draft">Rule book</label>
        <textarea
          id="rules-draft"
          class="file"
          rows={18}
          spellcheck={false}
          wrap="off"
          value={draft ?? text}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
        <div class="actions">
          <button type="submit" class="button primary" disabled={isBusy}>
            Try it
          </button>
          {draft !== undefined && (
            <Button onClick={() => change(undefined)}>Back to the rule book in force</Button>
          )}
        </div>
        {fault !== '' && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
      </Form>
      {run !== undefined && outcome(run, go, announce)}
    </Card>
  );
}

function outcome(
  { faults, result, against }: TrialOutcome,
  go: Go,
  announce: (sentence: string) => void,
): VNode {
  if (result === undefined)
    return (
      <div class="trial-outcome" role="alert">
        <h4>{`${counted(faults.length, 'fault')}: a gateway would refuse this rule book`}</h4>
        <SentenceList
          sentences={faults.map(({ line, column, message }) => `Line ${line}, column ${column}: ${message}`)}
          shown={visibleText}
        />
      </div>
    );
  const { exchanges, differing, patch } = result;
  return (
    <div class="trial-outcome">
      <div role="status">
        <h4>{summary(result)}</h4>
      </div>
      <p class="lead">{notes(result, against)}</p>
      {exchanges.map((difference) => differenceItem(difference, go))}
      {differing > exchanges.length && (
        <p>{`${counted(differing - exchanges.length, 'further exchange')}, not listed.`}</p>
      )}
      {patch !== '' && (
        <details class="patch">
          <summary>The change as a patch</summary>
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
    </div>
  );
}

function summary({ tried, differing }: NonNullable<TrialOutcome['result']>): string {
  if (tried === 0) return 'No kept exchange could be tried.';
  return `${differing === 0 ? 'None' : count(differing)} of the ${counted(tried, 'exchange')} that could be tried would differ.`;
}

/** The limits of the trial. */
function notes(
  { kept, tried, responses, withoutValues, patch }: NonNullable<TrialOutcome['result']>,
  against: string,
): string {
  return [
    patch === ''
      ? `The text is unchanged from the rule book in force, ${against}.`
      : `Compared with the rule book in force, ${against}.`,
    ...(tried < kept
      ? [
          `${counted(kept - tried, 'kept exchange')} could not be tried: the body is not kept, or the time was used up.`,
        ]
      : []),
    responses === tried
      ? 'Their responses were compared as well.'
      : `Responses were compared for ${count(responses)} of them: for the others V2’s response is not kept.`,
    ...(withoutValues > 0
      ? [
          `The values of ${count(withoutValues)} are not kept: placeholders replace them, and rules that map values have no effect on those.`,
        ]
      : []),
  ].join(' ');
}

function differenceItem(difference: TrialDifference, go: Go): VNode {
  const { seq, requestId, name, time, request, response, before, now } = difference;
  const body = (title: string, text: string): VNode => (
    <div>
      <h5>{title}</h5>
      <pre class="file" tabIndex={0}>
        {visibleText(text || 'none')}
      </pre>
    </div>
  );
  return (
    <details key={seq} class="difference">
      <summary>
        <strong>{visibleText(name)}</strong>
        {` at ${clockTime(time)}: `}
        {visibleText(
          [
            ...(request.length > 0 ? [`request ${request.join(', ')}`] : []),
            ...(response.length > 0 ? [`response ${response.join(', ')}`] : []),
          ].join('; '),
        )}
      </summary>
      <div class="pair">
        {body('V2 body by the rule book in force', before)}
        {body('V2 body by this one', now)}
      </div>
      <Button onClick={() => go({ view: 'traffic', filter: '', entry: { id: requestId, seq } })}>
        Open the exchange
      </Button>
    </details>
  );
}

/** The operations of the rule book, with their use through V1. */
function operationTable(operations: readonly OperationView[], hueOf: HueOf, go: Go): VNode {
  const columns: readonly Column<OperationView>[] = [
    { name: 'Operation', kind: 'head', cell: ({ id, assumed }) => [id, assumed && assumedSign()] },
    {
      name: 'V1 request',
      cell: ({ method, template, gone }) => [
        <code>{`${method} ${template}`}</code>,
        gone !== undefined && ` gone: ${gone}`,
      ],
    },
    {
      name: 'Changes',
      cellClass: 'change-dots',
      cell: ({ changes }) =>
        changes.map((change) => (
          <span key={change} class="change-name">
            <i class={`dot hue-${hueOf(change)}`} />
            {change}
          </span>
        )),
    },
    {
      name: 'Hits',
      kind: 'number',
      cell: ({ id, hits: times }) =>
        times === 0 ? (
          '0'
        ) : (
          <LinkButton
            onClick={toExchanges(go, id === '(other)' ? 'op:- route:v1' : `op:${id}`)}
            label={`Show the ${counted(times, 'exchange')} of ${id}`}
          >
            {count(times)}
          </LinkButton>
        ),
    },
    { name: 'Last hit', cell: ({ lastHit }) => <time dateTime={lastHit ?? ''}>{ago(lastHit)}</time> },
  ];
  return <ScrollTable label="Operations" columns={columns} rows={operations} keyOf={({ id }) => id} isWide />;
}

/** Marks an assumption, which neither the specification nor the documentation confirms. */
function assumedSign(): VNode {
  return (
    <span class="assumed" title="Neither the specification nor the documentation shows this.">
      assumed
    </span>
  );
}
