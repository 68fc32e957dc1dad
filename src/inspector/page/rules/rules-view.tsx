import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ChangeView, OperationView, RulesView as Rules, TrialOutcome } from '../../api.ts';
import type { Asked } from '../admin-client.ts';
import { ago, count, counted, type HueOf } from '../format.ts';
import { type EntryLink, type Go, toExchanges } from '../page-state.ts';
import {
  Card,
  type Column,
  Fact,
  LinkButton,
  Loading,
  type PageTools,
  ScrollTable,
  sentence,
  ShortTime,
  unbrokenWords,
} from '../parts.tsx';
import { Questions } from './questions.tsx';
import { type ExampleText, ExplainForm } from './explain-form.tsx';
import { RulesTrial, type TrialDraft } from './rules-trial.tsx';

interface RulesViewProps extends TrialDraft, Pick<PageTools, 'hueOf' | 'summaryOf'> {
  readonly asked: Asked<Rules>;
  /** The exchange whose request is tried; undefined for a request that the operator writes. */
  readonly link: EntryLink | undefined;
}

/** The rule book in force: a request and an edited book to try, then its changes and operations, with their hits. */
export function RulesView(props: RulesViewProps): VNode {
  const { asked, link, go, hueOf, summaryOf, announce, draft, setDraft } = props;
  const { response: rules, failure } = asked;
  const [run, setRun] = useState<TrialOutcome | undefined>(undefined);
  const [example, setExample] = useState<ExampleText | undefined>(undefined);
  if (rules === undefined) return <Loading failure={failure} subject="the rule book" />;
  return (
    <div class="view rules">
      <h2>Rules</h2>
      {rules.isDraft === true && (
        <Questions go={go} announce={announce} edit={(text) => setExample({ text })} />
      )}
      <p class="lead">
        {rules.version === undefined ? [] : ['Targets V2 release ', <strong>{rules.version}</strong>, '. ']}
        {'In force since '}
        <ShortTime at={rules.loadedAt} />
        {', hash '}
        <code>{rules.hash}</code>.
      </p>
      <section class="try" aria-label="Try">
        <ExplainForm
          rules={rules}
          link={link}
          example={example}
          hueOf={hueOf}
          summaryOf={summaryOf}
          announce={announce}
          edited={draft}
          onFaults={(faults) => setRun({ against: rules.hash, faults })}
        />
        <RulesTrial
          text={rules.text}
          refused={rules.refused}
          file={rules.file}
          go={go}
          announce={announce}
          draft={draft}
          setDraft={setDraft}
          run={run}
          setRun={setRun}
        />
      </section>
      {rules.assumptions.length > 0 && (
        <p>
          {assumedSign()}
          {` marks the ${counted(rules.assumptions.length, 'operation or change', 'operations and changes')} that neither the specification nor the documentation shows. Confirm them with the owners of the service.`}
        </p>
      )}
      <div class="title">
        <h3>{counted(rules.changes.length, 'change')}</h3>
        <small>{sentence(rules.counts)}</small>
      </div>
      {changeTable(rules.changes, hueOf, go)}
      <h3>{counted(rules.operations.filter(({ id }) => id !== '(other)').length, 'operation')}</h3>
      {operationTable(rules.operations, hueOf, go)}
      <Card heading="Policies">
        <p class="lead">
          {'What the gateway does where no rule decides, by the keys that '}
          <code>policies</code>
          {' has in a rule book.'}
        </p>
        <dl class="facts">
          {Object.entries(rules.policies).map(([name, value]) => (
            <Fact name={name}>{value}</Fact>
          ))}
        </dl>
      </Card>
    </div>
  );
}

/** The changes of the rule book, with their rules and hits. */
function changeTable(changes: readonly ChangeView[], hueOf: HueOf, go: Go): VNode {
  const hits = (id: string, times: number, what: string): VNode | string =>
    times === 0 ? (
      '–'
    ) : (
      <LinkButton
        onClick={toExchanges(go, `change:${id}`)}
        label={`Show the ${counted(times, what)} of ${id}`}
      >
        {count(times)}
      </LinkButton>
    );
  const columns: readonly Column<ChangeView>[] = [
    {
      name: 'Change',
      kind: 'head',
      cell: ({ id, assumed, summary }) => [
        <span class="change-name">
          <i class={`dot hue-${hueOf(id)}`} />
          {id}
        </span>,
        assumed && assumedSign(),
        <small class="summary">{summary}</small>,
      ],
    },
    {
      name: 'Rules',
      cellClass: 'words',
      cell: ({ request, response }) =>
        [...request, ...response].map(({ text }, index) => (
          <div key={index}>
            <code>{unbrokenWords(text)}</code>
          </div>
        )),
    },
    { name: 'On', cellClass: 'words', cell: ({ scope }) => scope },
    { name: 'Requests', kind: 'number', cell: ({ id, hits: times }) => hits(id, times, 'request') },
    {
      name: 'Responses',
      kind: 'number',
      cell: ({ id, responses }) => hits(id, responses.hits, 'response'),
    },
    {
      name: 'Last hit',
      cell: ({ lastHit = '', responses: { lastHit: ofResponse = '' } }) => {
        const last = lastHit > ofResponse ? lastHit : ofResponse;
        return last === '' ? '–' : <time dateTime={last}>{ago(last)}</time>;
      },
    },
  ];
  return <ScrollTable label="Changes" columns={columns} rows={changes} keyOf={({ id }) => id} isWide />;
}

/** The operations of the rule book, with their use through V1. */
function operationTable(operations: readonly OperationView[], hueOf: HueOf, go: Go): VNode {
  const columns: readonly Column<OperationView>[] = [
    { name: 'Operation', kind: 'head', cell: ({ id, assumed }) => [id, assumed && assumedSign()] },
    {
      name: 'V1 request',
      cell: ({ method, template, to, gone }) => [
        <code>{`${method} ${template}${to === undefined ? '' : ` → ${to}`}`}</code>,
        gone !== undefined && ` gone: ${gone}`,
      ],
    },
    {
      name: 'Changes',
      cellClass: 'change-dots',
      cell: ({ changes }) =>
        changes.length === 0
          ? '–'
          : changes.map((change) => (
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
            onClick={toExchanges(go, id === '(other)' ? 'op:- route:v1,none' : `op:${id}`)}
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
