import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  AnswerEffect,
  AskedQuestion,
  DraftRemainder,
  DraftView,
  ExampleOperation,
  ExampleRun,
  OfferedAnswer,
  SavedDraft,
  ShownMigration,
} from '../../draft-desk.ts';
import { getJson, postJson, useAsked, useAttempt } from '../admin-client.ts';
import { count, counted } from '../format.ts';
import type { Go } from '../page-state.ts';
import {
  Button,
  Card,
  classes,
  Fault,
  Form,
  LinkButton,
  Loading,
  type PageTools,
  visibleText,
} from '../parts.tsx';

/** Properties of the questions. */
type QuestionsProps = Pick<PageTools, 'go' | 'announce'>;

/**
 * A draft whose questions are answered one by one, with the effect of each answer on an example request, all examples, and the place to
 * save it.
 */
export function Questions({ go, announce }: QuestionsProps): VNode {
  const { response, failure } = useAsked<DraftView>('draft');
  const [later, setLater] = useState<DraftView | undefined>(undefined);
  const [followed, setFollowed] = useState<Followed>({ went: 0, came: 0 });
  const [given, setGiven] = useState(0);
  // The number of answers that were given before the draft was saved.
  const [written, setWritten] = useState<number | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const view = later ?? response;
  if (view === undefined) return <Loading failure={failure} subject="the draft" />;
  // Requests run one after the other: a question that is opened while an answer is sent is requested after it, and stays open.
  const show = async (load: () => Promise<DraftView>): Promise<DraftView> => {
    const own = last.current.then(load);
    last.current = own.catch(() => undefined);
    const mine = last.current;
    const next = await own;
    if (last.current === mine) setLater(next);
    return next;
  };
  const open = (question: string): void =>
    void attempt(async () => {
      await show(() => getJson<DraftView>(`draft?question=${encodeURIComponent(question)}`));
    });
  const answer = async (command: object): Promise<void> => {
    const next = await show(() => postJson<DraftView>('draft/answer', command));
    const left = next.questions.filter(({ isAnswered }) => !isAnswered).length;
    setGiven((before) => before + 1);
    setFollowed(followedBy(view.questions, next.questions));
    announce(left === 0 ? 'All questions are answered.' : `Answered: ${counted(left, 'question')} left.`);
  };
  const done = view.questions.filter(({ isAnswered }) => isAnswered).length;
  return (
    <section class="card draft">
      <h3>
        Draft
        <small>{`${count(done)} of ${counted(view.questions.length, 'question')} answered; ${writtenWords(given, written)}`}</small>
      </h3>
      <progress value={done} max={view.questions.length} aria-label="Answered questions" />
      {followed.went + followed.came > 0 && (
        <p class="draft-followed" role="status">
          {followedWords(followed)}
        </p>
      )}
      <div class="draft-work">
        <ol class="draft-list" aria-label="Questions">
          {view.questions.map(({ id, text, isAnswered }) => (
            <li key={id}>
              <button
                type="button"
                class={classes(isAnswered && 'answered')}
                aria-current={id === view.current?.id ? 'true' : undefined}
                onClick={() => open(id)}
              >
                <span aria-hidden="true">{isAnswered ? '✓' : '?'}</span>
                <span class="sr-only">{isAnswered ? 'answered: ' : 'open: '}</span>
                {visibleText(text)}
              </button>
            </li>
          ))}
        </ol>
        {view.current === undefined ? (
          <Remainder remainder={view.remainder} />
        ) : (
          <Question key={view.current.id} question={view.current} give={answer} />
        )}
      </div>
      <Fault text={fault} />
      <Save view={view} onSaved={() => setWritten(given)} />
      <Examples key={view.folder} examples={view.examples} go={go} />
    </section>
  );
}

/** Questions that an answer settled as well, and those that it raised. */
interface Followed {
  readonly went: number;
  readonly came: number;
}

