import type { RefObject, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { DIGEST_FIELDS } from '../../../http/fields.ts';
import type {
  EntryDetail,
  ExplainRequest,
  Explanation,
  RefusedRules,
  RuleOutcome,
  RulesView,
  TrialOutcome,
} from '../../api.ts';
import { editWords } from '../../entries/entry-words.ts';
import type { ReadRequests } from '../../explain/curl-command.ts';
import { postJson, postText, useAsked, useAttempt } from '../admin-client.ts';
import { DiffPane } from '../entry/diff-pane.tsx';
import { curlButtons } from '../entry/entry-detail.tsx';
import { type EntryLink, findAddress } from '../page-state.ts';
import {
  Button,
  classes,
  Form,
  type PageTools,
  SentenceList,
  useScrollTo,
  VerdictBadge,
  visibleText,
} from '../parts.tsx';
import { Objections } from './questions.tsx';

interface ExplainFormProps extends Pick<PageTools, 'hueOf' | 'summaryOf' | 'announce'> {
  /** The exchange whose request is explained; undefined for a request that the operator writes. */
  readonly link: EntryLink | undefined;
  /** The last example of a draft that the operator wants to edit; undefined before one is. */
  readonly example: ExampleText | undefined;
  readonly rules: RulesView;
  /** The edited rule book, by which requests are explained; undefined while it is that in force. */
  readonly edited: string | undefined;
  /** Called with the faults of the edited rule book. */
  readonly onFaults: (faults: TrialOutcome['faults']) => void;
}

/** A request as a text. Each request to edit is a separate object, even if its text equals another's. */
export interface ExampleText {
  readonly text: string;
}

/** An operation of the shipped rule book, and a body for it: another book has other members. */
const EXAMPLE_OPERATION = 'order_floor_plan';
const EXAMPLE = `{
  "data": {
    "property": {
      "display_name": "The Gables",
      "street_address": "1 High Street",
      "suburb": "Richmond"
    }
  }
}`;

/** Fields that describe the transferred body, while the text here is decoded and formatted. */
const OMITTED: ReadonlySet<string> = new Set([
  'content-length',
  'content-encoding',
  'transfer-encoding',
  ...DIGEST_FIELDS,
]);

/** Explains a request by the plan that serves live traffic; nothing is sent. */
export function ExplainForm(props: ExplainFormProps): VNode {
  const [operation, setOperation] = useState(EXAMPLE_OPERATION);
  const [query, setQuery] = useState('');
  const [body, setBody] = useState(
    props.rules.operations.some(({ id }) => id === EXAMPLE_OPERATION) ? EXAMPLE : '',
  );
  const [source, setSource] = useState<ExplainRequest | undefined>(undefined);
  const { response: detail, failure } = useAsked<EntryDetail>(props.link && findAddress(props.link));
  useEffect(() => {
    if (detail === undefined) return;
    const request = requestOf(detail);
    const text = detail.v1Request?.body.text ?? '';
    setSource(request);
    setBody(text);
    if (request !== undefined) void explainRequest({ ...request, body: text });
  }, [detail]);
  const [pasted, setPasted] = useState('');
  const [read, setRead] = useState<ReadRequests | undefined>(undefined);
  const take = ({ requests }: ReadRequests, number: number): void => {
    const request = requests[number]?.request;
    if (request === undefined) return;
    setSource(request);
    setBody(request.body ?? '');
  };
  const [explanation, setExplanation] = useState<JudgedExplanation | undefined>(undefined);
  const outcome = useScrollTo<HTMLElement>(explanation);
  // The explanation belongs to a text that has changed since.
  useEffect(() => setExplanation(undefined), [props.edited]);
  const [fault, attempt] = useAttempt();
  const operations = props.rules.operations.filter(({ id }) => id !== '(other)');
  // The rule book may have other operations than the example's.
  const { id: chosen } = operations.find(({ id }) => id === operation) ?? operations[0] ?? { id: operation };
  const explain = async (): Promise<void> => {
    const named = operations.find(({ id }) => id === chosen);
    const target =
      query === '' || named === undefined
        ? {}
        : {
            target: `${props.rules.from}${named.template}${named.template.includes('?') ? '&' : '?'}${query.replace(/^\?/, '')}`,
          };
    const sent: ExplainRequest = source ?? { operation: chosen, ...target };
    // A body that is not text can only be sent unedited.
    const { bodyBase64, ...others } = sent;
    await explainRequest(bodyBase64 === undefined || body !== '' ? { ...others, body } : sent);
  };
  const explainRequest = async (request: ExplainRequest): Promise<void> => {
    const isDone = await attempt(async () => {
      const { edited, onFaults } = props;
      const made = await postJson<Explanation | RefusedRules>(
        'explain',
        edited === undefined ? request : { ...request, rules: edited },
      );
      if ('faults' in made) onFaults(made.faults);
      if ('faults' in made) setExplanation(undefined);
      else setExplanation(props.rules.isDraft === true ? await judged(made) : made);
    });
    if (!isDone) setExplanation(undefined);
  };
  const readCommand = async (text: string): Promise<void> => {
    await attempt(async () => {
      const found = await postText<ReadRequests>('explain/read', text);
      setRead(found);
      take(found, 0);
    });
    setExplanation(undefined);
  };
  const pasteField = useScrollTo<HTMLTextAreaElement>(props.example);
  useEffect(() => {
    if (props.example === undefined) return;
    setPasted(props.example.text);
    void readCommand(props.example.text);
  }, [props.example]);
  return (
    <>
      <Form class="card explain" onSubmit={explain}>
        <h3>
          Try a request
          <small>
            {props.edited === undefined
              ? 'by the rule book in force; nothing is sent'
              : 'by the edited rule book; nothing is sent'}
          </small>
        </h3>
        {props.link !== undefined && <p>{sourceWords(props.link, detail, failure?.message)}</p>}
        <label for="explain-paste">Pasted command (or write the request below)</label>
        <textarea
          id="explain-paste"
          ref={pasteField}
          rows={3}
          spellcheck={false}
          placeholder="curl … (for bash) or fetch(…), as copied from a browser"
          value={pasted}
          onInput={({ currentTarget }) => setPasted(currentTarget.value)}
        />
        <Button onClick={() => void readCommand(pasted)}>Read the command</Button>
        {read !== undefined && readOutcome(read, (number) => take(read, number))}
        <label for="explain-operation">Operation</label>
        <select
          id="explain-operation"
          value={source === undefined ? chosen : ''}
          onChange={({ currentTarget }) => {
            setOperation(currentTarget.value);
            setSource(undefined);
          }}
        >
          {source !== undefined && (
            <option value="" selected>
              {`As sent: ${source.method ?? ''} ${source.target ?? ''}`}
            </option>
          )}
          {operations.map(({ id, method, template }) => (
            <option key={id} value={id} selected={source === undefined && id === chosen}>
              {`${id} – ${method} ${template}`}
            </option>
          ))}
        </select>
        <label for="explain-query">V1 query</label>
        <input
          id="explain-query"
          type="text"
          spellcheck={false}
          placeholder="none"
          value={query}
          onInput={({ currentTarget }) => setQuery(currentTarget.value)}
        />
        <label for="explain-body">V1 body</label>
        <textarea
          id="explain-body"
          rows={5}
          spellcheck={false}
          value={body}
          onInput={({ currentTarget }) => setBody(currentTarget.value)}
        />
        <button type="submit" class="button primary">
          Explain
        </button>
        <p class="fault" role="alert">
          {fault}
        </p>
      </Form>
      {explanation !== undefined && explained(explanation, props, outcome)}
    </>
  );
}

/** An explanation, and for a draft the objections of V2's description. */
interface JudgedExplanation extends Explanation {
  readonly objections?: readonly string[];
}

async function judged(explanation: Explanation): Promise<JudgedExplanation> {
  const { v2Request, v2Body = '' } = explanation;
  // The path of an operation that was chosen by its name has placeholders, to which a description always objects.
  if (v2Request === undefined || v2Request.target.includes('{')) return explanation;
  const { method, target } = v2Request;
  const headers = v2Request.headers.map(({ name, value }) => [name, value]);
  const { faults } = await postJson<{ readonly faults: readonly string[] }>('draft/judge', {
    method,
    target,
    headers,
    body: v2Body,
  });
  return { ...explanation, objections: faults };
}

function readOutcome({ requests, faults, notes }: ReadRequests, choose: (number: number) => void): VNode {
  const sentences = [
    ...faults.map(({ name, fault }) => (requests.length + faults.length === 1 ? fault : `${name}: ${fault}`)),
    ...notes,
  ];
  return (
    <div class="read" role="status">
      {requests.length === 1 && <p>{`Read: ${requests[0]?.name ?? ''}`}</p>}
      {requests.length > 1 && (
        <select
          aria-label="Request that was read"
          onChange={({ currentTarget }) => choose(Number(currentTarget.value))}
        >
          {requests.map(({ name }, number) => (
            <option key={number} value={String(number)}>
              {name}
            </option>
          ))}
        </select>
      )}
      {sentences.length > 0 && <SentenceList sentences={sentences} />}
    </div>
  );
}

/** The kept request, without the fields whose values are masked. */
function requestOf({ v1Request }: EntryDetail): ExplainRequest | undefined {
  if (v1Request === undefined) return undefined;
  const { method, target, headers } = v1Request;
  return {
    method,
    target: target.replaceAll('…', ''),
    headers: headers
      .filter(({ name, masked }) => !masked && !OMITTED.has(name.toLowerCase()))
      .map(({ name, value }) => [name, value] as const),
  };
}

function sourceWords(
  { id }: EntryLink,
  detail: EntryDetail | undefined,
  failure: string | undefined,
): string {
  if (failure !== undefined) return failure;
  if (detail === undefined) return 'Loading the exchange…';
  if (detail.v1Request === undefined) return `The request ${id} was not kept; only its entry is known.`;
  const { state } = detail.v1Request.body;
  const body =
    state === 'structure'
      ? 'Its values were not kept; types replace them, which does not affect most rules.'
      : state === 'withheld'
        ? 'Its body was not kept, so the explanation is for a request without one.'
        : '';
  return `The request ${id}, as it was kept, by the rule book now in force. ${body}`;
}

function explained(
  explanation: JudgedExplanation,
  { hueOf, summaryOf, announce }: ExplainFormProps,
  outcome: RefObject<HTMLElement | null>,
): VNode {
  const { verdict, moved, edits, refusal, note, curl, live, edited, objections } = explanation;
  const isMovedAlone = moved !== undefined && verdict === 'unchanged';
  return (
    <section class="card explanation" aria-label="Explanation" ref={outcome}>
      <h3>
        {!isMovedAlone && <VerdictBadge outcome={verdict} />}
        {moved === undefined ? '' : ` Moved: ${moved.from} → ${moved.to} `} {refusal?.detail ?? note ?? ''}
      </h3>
      {edited !== undefined && <p class="lead">{editedWords(edited)}</p>}
      {objections !== undefined && <Objections faults={objections} />}
      {live !== undefined && (
        <section class="response unknown" aria-label="Live traffic">
          <p>At the moment, live traffic is not, or not always, handled like this:</p>
          <SentenceList sentences={live} />
        </section>
      )}
      <DiffPane
        changed={{
          ...explanation,
          nothingSent: 'Nothing would be sent to V2.',
          editsTitle: refusal === undefined ? editWords({ edits }) : 'Refused: no edits',
          captions: { before: 'as the client would send it', after: 'dry run: nothing is sent' },
          missing: refusal === undefined ? 'There is nothing to compare.' : 'Nothing would be sent to V2.',
        }}
        hueOf={hueOf}
        summaryOf={summaryOf}
      />
      <div class="actions">{curlButtons({ curl, announce })}</div>
      <h4>Rules</h4>
      <ul class="outcomes">
        {explanation.rules.filter(({ isElsewhere }) => isElsewhere !== true).map(ruleOutcome)}
      </ul>
      <h4>Policies</h4>
      <ul class="outcomes">
        {explanation.policies.map(({ policy, value, used }) => (
          <li key={policy} class={classes(used && 'applied')}>
            <code>{`${policy}: ${value}`}</code>
            <span>{used ? 'decided here' : 'not needed'}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What differs from the rule book in force. */
function editedWords(differences: readonly string[]): ReturnType<typeof visibleText> {
  return visibleText(
    differences.length === 0
      ? 'By the edited rule book: nothing differs from the one in force.'
      : `By the edited rule book, this differs from the one in force: ${differences.join(', ')}.`,
  );
}

function ruleOutcome({ change, text, applied, why }: RuleOutcome): VNode {
  return (
    <li key={`${change} ${text}`} class={classes(applied && 'applied')}>
      <code>{text}</code>
      <span>
        <strong>{change}</strong>
        {` – ${why}`}
      </span>
    </li>
  );
}
