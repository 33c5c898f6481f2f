// Whether we sent a request that somebody pastes: the attempt it is, put together again as it went out.

import { bodySentAt } from "../domain/event.ts";
import type { Direction, ReadRequest } from "../domain/pasted-request.ts";
import { rebuildRequest, type SentRequest } from "../domain/sent-request.ts";
import { type HeaderNames, headerNames } from "../domain/signature.ts";
import { nonceCandidates, signatureDigits } from "../domain/signature-candidates.ts";
import { headerOf, sentAtOf } from "../domain/signed-parts.ts";
import type { Programme } from "../store/programmes.ts";
import {
	type FoundAttempt,
	findAttemptsOf,
	findNamedEvents,
	listDeliveriesAround,
	MAX_DELIVERIES_LOOKED_AT,
	type NamedEvent,
} from "../store/sent-attempts.ts";
import type { AccountsDeps } from "./deps.ts";

export interface SentAttempt {
	deliveryId: string;
	seq: number;
	event: string;
	startedAtMs: number;
}

export interface LookedUp {
	attempt: SentAttempt | null;
	sent: SentRequest | null;
	/** Bodies that it may have had, when no attempt is kept: its process may have died. */
	composed: string[];
	/** What was looked through in vain. */
	looked: string | null;
}

export async function lookUpSent(
	{ store, clock, brand }: Pick<AccountsDeps, "store" | "clock"> & { brand: string },
	programme: Programme,
	seen: ReadRequest,
	direction: Direction,
): Promise<LookedUp> {
	const names = headerNames(brand);
	const { db } = store;
	const digits = signatureDigits(headerOf(seen, names.signature));
	const clues = {
		nonces: nonceCandidates(headerOf(seen, names.nonce)),
		signature: digits?.length === SIGNATURE_DIGITS ? digits : null,
	};
	const events = await findNamedEvents(db, programme.id, namesIn(seen.body));
	const eventIds = events.map(({ id }) => id);
	let found = await findAttemptsOf(db, eventIds, 0, clues);
	let looked =
		"None of our attempts for the conversion or order in the body has this nonce or this signature.";
	if (found.length === 0 && direction === "callback") {
		const nowMs = clock.nowMs();
		// Its timestamp may be what is wrong with it.
		for (const atMs of new Set([signedAtMs(seen, names, nowMs), nowMs])) {
			const { ids, sinceMs } = await listDeliveriesAround(db, programme.id, atMs);
			found = await findAttemptsOf(db, ids, sinceMs, clues);
			if (events.length === 0) looked = lookedThrough(ids.length);
			if (found.length > 0) break;
		}
	}
	const attempt = choose(found, clues.signature);
	const sent = attempt === undefined ? null : rebuildRequest(attempt, attempt, brand);
	if (attempt === undefined || sent === null) {
		return { attempt: null, sent: null, composed: composeAgain(events, sentAtOf(seen.body)), looked };
	}
	const { deliveryId, seq, event, started_at_ms: startedAtMs } = attempt;
	return { attempt: { deliveryId, seq, event, startedAtMs }, sent, composed: [], looked: null };
}

const SIGNATURE_DIGITS = 64;

function lookedThrough(deliveries: number): string {
	const which =
		deliveries < MAX_DELIVERIES_LOOKED_AT
			? "any callback that we keep"
			: `the last ${deliveries} callbacks, nor of those before its timestamp`;
	return `No attempt of ${which} has this nonce or this signature.`;
}

/** The signature is of one request alone; a nonce may have been mixed up with another's. */
function choose(found: readonly FoundAttempt[], signature: string | null): FoundAttempt | undefined {
	return found.find((one) => one.signature === signature) ?? found[0];
}

function composeAgain(events: readonly NamedEvent[], sentAtMs: number | null): string[] {
	return sentAtMs === null ? [] : events.map(({ eventBody }) => bodySentAt(eventBody, sentAtMs));
}

/** What the body says it is about, also where it is not valid JSON any more. */
function namesIn(body: string): { conversionIds: string[]; orderIds: string[] } {
	const start = body.slice(0, MAX_READ_FOR_NAMES);
	const conversionIds = start.match(/\bcnv_[0-9A-HJKMNP-TV-Z]{26}\b/g) ?? [];
	const orderIds = [...start.matchAll(/"orderId"\s*:\s*"([^"\\]{1,128})"/g)];
	return {
		conversionIds: [...new Set(conversionIds)].slice(0, MAX_NAMES),
		orderIds: [...new Set(orderIds.map((match) => match[1] ?? ""))].slice(0, MAX_NAMES),
	};
}

/** A callback has 600 bytes. */
const MAX_READ_FOR_NAMES = 4_096;
const MAX_NAMES = 2;

/** The moment its body says, or its timestamp, if that can be; otherwise now. */
export function signedAtMs(seen: ReadRequest, names: HeaderNames, nowMs: number): number {
	const seconds = /^\d{10}/.exec(headerOf(seen, names.timestamp))?.[0];
	// To the end of that second: what was activated within it may have signed it.
	const stampedAtMs = seconds === undefined ? nowMs : Number(seconds) * 1000 + 999;
	return Math.min(sentAtOf(seen.body) ?? stampedAtMs, nowMs);
}
