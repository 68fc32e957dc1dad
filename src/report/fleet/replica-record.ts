import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import { type FleetSums, noSums, packSums, readSums } from './fleet-sums.ts';
import { FieldReader, unlessDamaged } from './record-fields.ts';

/** One process of a gateway that adds its counts: a process that starts again is another one. */
export interface ReplicaFigures {
  /** For people. */
  readonly name: string;
  /** Since and until when everything that it counted is added, in milliseconds since 1970 on its clock. */
  readonly since: number;
  readonly at: number;
  /** Number of its last batch: one that was added is not added again. */
  readonly batch: number;
  /** True when it stopped, and had added everything. */
  readonly hasStopped: boolean;
  /** A time of which the store lost its counts. */
  readonly lost?: { readonly from: number; readonly until: number };
}

/** A record of some processes, with the sums of all that they added. */
export interface ReplicaRecord {
  /** Time since which they count, in milliseconds since 1970; it stays when a process is forgotten. */
  first: number;
  readonly replicas: Map<string, ReplicaFigures>;
  readonly sums: FleetSums;
}

/** Maximum processes of one record, those that were heard last. */
const MAX_REPLICAS = 200;

/** A record of no process. */
export function noReplicas(): ReplicaRecord {
  return { first: Number.POSITIVE_INFINITY, replicas: new Map(), sums: noSums() };
}

/** Prints a record, without what is older than `from`, in milliseconds since 1970. */
export function packReplicas({ first, replicas, sums }: ReplicaRecord, from: number): string {
  const kept = [...replicas]
    .filter(([, { at }]) => at >= from)
    .sort(([, one], [, other]) => other.at - one.at)
    .slice(0, MAX_REPLICAS);
  return JSON.stringify([
    Math.max(first, from),
    kept.map(([id, { name, since, at, batch, hasStopped, lost }]) => [
      id,
      name,
      since,
      at,
      batch,
      hasStopped ? 1 : 0,
      lost?.from ?? 0,
      lost?.until ?? 0,
    ]),
    packSums(sums, new Date(from).toISOString()),
  ]);
}

/** Reads a record; undefined when nobody can read it. */
export function readReplicas(text: string): ReplicaRecord | undefined {
  return unlessDamaged(() => {
    const fields = new FieldReader(parsedJson(text));
    const first = fields.number();
    const replicas = new Map(fields.lists().map((one) => [one.text(), readFigures(one)]));
    return { first, replicas, sums: readSums(fields.list()) };
  });
}

function readFigures(fields: FieldReader): ReplicaFigures {
  const figures = {
    name: fields.text(),
    since: fields.number(),
    at: fields.number(),
    batch: fields.number(),
    hasStopped: fields.number() === 1,
  };
  const [from, until] = [fields.number(), fields.number()];
  return until === 0 ? figures : { ...figures, lost: { from, until } };
}