/** Compares questions by their texts, because an answer can change the id of the same question, which is then for fewer operations. */
function followedBy(before: DraftView['questions'], after: DraftView['questions']): Followed {
  const lacking = (all: DraftView['questions'], others: DraftView['questions']): number => {
    const left = others.map(({ text }) => text);
    return all.filter(({ text }) => {
      const at = left.indexOf(text);
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    }).length;
  };
  return { went: lacking(before, after), came: lacking(after, before) };
}

function followedWords({ went, came }: Followed): string {
  if (went === 0) return `That answer raised ${counted(came, 'new question')}.`;
  const more = came === 0 ? '' : `, and it raised ${counted(came, 'new one')}`;
  return `${counted(went, 'question')} went with that answer${more}.`;
}

/** Whether the folder has the answers that were given. */
function writtenWords(given: number, written: number | undefined): string {
  if (written === undefined) return 'nothing is written yet';
  return given === written ? 'all is written' : 'the last answers are not written yet';
}

/** The result once every question is answered: the findings of `check`, and the examples that V2's description refuses. */
function Remainder({ remainder }: { readonly remainder: DraftRemainder | undefined }): VNode {
  const { gaps = 0, lines = [], refused = [] } = remainder ?? {};
  if (gaps === 0 && refused.length === 0)
    return (
      <p class="empty">Every question is answered, and check finds no gap. Try the examples, then save.</p>
    );
  return (
    <div class="draft-question">
      <h4>Every question is answered, but the rule book is not finished</h4>
      {gaps > 0 && (
        <>
          <p>{`check leaves ${counted(gaps, 'gap')} between the descriptions. Save, then write rules for them:`}</p>
          <pre class="file" tabIndex={0} aria-label="Gaps">
            {visibleText(lines.join('\n'))}
          </pre>
        </>
      )}
      {refused.length > 0 && (
        <>
          <p>{`V2’s description refuses ${counted(refused.length, 'example')}:`}</p>
          <ul class="plain">
            {refused.map(({ operation, faults }) => (
              <li key={operation}>{visibleText(`${operation}: ${faults.join(' ')}`)}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** One question, with its answers and the effect of the chosen one. */
function Question({
  question,
  give,
}: {
  readonly question: AskedQuestion;
  readonly give: (command: object) => Promise<void>;
}): VNode {
  const { id, text, operations, parts, isAnswered } = question;
  // The key for the next question must not choose what only a person knows: that could lose data by accident.
  const likeliest = ({ answers, isOpen }: AskedQuestion['parts'][number]): string =>
    (answers.find(({ isChosen }) => isChosen) ?? (isOpen ? undefined : answers[0]))?.key ?? '';
  const [chosen, setChosen] = useState<readonly string[]>(parts.map(likeliest));
  const [last, setLast] = useState(0);
  const [value, setValue] = useState(question.value ?? '');
  const [fault, attempt] = useAttempt();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const taken = parts.map(({ answers }, at) => answers.find(({ key }) => key === chosen[at]));
  const lacksValue = taken.some((answer) => answer?.lacksValue === true);
  // The value for a gone operation is the sentence that its clients get.
  const label = taken.some((answer) => answer?.key === 'gone') ? 'Sentence for clients' : 'Value';
  const missing = taken.includes(undefined)
    ? taken.length === 1
      ? 'Choose an answer first.'
      : 'Choose an answer to each part first.'
    : lacksValue && value.trim() === ''
      ? `Fill in “${label}” first.`
      : '';
  const send = async (command: object): Promise<void> => {
    await attempt(() => give({ question: id, ...command }));
  };
  // Until an answer is chosen, the effect of the first answer that has one is shown.
  const proposed = parts[last]?.answers.find(({ effect }) => effect !== undefined);
  const shown = taken[last]?.effect ?? proposed?.effect;
  return (
    <Form
      class="draft-question"
      onSubmit={() => send({ chosen, ...(lacksValue && value !== '' && { value }) })}
    >
      <h4 ref={heading} tabIndex={-1}>
        {visibleText(text)}
      </h4>
      {operations.length > 0 && <p class="on">{`Concerns ${operations.join(', ')}`}</p>}
      {parts.map(({ why, answers }, at) => (
        <fieldset key={at}>
          <legend>{why === '' ? 'Answer' : visibleText(sentenceOf(why))}</legend>
          {answers.map((answer) => (
            <Answer
              key={answer.key}
              answer={answer}
              name={`answer-${at}`}
              isChosen={chosen[at] === answer.key}
              choose={() => {
                setChosen(chosen.map((key, other) => (other === at ? answer.key : key)));
                setLast(at);
              }}
            />
          ))}
        </fieldset>
      ))}
      {lacksValue && (
        <label class="draft-value">
          {label}
          <input
            type="text"
            spellcheck={false}
            value={value}
            onInput={({ currentTarget }) => setValue(currentTarget.value)}
          />
        </label>
      )}
      <div class="actions">
        <button
          type="submit"
          class="button primary"
          disabled={missing !== ''}
          aria-describedby={missing === '' ? undefined : 'draft-missing'}
        >
          Answer
        </button>
        {missing !== '' && <span id="draft-missing">{missing}</span>}
        {isAnswered && <Button onClick={() => void send({})}>Leave it open</Button>}
      </div>
      <Fault text={fault} />
      {shown !== undefined && (
        <Effect
          effect={shown}
          what={taken[last] === undefined ? `“${proposed?.words ?? ''}”` : 'it'}
          isNone={taken[last] !== undefined && taken[last].effect === undefined}
        />
      )}
    </Form>
  );
}

function sentenceOf(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
}

function Answer({
  answer: { words, lines },
  name,
  isChosen,
  choose,
}: {
  readonly answer: OfferedAnswer;
  readonly name: string;
  readonly isChosen: boolean;
  readonly choose: () => void;
}): VNode {
  return (
    <label class={classes('draft-answer', isChosen && 'chosen')}>
      <input type="radio" name={name} checked={isChosen} onChange={choose} />
      <span>
        {words}
        {lines.slice(0, MAX_LINES).map((line, at) => (
          <code key={at}>{visibleText(line)}</code>
        ))}
        {lines.length > MAX_LINES && <small>{`and ${count(lines.length - MAX_LINES)} more`}</small>}
      </span>
    </label>
  );
}

/** Maximum lines of an answer that are shown. */
const MAX_LINES = 12;

/** The example request, V2's request without a rule and with the answer, and the client's response. */
function Effect({
  effect: { operation, v1, before, after },
  what,
  isNone,
}: {
  /** The answer that has this effect. */
  readonly what: string;
  readonly effect: AnswerEffect;
  readonly isNone: boolean;
}): VNode {
  const now = isNone ? before : after;
  return (
    <div class="draft-effect" aria-live="polite">
      <h5>{`What ${what} does to ${operation}`}</h5>
      <div class="pair">
        <Text title="A V1 client sends" text={v1} />
        <Text title="V2 gets" text={now.request} against={before.request} />
        {(before.response !== '' || now.response !== '') && (
          <Text title="The client gets" text={now.response} against={before.response} />
        )}
      </div>
      <Faults now={now} />
    </div>
  );
}

function Faults({ now: { faults } }: { readonly now: ShownMigration }): VNode {
  if (faults.length === 0) return <p class="draft-taken">V2’s description takes this request.</p>;
  return (
    <>
      <p>V2’s description has this against it, with the questions that are still open:</p>
      <ul class="plain">
        {faults.map((fault, at) => (
          <li key={at}>{visibleText(fault)}</li>
        ))}
      </ul>
    </>
  );
}

/** A message as text; lines that are new against another text are marked. */
function Text({
  title,
  text,
  against,
}: {
  readonly title: string;
  readonly text: string;
  readonly against?: string;
}): VNode {
  const known = new Set((against ?? text).split('\n').map(withoutComma));
  return (
    <div>
      <h6>{title}</h6>
      <pre class="file" tabIndex={0} aria-label={title}>
        {text.split('\n').map((line, at) => (
          <span key={at} class={classes('draft-line', !known.has(withoutComma(line)) && 'new')}>
            {visibleText(line)}
            {'\n'}
          </span>
        ))}
      </pre>
    </div>
  );
}

function withoutComma(line: string): string {
  return line.endsWith(',') ? line.slice(0, -1) : line;
}

function Save({
  view: { folder, questions },
  onSaved,
}: {
  readonly view: DraftView;
  readonly onSaved: () => void;
}): VNode {
  const [saved, setSaved] = useState<SavedDraft | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const save = async (): Promise<void> => {
    const isDone = await attempt(async () => setSaved(await postJson<SavedDraft>('draft/save', {})));
    if (isDone) onSaved();
    else setSaved(undefined);
  };
  const left = questions.filter(({ isTodo }) => isTodo).length;
  return (
    <div class="draft-save">
      <div class="actions">
        <Button onClick={() => void save()}>{`Save to ${folder === '.' ? 'this folder' : folder}`}</Button>
        {left > 0 && <span>{`${counted(left, 'open question')} will be TODO lines there`}</span>}
      </div>
      <div role="status">
        {saved !== undefined && (
          <>
            <p>{`Wrote ${saved.files.join(', ')}.`}</p>
            <ul>
              {saved.remarks.map((sentence) => (
                <li key={sentence}>{visibleText(sentence)}</li>
              ))}
            </ul>
            <p>Next:</p>
            <pre class="file" tabIndex={0} aria-label="Next commands">
              {saved.next.join('\n')}
            </pre>
          </>
        )}
      </div>
      <Fault text={fault} />
    </div>
  );
}

function Examples({
  examples,
  go,
}: {
  readonly examples: readonly ExampleOperation[];
  readonly go: Go;
}): VNode {
  const [isLong, setLong] = useState(false);
  const left = examples.length - MAX_EXAMPLES;
  return (
    <Card heading="Example requests" note="from V1’s description, sent through the gateway as it is now">
      {examples.slice(0, isLong ? examples.length : MAX_EXAMPLES).map((example) => (
        <Example key={example.id} example={example} go={go} />
      ))}
      {left > 0 && !isLong && (
        <div class="actions">
          <Button onClick={() => setLong(true)}>{`Show ${left} more`}</Button>
        </div>
      )}
    </Card>
  );
}

/** Examples that are shown before a reader asks for all. */
const MAX_EXAMPLES = 12;

function Example({
  example: { id, v1 },
  go,
}: {
  readonly example: ExampleOperation;
  readonly go: Go;
}): VNode {
  const [run, setRun] = useState<ExampleRun | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const [line = ''] = v1.split('\n', 1);
  const send = async (): Promise<void> => {
    const isDone = await attempt(async () =>
      setRun(await postJson<ExampleRun>('draft/run', { operation: id })),
    );
    if (!isDone) setRun(undefined);
  };
  return (
    <details class="difference">
      <summary>
        <strong>{visibleText(id)}</strong> <code>{visibleText(line)}</code>
      </summary>
      <div class="pair">
        <Text title="A V1 client sends" text={v1} />
        {run !== undefined && <Text title="and gets" text={run.response} />}
      </div>
      <div class="actions">
        <Button onClick={() => void send()}>Send it</Button>
        {run !== undefined && (
          <LinkButton
            onClick={() => go({ view: 'traffic', filter: '', entry: { id: run.requestId, seq: undefined } })}
          >
            Open the exchange
          </LinkButton>
        )}
      </div>
      <Fault text={fault} />
    </details>
  );
}
