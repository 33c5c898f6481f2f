// The hot path's shapes. Claims and results travel in batches: one transaction stores the results of the
// last batch and claims the next. The two drivers write it in their own SQL, because here it pays.

import type { EventName } from "../domain/event-name.ts";
import type { Verdict } from "../domain/verdict.ts";
import type { Db } from "./schema.ts";
import type { AttemptResult } from "./tables/deliveries.ts";

/** An attempt takes five seconds at most; the rest is for a busy machine and the commit. */
export const CLAIM_LAPSE_MS = 30_000;

/** At most `limit` due deliveries of one programme. Fairness is decided by whoever writes the requests. */
export interface ClaimRequest {
	programmeId: number;
	limit: number;
}

/** What a settlement needs to know of the delivery whose claim it ends. */
export interface DeliveryClaim {
	id: number;
	programmeId: number;
	claim: number;
	run: number;
	/** Counted attempts of this run, before this claim's. */
	counted: number;
	/** The number of the last row in `attempts`, before this claim's. */
	seq: number;
}

export interface ClaimedDelivery extends DeliveryClaim {
	claimedAtMs: number;
	endpointEpoch: number;
	eventName: EventName;
	eventBody: string;
}

/** A row as it was when it was taken. One that still has a claim was left by a process that died. */
export type TakenRow = Omit<ClaimedDelivery, "claim" | "claimedAtMs"> & {
	oldDueAtMs: number;
	oldClaim: number | null;
};

/** Written out, because it is made for every delivery: a spread would cost more. */
export function toClaimed(row: TakenRow, claim: number, claimedAtMs: number): ClaimedDelivery {
	return {
		id: row.id,
		programmeId: row.programmeId,
		claim,
		claimedAtMs,
		endpointEpoch: row.endpointEpoch,
		run: row.run,
		counted: row.counted,
		seq: row.seq,
		eventName: row.eventName,
		eventBody: row.eventBody,
	};
}

/** Where a programme's callbacks go and how they are signed. */
export interface CallbackTarget {
	programmeId: number;
	endpointId: number | null;
	endpointEpoch: number;
	url: string | null;
	secretId: number | null;
	sealedSecret: string | null;
	/** A notice of failing callbacks is open: the next success ends it. */
	isFailing: boolean;
}

/** The columns are CallbackTarget's. Both databases read it; each adds which programmes. */
export const TARGET_SELECT = `select p.id as "programmeId", p.endpoint_id as "endpointId",
	p.endpoint_epoch as "endpointEpoch", e.url, s.id as "secretId", s.sealed as "sealedSecret",
	exists (select 1 from notices n where n.receiver_id = p.id and n.kind = 'callbacks_failing'
		and n.ended_at_ms is null) as "isFailing"
	from programmes p
	left join endpoints e on e.id = p.endpoint_id
	left join signing_secrets s on s.receiver_id = p.id and s.activated_at_ms is not null
		and s.replaced_at_ms is null`;

export interface Claimed {
	deliveries: ClaimedDelivery[];
	/** For programmes that gave less than was asked for: when their next row may be taken, null for never. */
	nextDue: { programmeId: number; dueAtMs: number | null }[];
}

export interface AttemptRecord {
	result: AttemptResult;
	httpStatus: number | null;
	detail: string | null;
	startedAtMs: number;
	tookMs: number;
	lookUpMs: number | null;
	connectMs: number | null;
	tlsMs: number | null;
	answerMs: number | null;
	endpointId: number;
	nonce: string;
	signature: string;
}

/** How a claim ends. Every one names the claim: a result for a claim that lapsed changes nothing. */
export type Settlement = { delivery: DeliveryClaim } & (
	| {
			kind: "finished";
			state: "delivered" | "failed";
			verdict: Verdict;
			attempt: AttemptRecord;
			endedAtMs: number;
	  }
	| { kind: "retry"; dueAtMs: number; verdict: Verdict; attempt: AttemptRecord; endedAtMs: number }
	/** Claimed, not sent: given back as it was. */
	| { kind: "released"; dueAtMs: number }
	/** The URL it was made for has been removed. */
	| { kind: "cancelled"; endedAtMs: number }
);

export interface AgendaRow {
	programmeId: number;
	dueAtMs: number;
}

export interface Queue {
	/** Ids of the deliveries whose claim was still ours; only these were changed. */
	settle(trx: Db, settlements: readonly Settlement[]): Promise<Set<number>>;
	claim(trx: Db, requests: readonly ClaimRequest[], claim: number, nowMs: number): Promise<Claimed>;
	readTargets(trx: Db, programmeIds: readonly number[]): Promise<CallbackTarget[]>;
	/** Every programme with something in the queue, and when its first row may be taken. */
	agenda(db: Db): Promise<AgendaRow[]>;
}
