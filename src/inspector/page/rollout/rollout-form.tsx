import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RolloutRequest, RolloutView as Rollout } from '../../../rollout/rollout-tally.ts';
import type { Report, RolloutScreen, RulesView } from '../../api.ts';
import { hasEnded } from '../../end-of-v1.ts';
import { defaultTarget, rolloutEffect, type RolloutEffect } from '../../rollout-effect.ts';
import { AdminFailure, asFailure, getJson, postJson, useAttempt } from '../admin-client.ts';
import { keepValue, keptValue, placeAddress } from '../page-state.ts';
import {
  type Announce,
  Button,
  Card,
  Checkbox,
  classes,
  Folded,
  Form,
  NewTab,
  sentence,
  SentenceList,
  visibleText,
} from '../parts.tsx';

const FORM_MODES = [
  ['observe', 'Observe: V1 responds'],
  ['shadow', 'Shadow: V1 responds, reads are compared'],
  ['canary', 'Canary: a share of the clients is migrated'],
  ['migrate', 'Migrate: requests go to V2'],
  ['verify', 'Verify: V2 responds, a share of the reads is compared with V1'],
] as const;

const CLIENT = '(client)';

/** What is folded under the sentence that a command would be refused. */
export const WHICH_CLIENTS = 'Which clients, and where';

/** Commands of operators: each is checked, shown with its effect, and carried out when it is confirmed. */
export interface RolloutCommands {
  readonly check: (request: RolloutRequest) => void;
  /** The rollout after the last command; undefined before the first. */
  readonly changed: RolloutScreen | undefined;
  /** The confirmation while one is open, or the reason why there is none. */
  readonly dialog: VNode | false;
}

/** The commands of the page: any view may ask for one. */
export function useRolloutCommands(rules: RulesView | undefined, announce: Announce): RolloutCommands {
  const [changed, setChanged] = useState<RolloutScreen | undefined>(undefined);
  const [checked, setChecked] = useState<CheckedCommand | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const check = (request: RolloutRequest): void =>
    void attempt(async () => {
      const [now, report, answer] = await Promise.all([
        getJson<Rollout>('rollout?dryRuns=all'),
        getJson<Report>('report?format=json'),
        answerTo(request),
      ]);
      const effect = rolloutEffect(request, now, report, methodIn(operationsOf(rules)));
      setChecked({ request, effect, answer, revision: now.revision });
    });
  const carryOut = async (
    { request, revision, effect }: CheckedCommand,
    notes: CommandNotes,
  ): Promise<void> => {
    const now = await getJson<Rollout>('rollout');
    if (now.revision !== revision)
      throw new AdminFailure(
        409,
        'The rollout was changed meanwhile, so this preview is out of date. Cancel, and check again.',
      );
    setChanged(await postJson<RolloutScreen>('rollout', { ...request, ...notes }));
    setChecked(undefined);
    announce(`Done: ${effect.title}.`);
  };
  const shown =
    checked === undefined ? (
      <p class="command-fault fault" role="alert">
        {fault}
      </p>
    ) : (
      <RolloutDialog
        key={checked.effect.title}
        checked={checked}
        onCancel={() => setChecked(undefined)}
        check={check}
        carryOut={carryOut}
      />
    );
  return { check, changed, dialog: (checked !== undefined || fault !== '') && shown };
}

/** The operations of a rule book, without the rest. */
export function operationsOf(rules: RulesView | undefined): RulesView['operations'] {
  return rules?.operations.filter(({ id }) => id !== '(other)') ?? [];
}

/** Returns a function that returns the method of an operation. */
export function methodIn(operations: RulesView['operations']): (operation: string) => string | undefined {
  return (operation) => operations.find(({ id }) => id === operation)?.method;
}

/** Asks the gateway what an operator must know of a command, and why it would refuse it now. */
async function answerTo(request: RolloutRequest): Promise<Answer> {
  try {
    return await postJson<Rollout>('rollout', { ...request, check: true });
  } catch (error) {
    const { status, message: fault } = asFailure(error);
    if (status !== 422) throw error;
    return { fault };
  }
}

interface RolloutFormProps {
  readonly rollout: Rollout;
  /** The operations of the rule book. */
  readonly operations: RulesView['operations'];
  readonly check: (request: RolloutRequest) => void;
}

