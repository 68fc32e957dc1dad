import { OperationTable } from '../../rules/operation-table.ts';
import { requestShape } from './compare-operations.ts';
import type { ShapeSource } from './compare-shapes.ts';
import { Components } from '../components.ts';
import { describedOperations, type Description } from '../description.ts';
import { pathText } from './finding.ts';
import type { ProposedRuleBook } from './print-rule-book.ts';
import { namedOperations, proposeFor, releaseOf, releaseQuestions } from './propose-rule-book.ts';
import { recordedKey, recordedShape, type RecordedBodies, type RecordedBody } from './recorded-shape.ts';
import { canBeRewritten } from '../../rules/rewritten-methods.ts';
import type { Shape } from '../shape.ts';

/** A recorded V1 request with a JSON body. */
export interface RecordedRequest extends RecordedBody {
  readonly method: string;
  /** The path below `/api/v1`. */
  readonly rest: string;
}

/** Proposes a rule book from recorded V1 requests and V2's description: what they send that V2 does not describe. */
export function proposeFromTraffic(v2: Description, requests: readonly RecordedRequest[]): ProposedRuleBook {
  const components = new Components(v2);
  const named = namedOperations(
    describedOperations(v2, 'v2').map((operation) => ({ v1: operation, v2: operation })),
  );
  const table = new OperationTable(named.map(({ operation }) => ({ ...operation, assumed: false })));
  const byOperation = new Map<string, RecordedRequest[]>();
  for (const request of requests) {
    const id = table.match(request.method, request.rest)?.id ?? '';
    byOperation.set(id, [...(byOperation.get(id) ?? []), request]);
  }
  const recorded = new Map<string, RecordedBodies & { readonly v2: Shape }>();
  for (const { pair, operation } of named) {
    const shape = canBeRewritten(operation.method) ? requestShape(v2, pair.v2, components) : undefined;
    const bodies = byOperation.get(operation.id);
    if (shape === undefined || bodies === undefined) continue;
    recorded.set(operation.id, { ...recordedShape(bodies, shape), v2: shape });
  }
  const pairs = named.flatMap(({ operation: { id, method } }) => {
    const found = recorded.get(id);
    return found === undefined ? [] : [{ id, method, v1: found.shape, v2: found.v2 }];
  });
  const { changes, questions } = proposeFor(pairs, (id) => sourceOf(recorded.get(id)));
  const unknown = byOperation.get('')?.length ?? 0;
  const general =
    unknown === 0
      ? []
      : [
          `${unknown === 1 ? '1 recorded request is for an operation' : `${unknown} recorded requests are for operations`} that V2 does not describe.`,
        ];
  return {
    origin: [
      "A draft of a rule book, from V2's description and recorded V1 requests.",
      `${recorded.size === 1 ? '1 operation has' : `${recorded.size} operations have`} recorded bodies. Attributes that no request had are not in it.`,
    ],
    version: releaseOf(v2),
    operations: named.map(({ operation }) => operation),
    changes,
    questions: new Map([
      ['', [...releaseQuestions(v2), ...general]],
      ...[...recorded].map(
        ([id, { v2: shape }]) => [id, [...(questions.get(id) ?? []), ...onlyQuestion(shape)]] as const,
      ),
    ]),
  };
}

function sourceOf(recorded: RecordedBodies | undefined): ShapeSource {
  const requests = recorded?.requests ?? 0;
  return {
    isRecorded: true,
    goneWords: (path, name) => {
      const count = recorded?.counts.get(recordedKey(path, name)) ?? 0;
      const times = count === 0 ? '' : `; ${count} of ${requests} recorded requests send it`;
      return `V2's description does not have it${times}`;
    },
  };
}

/** The members that V2 knows, as the rule that keeps nothing else: for attributes that no recorded request had. */
function onlyQuestion(v2: Shape): readonly string[] {
  if (v2.members.size === 0) return [];
  const names = [...v2.members.keys()].map((name) => pathText([name])).join(', ');
  return [`to remove whatever V2 does not describe, instead of strip: { only: [${names}] }`];
}
