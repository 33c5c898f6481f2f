// Records a shop's programme as the workload knows it: its terms, and its URLs and secrets with the times at which
// they were valid. They are read from the database after every change, because a change without an answer may still
// have happened.

import type { DatabaseSync } from "node:sqlite";
import type { KeyRing } from "#core/domain/key-ring.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { openSecret } from "#core/domain/sealing.ts";
import type { Terms, TimedRates } from "../support/lifecycle-model.ts";

/** Receiver of callbacks, which is the shop of a programme or a partner. */
export interface ReceiverRecord {
	receiver_id: ReceiverId;
	/** Public id of the programme or partner. */
	publicId: string;
	/** Host of the endpoint, and the host after a move. */
	hosts: readonly [string, string];
	ownerEmail: string;
	badDayPercent: number;
	/** URLs in the order of time, each valid until the next. Null stands for a time without a URL. */
	urls: Period[];
	secrets: Period[];
}

export interface ProgrammeRecord extends ReceiverRecord {
	id: number;
	terms: Terms;
	/** Rates in the order of time, as staff set them. */
	rates: (TimedRates & { fromMs: number })[];
}

/** Returns the last item that began at the time or before it. */
export function findAt<Item extends { fromMs: number }>(items: readonly Item[], atMs: number): Item {
	const found = items.findLast(({ fromMs }) => fromMs <= atMs);
	if (found === undefined) throw new Error(`nothing had begun at ${atMs}`);
	return found;
}

interface Period {
	fromMs: number;
	value: string | null;
}

/** Returns the values that were valid at some time from `fromMs` to `toMs`. */
export function inForce(periods: readonly Period[], fromMs: number, toMs: number): (string | null)[] {
	const found: (string | null)[] = [];
	for (const [index, { fromMs: beganMs, value }] of periods.entries()) {
		const endedMs = periods[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
		if (beganMs <= toMs && endedMs >= fromMs) found.push(value);
	}
	return found;
}

export function owesEvents({ urls, secrets }: ProgrammeRecord): boolean {
	return (urls.at(-1)?.value ?? null) !== null && (secrets.at(-1)?.value ?? null) !== null;
}

/** Returns whether events were owed since `fromMs`. Returns both answers if that changed. */
export function owedSince(programme: ProgrammeRecord, fromMs: number, toMs: number): boolean[] {
	const urls = inForce(programme.urls, fromMs, toMs);
	const secrets = inForce(programme.secrets, fromMs, toMs);
	const owed = new Set<boolean>();
	for (const url of urls) for (const secret of secrets) owed.add(url !== null && secret !== null);
	return [...owed];
}

export function createProgrammeReader(
	database: DatabaseSync,
	keyRing: KeyRing,
): (programme: ProgrammeRecord, nowMs: number) => void {
	const find = database.prepare(
		`select e.url, s.sealed from receivers r
			left join endpoints e on e.id = r.endpoint_id
			left join signing_secrets s on s.receiver_id = r.id and s.activated_at_ms is not null
				and s.replaced_at_ms is null
			where r.id = ?`,
	);
	return (programme, nowMs) => {
		const row = find.get(programme.receiver_id);
		const { url = null, sealed = null } = row ?? {};
		note(programme.urls, typeof url === "string" ? url : null, nowMs);
		const secret = typeof sealed === "string" ? openSecret(keyRing, programme.receiver_id, sealed) : null;
		note(programme.secrets, secret, nowMs);
	};
}

function note(periods: Period[], value: string | null, fromMs: number): void {
	if (periods.at(-1)?.value !== value || periods.length === 0) periods.push({ fromMs, value });
}