/** Chooses a mode for V1 traffic; a preview of its effect comes before it is carried out. */
export function RolloutForm({ rollout, operations, check }: RolloutFormProps): VNode {
  const hasV1 = rollout.v1Origin !== undefined;
  const [mode, setMode] = useState<string>(hasV1 ? rollout.default.mode : 'migrate');
  const [share, setShare] = useState(String(rollout.default.share ?? 5));
  const [target, setTarget] = useState('');
  const [client, setClient] = useState('');
  return (
    <Card
      heading="Change a mode"
      note={
        hasEnded(rollout, Date.now())
          ? 'without effect, since V1 has ended'
          : 'nothing changes before you confirm it'
      }
    >
      <Form class="rollout-form" onSubmit={() => check(commandOf(mode, share, target, client))}>
        {select('rollout-target', 'For', target, setTarget, [
          ['', defaultTarget(rollout)],
          ...operations.map(({ id }) => [id, id] as const),
          [CLIENT, 'one client'],
        ])}
        {target === CLIENT && input('rollout-client', 'Client, by name or hash', client, setClient, {})}
        {select('rollout-mode', 'Mode', mode, setMode, [
          ...FORM_MODES.filter(([name]) => hasV1 || name === 'migrate'),
          ['', target === '' ? 'Clear the chosen mode' : 'Clear its own mode'],
        ])}
        {(mode === 'canary' || mode === 'verify') &&
          input(
            'rollout-share',
            `Share of the ${mode === 'canary' ? 'clients' : 'reads'}, in percent`,
            share,
            setShare,
            {
              inputMode: 'decimal',
              pattern: '(?!0+(\\.0*)?$)(100(\\.0+)?|\\d{1,2}(\\.\\d+)?)',
              fault: shareFault(share),
            },
          )}
        <button type="submit" class="button primary">
          Check the change
        </button>
      </Form>
    </Card>
  );
}

/** The fault of a share, shown at its field; the browser does not submit the form until it is corrected. */
function shareFault(share: string): string | undefined {
  const value = share.trim() === '' ? 1 : Number(share);
  return value > 0 && value <= 100
    ? undefined
    : `The share must be above 0 and at most 100 %, not ${share.trim()}.`;
}

function commandOf(mode: string, share: string, target: string, client: string): RolloutRequest {
  const named = FORM_MODES.find(([name]) => name === mode)?.[0] ?? '';
  return {
    ...(named === '' ? {} : { mode: named }),
    ...(named === 'canary' || named === 'verify' ? { share: Number(share) } : {}),
    ...(target === CLIENT ? { client: client.trim() } : target === '' ? {} : { operation: target }),
  };
}

function select(
  id: string,
  label: string,
  value: string,
  onChange: (value: string) => void,
  options: readonly (readonly [value: string, text: string])[],
): VNode {
  return field(
    id,
    label,
    <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {options.map(([name, text]) => (
        <option key={name} value={name} selected={name === value}>
          {text}
        </option>
      ))}
    </select>,
  );
}

function input(
  id: string,
  label: string,
  value: string,
  onInput: (value: string) => void,
  {
    fault,
    ...limits
  }: {
    readonly inputMode?: 'decimal';
    readonly pattern?: string;
    readonly required?: false;
    readonly maxLength?: number;
    readonly fault?: string | undefined;
  },
): VNode {
  return field(
    id,
    label,
    fault !== undefined && (
      <p class="fault" id={`${id}-fault`} role="alert">
        {visibleText(fault)}
      </p>
    ),
    <input
      id={id}
      type="text"
      required
      maxLength={100}
      autocomplete="off"
      spellcheck={false}
      value={value}
      aria-invalid={fault !== undefined}
      aria-describedby={fault === undefined ? undefined : `${id}-fault`}
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
      {...limits}
    />,
  );
}

function field(id: string, label: string, ...controls: (VNode | false)[]): VNode {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {controls.reverse()}
    </div>
  );
}

/** A command with its effect, as computed from one state of the rollout. */
interface CheckedCommand {
  readonly request: RolloutRequest;
  readonly effect: RolloutEffect;
  readonly answer: Answer;
  readonly revision: number;
}

interface RolloutDialogProps {
  readonly checked: CheckedCommand;
  readonly onCancel: () => void;
  /** Shows another command in place of this one. */
  readonly check: (request: RolloutRequest) => void;
  /** Carries the command out; rejects with the reason when nothing was changed. */
  readonly carryOut: (checked: CheckedCommand, notes: CommandNotes) => Promise<void>;
}

/** An operator's additions to a command. */
type CommandNotes = Pick<RolloutRequest, 'force' | 'who' | 'why'>;

/** The key under which the browser saves the operator's name. */
const WHO_KEY = 'capture-gateway.operator';

/** Shows the effect of a command, and carries it out when the operator confirms it. */
function RolloutDialog({ checked, onCancel, check, carryOut }: RolloutDialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [fault, attempt] = useAttempt();
  const [isForced, setIsForced] = useState(false);
  const [who, setWho] = useState(() => keptValue(WHO_KEY) ?? '');
  const [why, setWhy] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    // Closing a dialog before its removal returns the focus to its opener.
    return () => {
      current?.close();
      if (document.activeElement === document.body) document.getElementById('main')?.focus();
    };
  }, []);
  const { title, sentences, dryRuns, instead } = checked.effect;
  const { warnings = [], refusal, fault: mistake } = checked.answer;
  const warned = [...warnings, ...checked.effect.warnings];
  const isRefused = refusal !== undefined;
  const against = refusal ?? mistake;
  const confirm = async (): Promise<void> => {
    setIsBusy(true);
    keepValue(WHO_KEY, who);
    if (!(await attempt(() => carryOut(checked, { who, why, ...(isForced ? { force: true } : {}) }))))
      setIsBusy(false);
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="rollout-confirmation" onClose={onCancel}>
      <h2 id="rollout-confirmation">{sentence(`${title}?`)}</h2>
      {warned.length > 0 && (
        <div class="fault" role="alert">
          <strong>{'Before you confirm: '}</strong>
          {warned.length > 1 ? <SentenceList sentences={warned} /> : sentence(warned.join(' '))}
        </div>
      )}
      <SentenceList sentences={sentences} shown={(text) => <Folded text={text} rest="All of them" />} />
      {against !== undefined && (
        <div class="fault" role="alert">
          <Folded text={against} rest={WHICH_CLIENTS} />
        </div>
      )}
      {dryRuns !== undefined && whatWouldFail(dryRuns, isRefused)}
      {instead !== undefined && (
        <p>
          {sentence(instead.sentence)}{' '}
          <Button onClick={() => check(instead.request)}>{visibleText(instead.title)}</Button>
        </p>
      )}
      {fault !== '' && (
        <p class="fault" role="alert">
          {sentence(fault)}
        </p>
      )}
      <div class="rollout-form">
        {input('rollout-who', 'Your name, for the list of changes', who, setWho, {
          required: false,
          maxLength: 80,
        })}
        {input('rollout-why', 'Why', why, setWhy, { required: false, maxLength: 200 })}
      </div>
      {isRefused && (
        <Checkbox label="Insist: carry it out anyway" checked={isForced} onChange={setIsForced} />
      )}
      <div class="actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button
          class={classes('button', 'primary', warned.length > 0 && 'warned')}
          disabled={isBusy || (against !== undefined && !isForced)}
          onClick={() => void confirm()}
        >
          {visibleText(title)}
        </Button>
      </div>
    </dialog>
  );
}

/** What would fail, by operation; each opens in a new tab, so that the confirmation stays. */
function whatWouldFail(
  { sentence: words, failing }: NonNullable<RolloutEffect['dryRuns']>,
  isRefused: boolean,
): VNode {
  return (
    <section class="would-fail" aria-label="What would fail">
      <h3>{isRefused ? 'By operation' : sentence(words)}</h3>
      {failing.length > 0 && (
        <ul>
          {failing.map(({ name, words: how, filter }) => (
            <li key={name}>
              <NewTab
                href={placeAddress({
                  view: 'traffic',
                  part: undefined,
                  filter,
                  entry: undefined,
                  perspective: 'diff',
                })}
                label={`Show what would fail of ${name}`}
              >
                {name}
              </NewTab>
              <span>{sentence(how)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** What the gateway says of a command; a `fault` is a mistake on which an operator cannot insist. */
interface Answer extends Pick<Rollout, 'warnings' | 'refusal'> {
  readonly fault?: string;
}
